%% SPDX-License-Identifier: BSD-2-Clause
%% Work on dirty schedulers.  Argument: cpu (RSA keys, a dirty CPU NIF of crypto), io (reading a
%% file, a dirty IO NIF of the VM) or gc (collecting a huge heap).  The truth: rounds, and for each
%% kind of thread the share of the time in which threads did not sleep, by microstate accounting.
-module(dirty).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes([Mode]) -> [{list_to_atom("dirty_" ++ Mode), list_to_atom(Mode)}].

init(Mode) ->
    Data = prepare(Mode),
    erlang:system_flag(microstate_accounting, reset),
    erlang:system_flag(microstate_accounting, true),
    {Mode, Data, 0}.

prepare(cpu) -> none;
prepare(gc) -> [{X, [X]} || X <- lists:seq(1, 1000000)];
prepare(io) ->
    File = filename:join("/tmp", "ebeam-e2e-dirty-" ++ os:getpid()),
    ok = file:write_file(File, binary:copy(<<"data">>, 1 bsl 20)),
    File.

step({cpu, none, N}) ->
    _ = crypto:generate_key(rsa, {1024, 65537}),
    {cpu, none, N + 1};
step({gc, Live, N}) ->
    true = erlang:garbage_collect(),
    {gc, Live, N + 1};
step({io, File, N}) ->
    {ok, _} = prim_file:read_file(File),
    {io, File, N + 1}.

report([{Mode, Data, N}]) ->
    Mode =/= io orelse file:delete(Data),
    Threads = statistics(microstate_accounting),
    erlang:system_flag(microstate_accounting, false),
    Busy = fun(Type) ->
                   lists:sum([T || #{type := Ty, counters := C} <- Threads, Ty =:= Type,
                                   {State, T} <- maps:to_list(C), State =/= sleep])
           end,
    All = max(1, Busy(scheduler) + Busy(dirty_cpu_scheduler) + Busy(dirty_io_scheduler)),
    #{rounds => N,
      busy => #{dirty_cpu => Busy(dirty_cpu_scheduler) / All,
                dirty_io => Busy(dirty_io_scheduler) / All}}.
