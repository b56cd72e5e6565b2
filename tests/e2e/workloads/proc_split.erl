%% SPDX-License-Identifier: BSD-2-Clause
%% Four registered processes do the same work in different amounts, 1 : 2 : 3 : 4, and rest in
%% between.  The truth: the share of each in all turns of the one loop that they run.
-module(proc_split).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) ->
    N = workload:calibrate(fun(K) -> spin(K, 1) end, 500000),
    [{list_to_atom("proc_split_" ++ integer_to_list(W)), {W, N}} || W <- [1, 2, 3, 4]].

init({Weight, N}) ->
    {Weight, N, 0, self()}.

step({Weight, N, Count, Pid}) ->
    spin(N * Weight, 1),
    receive after 1 -> ok end,
    {Weight, N, Count + N * Weight, Pid}.

report(States) ->
    All = lists:sum([Count || {_, _, Count, _} <- States]),
    #{shares => maps:from_list([{name(W), Count / All} || {W, _, Count, _} <- States]),
      by_name => maps:from_list([{name(W), list_to_binary(pid_to_list(P))}
                                 || {W, _, _, P} <- States])}.

name(Weight) -> iolist_to_binary(io_lib:format("proc_split_~b", [Weight])).

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).
