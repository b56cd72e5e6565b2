%% SPDX-License-Identifier: BSD-2-Clause
%% For the views that add up events: an exact number of things, and what the node itself counts.
%%
%%   node.ask("views", "collect", N)     N minor and N major collections of a process of a name
%%   node.ask("views", "fill", N)        a process that runs out of heap in a function of its own
%%   node.ask("views", "litter", MS, REST)  short collections, REST ms of sleep between many of them;
%%                                       what microstate accounting says they took
%%   node.ask("views", "queue", N, MS)   N processes that always want to run, for so long
%%   node.ask("views", "utilize", MS)    some load, and what scheduler:utilization/2 says of it
%%   node.ask("views", "leave", N)       a process that yields N times, waits N times, is preempted
%%   node.ask("views", "hold", N)        a process that keeps its scheduler for long, N times
-module(views).
-export([collect/1, fill/1, litter/2, queue/2, utilize/1, load/4, unload/0, leave/1, hold/1]).
-export([collector/2, filler/2, filled/2, litterer/1, queued/2, worker/1, dirty_worker/1, loader/5, part_worker/2]).
-export([leaver/2, holder/3, held/1]).

pid(P) -> list_to_binary(pid_to_list(P)).

collect(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {Number0, _, 0} = statistics(garbage_collection),
    {P, Ref} = spawn_opt(?MODULE, collector, [N, Self], [monitor, {min_heap_size, 20000}]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    {Number, _, 0} = statistics(garbage_collection),
    #{pid => pid(P), minor => N, major => N, number => Number - Number0}.

%% Its heap is large enough for all that it does: there is no other collection than those.  It holds
%% a list all the time: with nothing for the old heap a minor collection goes over into a major one.
collector(N, _) ->
    register(views_collector, self()),
    Held = lists:seq(1, 1000),
    erlang:garbage_collect(),
    collect_minor(N),
    collect_major(N),
    1000 = length(Held).

collect_minor(0) -> ok;
collect_minor(N) ->
    _ = lists:seq(1, 100),
    erlang:garbage_collect(self(), [{type, minor}]),
    collect_minor(N - 1).

%% The first major one was that of collector/2.
collect_major(1) -> ok;
collect_major(N) ->
    _ = lists:seq(1, 100),
    erlang:garbage_collect(),
    collect_major(N - 1).

fill(Count) ->
    {P, Ref} = spawn_monitor(?MODULE, filler, [list_to_integer(Count), []]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P)}.

filler(0, _) -> ok;
filler(N, _) -> _ = length(filled(5000, [])), filler(N - 1, []).

filled(0, List) -> List;
filled(N, List) -> filled(N - 1, [{N, N, N} | List]).

litter(Time, Rest) ->
    P = spawn(?MODULE, litterer, [list_to_integer(Rest)]),
    erlang:system_flag(microstate_accounting, true),
    erlang:system_flag(microstate_accounting, reset),
    timer:sleep(list_to_integer(Time)),
    Counted = [Counters || #{type := scheduler, counters := Counters} <-
                               erlang:statistics(microstate_accounting)],
    erlang:system_flag(microstate_accounting, false),
    exit(P, kill),
    All = lists:sum([lists:sum(maps:values(C)) || C <- Counted]),
    Collecting = lists:sum([maps:get(gc, C) + maps:get(gc_full, C, 0) || C <- Counted]),
    #{percent => 100 * Collecting / All}.

litterer(Rest) ->
    _ = [lists:sum(lists:seq(1, 5000)) || _ <- lists:seq(1, 50)],
    Rest > 0 andalso timer:sleep(Rest),
    litterer(Rest).

%% ---- scheduling -----------------------------------------------------------------------------

queue(Count, MS) ->
    N = list_to_integer(Count),
    Self = self(),
    Ps = [spawn_monitor(?MODULE, queued, [Self, I]) || I <- lists:seq(1, N)],
    T0 = erlang:monotonic_time(nanosecond),
    [P ! go || {P, _} <- Ps],
    timer:sleep(list_to_integer(MS)),
    T1 = erlang:monotonic_time(nanosecond),
    %% One that always wants to run looks into its mailbox, but does not wait.
    [P ! stop || {P, _} <- Ps],
    Reductions = [receive {P, R} -> R end || {P, _} <- Ps],
    [receive {'DOWN', Ref, process, P, normal} -> ok end || {P, Ref} <- Ps],
    T2 = erlang:monotonic_time(nanosecond),
    #{pids => [pid(P) || {P, _} <- Ps], ns => T1 - T0, most_ns => T2 - T0, reductions => Reductions}.

queued(Parent, _) ->
    receive go -> ok end,
    spin(Parent).

spin(Parent) ->
    count(5000),
    receive
        stop -> {reductions, R} = process_info(self(), reductions), Parent ! {self(), R}
    after 0 -> spin(Parent)
    end.

count(0) -> ok;
count(N) -> count(N - 1).

%% Load of all kinds of schedulers; more than a scheduler at times, less at others.
utilize(MS) ->
    Time = list_to_integer(MS),
    Before = scheduler:sample_all(),
    T0 = os:system_time(nanosecond),
    Until = erlang:monotonic_time(millisecond) + Time,
    Ps = [spawn_monitor(?MODULE, worker, [Until]) || _ <- lists:seq(1, 3)] ++
         [spawn_monitor(?MODULE, dirty_worker, [Until]) || _ <- lists:seq(1, 2)],
    [receive {'DOWN', Ref, process, P, normal} -> ok end || {P, Ref} <- Ps],
    After = scheduler:sample_all(),
    T1 = os:system_time(nanosecond),
    %% Taking a sample takes a while, in which nothing is done: what counts is how long they worked
    %% in between.  Numbers of dirty schedulers go on from those of the others.
    Normal = erlang:system_info(schedulers),
    First = #{normal => 0, cpu => Normal, io => Normal + erlang:system_info(dirty_cpu_schedulers)},
    {scheduler_wall_time_all, Then} = Before,
    {scheduler_wall_time_all, Now} = After,
    #{from_ns => T0, to_ns => T1,
      schedulers => [#{type => T, scheduler => I - maps:get(T, First),
                       utilization => 100 * native_ns(A1 - A0) / (T1 - T0)} ||
                        {{T, I, A0, _}, {T, I, A1, _}} <- lists:zip(lists:sort(Then), lists:sort(Now))]}.

