%% SPDX-License-Identifier: BSD-2-Clause
%% A busy node: one process per scheduler does rounds of mixed work without ever resting.  The
%% truth: rounds, which over elapsed_ns are the node's throughput.
-module(throughput).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, unit/0]).

processes(_) ->
    [{undefined, K} || K <- lists:seq(1, erlang:system_info(schedulers_online))].

init(_) -> 0.

step(Rounds) ->
    unit(),
    Rounds + 1.

%% About a millisecond of what programs do: calls, lists, maps, binaries, comparing, messages.
unit() ->
    Fib = fib(15),
    List = [{X * 7919 rem 1009, X} || X <- lists:seq(1, 400)],
    Map = lists:foldl(fun({K, V}, M) -> M#{K => V} end, #{}, lists:sort(List)),
    Text = iolist_to_binary([integer_to_list(K) || K <- maps:keys(Map)]),
    Parts = length(binary:matches(Text, <<"7">>)),
    self() ! {self(), List},
    receive {Self, Same} when Self =:= self() -> Same = List end,
    Fib + Parts.

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

report(States) -> #{rounds => lists:sum(States)}.
