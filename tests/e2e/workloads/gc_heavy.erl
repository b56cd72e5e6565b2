%% SPDX-License-Identifier: BSD-2-Clause
%% Garbage collection: a process with a live heap of many small terms makes garbage and sweeps it
%% all each time.  The truth comes from the VM's own microstate accounting: the share of garbage
%% collection in the time in which schedulers ran processes.
-module(gc_heavy).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{gc_heavy, 20000}].

init(Live) ->
    process_flag(fullsweep_after, 0),
    erlang:system_flag(microstate_accounting, reset),
    erlang:system_flag(microstate_accounting, true),
    {[{X, integer_to_list(X)} || X <- lists:seq(1, Live)], 0, collections()}.

step({Live, N, Before}) ->
    {Live, N + length(garbage(2000, [])), Before}.

garbage(0, Acc) -> Acc;
garbage(N, Acc) -> garbage(N - 1, [{N, [N, N]} | Acc]).

report([{_, _, Before}]) ->
    Threads = statistics(microstate_accounting),
    erlang:system_flag(microstate_accounting, false),
    Sum = fun(State) ->
                  lists:sum([maps:get(State, C)
                             || #{type := T, counters := C} <- Threads,
                                T =:= scheduler orelse T =:= dirty_cpu_scheduler])
          end,
    #{gc_share => Sum(gc) / (Sum(gc) + Sum(emulator)), collections => collections() - Before}.

collections() ->
    element(1, statistics(garbage_collection)).