native_ns(Time) -> erlang:convert_time_unit(Time, native, nanosecond).

worker(Until) ->
    Now = erlang:monotonic_time(millisecond),
    if Now >= Until -> ok;
       true -> count(300000), timer:sleep(3), worker(Until)
    end.

dirty_worker(Until) ->
    Now = erlang:monotonic_time(millisecond),
    if Now >= Until -> ok;
       true -> erts_debug:dirty_cpu(wait, 20), erts_debug:dirty_io(wait, 10), timer:sleep(10),
               dirty_worker(Until)
    end.

%% Load until unload(): each of Count processes works for Us, and waits for MS in between; with MS < 0
%% it does not wait.  `dirty`: as dirty_worker/1.  The node's own account of its schedulers is
%% noted all the time.
load(Kind, Count, Us, MS) ->
    Pid = spawn(?MODULE, loader, [Kind, list_to_integer(Count), list_to_integer(Us),
                                  list_to_integer(MS), self()]),
    register(views_load, Pid),
    receive {Pid, ready} -> #{} end.

loader(Kind, Count, Us, MS, Parent) ->
    process_flag(priority, high),
    erlang:system_flag(scheduler_wall_time, true),
    Ps = [case Kind of
              "dirty" -> spawn_link(?MODULE, dirty_worker, [infinity]);
              "normal" -> spawn_link(?MODULE, part_worker, [Us, MS])
          end || _ <- lists:seq(1, Count)],
    Parent ! {self(), ready},
    account(Ps, []).

account(Ps, Before) ->
    Notes = [note() | Before],
    receive
        {unload, From} ->
            Last = note(),
            [begin unlink(P), exit(P, kill) end || P <- Ps],
            erlang:system_flag(scheduler_wall_time, false),
            From ! {self(), lists:reverse([Last | Notes])}
    after 100 -> account(Ps, Notes)
    end.

note() ->
    T0 = os:system_time(nanosecond),
    All = lists:sort(erlang:statistics(scheduler_wall_time_all)),
    T1 = os:system_time(nanosecond),
    [(T0 + T1) div 2 | [native_ns(A) || {_, A, _} <- All]].

unload() ->
    Pid = whereis(views_load),
    Ref = monitor(process, Pid),
    Pid ! {unload, self()},
    Notes = receive {Pid, All} -> All end,
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    Normal = erlang:system_info(schedulers),
    Dirty = erlang:system_info(dirty_cpu_schedulers),
    #{notes => Notes, normal => Normal, dirty_cpu => Dirty}.

part_worker(Us, MS) ->
    work_until(erlang:monotonic_time(microsecond) + Us),
    if MS < 0 -> ok;
       true -> receive after MS -> ok end
    end,
    part_worker(Us, MS).

work_until(Until) ->
    case erlang:monotonic_time(microsecond) of
        Now when Now >= Until -> ok;
        _ -> count(100), work_until(Until)
    end.

leave(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {P, Ref} = spawn_monitor(?MODULE, leaver, [N, Self]),
    R = receive {P, Reductions} -> Reductions end,
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P), count => N, reductions => R}.

leaver(N, Parent) ->
    [erlang:yield() || _ <- lists:seq(1, N)],
    [receive after 2 -> ok end || _ <- lists:seq(1, N)],
    count(4000 * N),
    erlang:yield(),
    {reductions, R} = process_info(self(), reductions),
    Parent ! {self(), R}.

%% A BIF that does not yield.
hold(Count) ->
    N = list_to_integer(Count),
    List = lists:seq(1, 1000000),
    {P, Ref} = spawn_monitor(?MODULE, holder, [N, List, 0]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P), count => N}.

holder(0, _, _) -> ok;
holder(N, List, _) -> Size = held(List), holder(N - 1, List, Size).

held(List) ->
    Size = erts_debug:flat_size(List),
    receive after 1 -> Size end.
