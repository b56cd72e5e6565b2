%% SPDX-License-Identifier: BSD-2-Clause
%% Processes that hold schedulers, each for ten minutes, by what it is told; registered as
%% held_WHAT.  sleep: a normal one, asleep in a BIF.  busy: a normal one, on a CPU in a BIF.  loop: Erlang
%% code that runs for ever.  trap: in a BIF that yields, again and again.  compare: in a comparison that
%% does not say where the stack is, which follows a wait that was deeper on it.  cpu: a dirty CPU one, busy
%% in a BIF.  io: a dirty IO one, asleep in a BIF.
%% fifo: a dirty IO one that reads a FIFO into which nobody writes.  gc: a dirty CPU one that
%% collects, again and again.  block, block_normal: waits, with multi-scheduling blocked.  They end
%% with the node.
-module(held).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, fifo/0, multi_scheduling/0]).

-define(LONG, 600000).

processes(What) -> [{list_to_atom("held_" ++ W), list_to_atom(W)} || W <- What].

init(fifo) ->
    [] = os:cmd("mkfifo " ++ fifo()),
    %% Also for writing: else to open it would wait.
    {ok, File} = file:open(fifo(), [read, write, raw]),
    {fifo, File};
init(gc) ->
    {gc, [{X, [X]} || X <- lists:seq(1, 1000000)]};
init(trap) ->
    {trap, lists:seq(1, 3000000)};
init(What) ->
    erts_debug:set_internal_state(available_internal_state, true),
    What.

multi_scheduling() ->
    #{state => erlang:system_info(multi_scheduling),
      by => [list_to_binary(pid_to_list(P)) || P <- erlang:system_info(multi_scheduling_blockers)
                                                   ++ erlang:system_info(normal_multi_scheduling_blockers)]}.

fifo() -> "/tmp/ebeam-e2e-fifo-" ++ os:getpid().

step(sleep) ->
    %% So that what starts it can say so.
    receive after 300 -> ok end,
    erts_debug:set_internal_state(sleep, ?LONG),
    sleep;
step(busy) ->
    receive after 300 -> ok end,
    %% lists:reverse/2 yields, a comparison does not: it is as deep as the term.
    true = deep(60) =:= deep(60),
    busy;
step(loop) ->
    spin(1);
step({trap, L}) ->
    trap(L);
step(compare) ->
    _ = deeper(),
    T = deep(60),
    {compare(T, deep(60)), T};
step(cpu) ->
    erts_debug:dirty_cpu(wait, ?LONG),
    cpu;
step(block) ->
    receive after 300 -> ok end,
    blocked = erlang:system_flag(multi_scheduling, block),
    receive after ?LONG -> block end;
step(block_normal) ->
    receive after 300 -> ok end,
    blocked_normal = erlang:system_flag(multi_scheduling, block_normal),
    receive after ?LONG -> block_normal end;
step(io) ->
    erts_debug:dirty_io(wait, ?LONG),
    io;
step({fifo, File}) ->
    {ok, _} = file:read(File, 1),
    {fifo, File};
step({gc, Live}) ->
    true = erlang:garbage_collect(),
    {gc, Live}.

%% 2^N leaves to compare, in N words of memory.
deep(N) -> lists:foldl(fun(_, T) -> [T | T] end, [], lists:seq(1, N)).

spin(N) -> spin(N + 1).

trap(L) -> _ = erlang:phash2(L), trap(L).

deeper() -> {receive after 300 -> ok end, ok}.

compare(A, B) -> Same = A == B, {Same, ok}.

report(_) -> #{}.
