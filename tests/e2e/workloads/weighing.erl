%% SPDX-License-Identifier: BSD-2-Clause
%% Work of known weight, for what `ebeam record --mode` weighs.
%%
%%   node.ask("weighing", "garbage", N)      a process in which three_parts/1 allocates three times what
%%                                           one_part/1 does, N rounds; its garbage collections as traced
%%   node.ask("weighing", "senders", N)      two processes that send N messages each, of known sizes
%%   node.ask("weighing", "sleeper", MS)     a process that waits so long in a receive, and how long it did
%%   node.ask("weighing", "competitors", MS) two processes that always want the only scheduler
-module(weighing).
-export([garbage/1, senders/1, sleeper/1, competitors/1]).
-export([collecting/2, one_part/1, three_parts/1, sending/4, waiting_here/1, spinning/1]).

pid(P) -> list_to_binary(pid_to_list(P)).

wait_for(P) ->
    Ref = monitor(process, P),
    receive {'DOWN', Ref, process, P, normal} -> ok end.

garbage(Rounds) ->
    Self = self(),
    P = spawn(?MODULE, collecting, [list_to_integer(Rounds), Self]),
    1 = erlang:trace(P, true, [garbage_collection]),
    P ! go,
    receive {collected, P} -> ok end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    Traced = traced(P, []),
    P ! stop,
    #{pid => pid(P), collections => length(Traced) div 2, reclaimed => reclaimed(Traced, 0)}.

traced(P, List) ->
    receive {trace, P, Tag, Info} -> traced(P, [{Tag, Info} | List])
    after 0 -> lists:reverse(List)
    end.

%% Words in use before and after; no message is in the heap fragments of this process.
reclaimed([{_, Before}, {_, After} | Rest], Sum) ->
    reclaimed(Rest, Sum + used(Before) - used(After));
reclaimed([], Sum) -> Sum.

used(Info) ->
    lists:sum([proplists:get_value(Key, Info) || Key <- [heap_size, old_heap_size, mbuf_size]]).

collecting(Rounds, Parent) ->
    receive go -> ok end,
    rounds(Rounds),
    Parent ! {collected, self()},
    receive stop -> ok end.

rounds(0) -> ok;
rounds(N) -> one_part(10000), three_parts(30000), rounds(N - 1).

%% Not tail-recursive: both stay on the stack while they allocate.
one_part(N) -> L = build(N, 0), L + 1.
three_parts(N) -> L = build(N, 0), L + 1.

build(0, Sum) -> Sum;
build(N, Sum) -> T = {N, Sum, N}, build(N - 1, Sum + element(1, T) band 1 + hd(box(T))).

box(T) -> [tuple_size(T) - 3, T].

senders(Count) ->
    N = list_to_integer(Count),
    Sink = spawn(fun() -> sink(2 * N) end),
    Small = {small, lists:seq(1, 100)},
    Large = {large, lists:seq(1, 300)},
    A = spawn(?MODULE, sending, [Sink, Small, N, self()]),
    B = spawn(?MODULE, sending, [Sink, Large, N, self()]),
    A ! go, B ! go,
    wait_for(Sink),
    #{small => pid(A), large => pid(B), count => N,
      small_bytes => 8 * erts_debug:flat_size(Small), large_bytes => 8 * erts_debug:flat_size(Large)}.

sending(Sink, Message, N, _) ->
    receive go -> ok end,
    [Sink ! Message || _ <- lists:seq(1, N)],
    ok.

sink(0) -> ok;
sink(N) -> receive _ -> sink(N - 1) end.

sleeper(Ms) ->
    P = spawn(fun() -> receive go -> waiting_here(list_to_integer(Ms)) end end),
    1 = erlang:trace(P, true, [running, monotonic_timestamp]),
    P ! go,
    wait_for(P),
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    #{pid => pid(P), slept_ns => erlang:convert_time_unit(slept(P, none, 0), native, nanosecond)}.

%% On a busy machine it is late to leave its scheduler: it sleeps for less than it asked for.
slept(P, Since, Sum) ->
    receive
        {trace_ts, P, out, _, Ts} -> slept(P, Ts, Sum);
        {trace_ts, P, in, _, Ts} when Since =/= none -> slept(P, none, Sum + Ts - Since);
        {trace_ts, P, _, _, _} -> slept(P, none, Sum)
    after 0 -> Sum
    end.

waiting_here(Ms) ->
    receive after Ms -> ok end,
    ok.

competitors(Ms) ->
    List = [spawn(?MODULE, spinning, [0]) || _ <- [1, 2]],
    timer:sleep(list_to_integer(Ms)),
    [exit(P, kill) || P <- List],
    #{pids => [pid(P) || P <- List]}.

spinning(N) -> spinning(N + 1).
