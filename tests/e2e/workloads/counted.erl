%% SPDX-License-Identifier: BSD-2-Clause
%% A process of that name, which does an exact number of things when it is asked:
%%   node.ask("counted", "start")
%%   node.ask("counted", "work", N)   yields N times, and sends N messages to itself
%%   node.ask("counted", "stop")
-module(counted).
-export([start/0, work/1, stop/0]).

start() ->
    Self = self(),
    spawn(fun() -> register(counted, self()), Self ! ready, loop() end),
    receive ready -> #{} end.

work(Count) ->
    N = list_to_integer(Count),
    counted ! {work, N, self()},
    receive done -> ok end,
    %% It comes in when it is asked and goes out when it waits; each yield is both.  Its last message
    %% says that it is done.
    #{process_scheduled => 2 * N + 2, message_send => N + 1, message_queued => N + 1}.

stop() ->
    Ref = monitor(process, counted),
    exit(whereis(counted), kill),
    receive {'DOWN', Ref, process, _, _} -> #{} end.

loop() ->
    receive
        {work, N, From} ->
            repeat(N, fun() -> erlang:yield() end),
            repeat(N, fun() -> self() ! x end),
            repeat(N, fun() -> receive x -> ok end end),
            From ! done,
            loop()
    end.

repeat(0, _) -> ok;
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).
