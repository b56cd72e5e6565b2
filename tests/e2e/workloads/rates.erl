%% SPDX-License-Identifier: BSD-2-Clause
%% How long one thing takes that makes events, many times over:
%%   node.ask("rates", OPERATION, N)   nanoseconds for all N of it
-module(rates).
-export([send/1, yield/1, collect/1, spawn/1, register/1, link/1]).
-export([nothing/0]).

timed(Count, Fun) ->
    N = list_to_integer(Count),
    Self = self(),
    %% A process of its own, so that its heap is small and nobody else writes to it.
    erlang:spawn(fun() ->
                         Began = erlang:monotonic_time(nanosecond),
                         repeat(N, Fun),
                         Self ! {took, erlang:monotonic_time(nanosecond) - Began}
                 end),
    receive {took, Ns} -> Ns end.

repeat(0, _) -> ok;
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).

%% To a process that never looks; its mailbox goes with it.
send(N) ->
    Sink = erlang:spawn(fun() -> receive never -> ok end end),
    Ns = timed(N, fun() -> Sink ! x end),
    exit(Sink, kill),
    Ns.

yield(N) -> timed(N, fun() -> erlang:yield() end).

collect(N) -> timed(N, fun() -> erlang:garbage_collect() end).

%% Their exits, too, are over then.
spawn(N) ->
    Before = erlang:system_info(process_count),
    Ns = timed(N, fun() -> erlang:spawn(?MODULE, nothing, []) end),
    gone(Before, 1000),
    Ns.

nothing() -> ok.

gone(Before, Tries) ->
    case erlang:system_info(process_count) =< Before orelse Tries =:= 0 of
        true -> ok;
        false -> timer:sleep(5), gone(Before, Tries - 1)
    end.

register(N) ->
    timed(N, fun() -> erlang:register(rates_name, self()), erlang:unregister(rates_name) end).

link(N) ->
    Other = erlang:spawn(fun() -> receive never -> ok end end),
    Ns = timed(N, fun() -> erlang:link(Other), erlang:unlink(Other) end),
    exit(Other, kill),
    Ns.
