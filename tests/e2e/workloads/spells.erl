%% SPDX-License-Identifier: BSD-2-Clause
%% Processes that do one known thing for long, or two in turn, and log for how long each.
%%
%%   node.start("spells")            the process that measures itself: it sleeps and works in turn
%%   node.start("spells", "rarely")  ten that sleep for long and work for 20 ms
%%   node.ask("spells", "still")     processes that stay as they are, by what they do
%%   node.ask("spells", "lives", Ms) children that live for random times, until Ms are over; how long
%%                                   they lived, all together
-module(spells).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, still/0, lives/1]).
-export([receiving/0, receiving_for/0, asleep/0, accepting/1, suspended/0, deep/1, child/2]).

processes(["rarely"]) -> [{undefined, {400, 400, 20, 1}} || _ <- lists:seq(1, 10)];
processes(_) -> [{spells_turns, {40, 120, 20, 60}}].

init(Times) -> {Times, 0, 0}.

step({{Sleep, MoreSleep, Work, MoreWork} = Times, Asleep, Working}) ->
    T0 = erlang:monotonic_time(),
    timer:sleep(Sleep + rand:uniform(MoreSleep)),
    T1 = erlang:monotonic_time(),
    work(T1 + erlang:convert_time_unit(Work + rand:uniform(MoreWork), millisecond, native)),
    T2 = erlang:monotonic_time(),
    {Times, Asleep + T1 - T0, Working + T2 - T1}.

work(Until) ->
    case erlang:monotonic_time() < Until of
        true -> lists:sum(lists:seq(1, 50)), work(Until);
        false -> ok
    end.

report(States) ->
    Asleep = lists:sum([A || {_, A, _} <- States]),
    Working = lists:sum([W || {_, _, W} <- States]),
    #{asleep => Asleep / (Asleep + Working)}.

still() ->
    {ok, Socket} = gen_tcp:listen(0, []),
    Suspended = spawn(?MODULE, suspended, []),
    workload:at_rest([Suspended]),
    true = erlang:suspend_process(Suspended),
    Receiving = spawn(?MODULE, receiving, []),
    Pids = #{receiving => Receiving,
             calling => spawn(fun() -> gen_server:call(Receiving, nothing, 3600000) end),
             receiving_for => spawn(?MODULE, receiving_for, []),
             hibernating => spawn(fun() -> erlang:hibernate(?MODULE, receiving, []) end),
             accepting => spawn(?MODULE, accepting, [Socket]),
             deep => spawn(?MODULE, deep, [5000]),
             suspended => Suspended},
    workload:at_rest(maps:values(Pids)),
    maps:map(fun(_, P) -> list_to_binary(pid_to_list(P)) end, Pids).

receiving() -> receive never -> ok end.
receiving_for() -> receive never -> ok after 3600000 -> ok end.
suspended() -> receive never -> ok end.
asleep() -> timer:sleep(infinity).
accepting(Socket) -> gen_tcp:accept(Socket).

%% No tail call; the second frame from the top is another function than all below it.
deep(0) -> receiving();
deep(N) -> [N | deep(N - 1)].

lives(Ms) ->
    T0 = erlang:monotonic_time(),
    Until = T0 + erlang:convert_time_unit(list_to_integer(Ms), millisecond, native),
    Sum = lives(Until, 0, 0),
    #{lived_ns => erlang:convert_time_unit(Sum, native, nanosecond)}.

lives(Until, Living, Sum) ->
    More = erlang:monotonic_time() < Until,
    if not More andalso Living =:= 0 -> Sum;
       true ->
            [spawn(?MODULE, child, [self(), 20 + rand:uniform(160)]) || _ <- [1, 2], More],
            {Gone, Lived} = collect(5),
            lives(Until, Living - Gone + (if More -> 2; true -> 0 end), Sum + Lived)
    end.

collect(After) ->
    receive {lived, T} -> {N, Sum} = collect(0), {N + 1, Sum + T}
    after After -> {0, 0}
    end.

child(Parent, Ms) ->
    T0 = erlang:monotonic_time(),
    timer:sleep(Ms),
    Parent ! {lived, erlang:monotonic_time() - T0}.
