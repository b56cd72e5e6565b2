%% SPDX-License-Identifier: BSD-2-Clause
%% So many things a second, no more and no less: every 10 ms, by the clock and never by how long it
%% took, 20 messages of a list of 10, 5 processes that are gone at once, and 3 collections.  The
%% truth: how many of each in a second.
-module(paced).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(EVERY_MS, 10).
-define(MESSAGES, 20).
-define(SPAWNS, 5).
-define(COLLECTIONS, 3).

processes(_) -> [{paced, paced}].

%% Nobody's heap becomes full: who receives has a large one, who sends makes no garbage.
init(_) ->
    Self = self(),
    Sink = spawn_opt(fun() -> monitor(process, Self), sink() end,
                     [link, {min_heap_size, 2000000}]),
    {Sink, lists:seq(1, 10), erlang:monotonic_time(millisecond), 0}.

step({Sink, Message, Began, Steps}) ->
    Left = Began + (Steps + 1) * ?EVERY_MS - erlang:monotonic_time(millisecond),
    receive after max(0, Left) -> ok end,
    times(?MESSAGES, fun() -> Sink ! Message end),
    times(?SPAWNS, fun() -> spawn(fun() -> ok end) end),
    times(?COLLECTIONS, fun() -> erlang:garbage_collect() end),
    {Sink, Message, Began, Steps + 1}.

times(0, _) -> ok;
times(N, Fun) -> Fun(), times(N - 1, Fun).

sink() ->
    receive
        {'DOWN', _, process, _, _} -> ok;
        _ -> sink()
    end.

report([{_, _, Began, Steps}]) ->
    Seconds = (erlang:monotonic_time(millisecond) - Began) / 1000,
    #{messages => Steps * ?MESSAGES / Seconds, bytes => Steps * ?MESSAGES * 20 * 8 / Seconds,
      spawns => Steps * ?SPAWNS / Seconds, collections => Steps * ?COLLECTIONS / Seconds}.
