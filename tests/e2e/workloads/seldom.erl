%% SPDX-License-Identifier: BSD-2-Clause
%% A function whose calls are fast but for a few, and how many of each there were.
%%
%%   node.ask("seldom", "start")   processes that call work/1
%%   node.ask("seldom", "made")    calls that have ended
-module(seldom).
-export([start/0, made/0, work/1]).

start() ->
    persistent_term:put(?MODULE, counters:new(2, [])),
    [spawn(fun() -> fast(0) end) || _ <- [1, 2]],
    [spawn(fun() -> timer:sleep(N * 7), slow(N) end) || N <- lists:seq(1, 5)],
    <<"ok">>.

made() ->
    Made = persistent_term:get(?MODULE),
    #{fast => counters:get(Made, 1), slow => counters:get(Made, 2)}.

%% About 20,000 a second, whatever the CPU is worth.
fast(N) ->
    {paced, _} = work({paced, N}),
    counters:add(persistent_term:get(?MODULE), 1, 1),
    N rem 50 =:= 0 andalso timer:sleep(4),
    fast(N + 1).

slow(N) ->
    {waited, _} = work({waits, N}),
    counters:add(persistent_term:get(?MODULE), 2, 1),
    timer:sleep(60),
    slow(N).

work({waits, N}) -> timer:sleep(35), {waited, N};
work({paced, N}) -> {paced, N}.
