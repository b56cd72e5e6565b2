%% SPDX-License-Identifier: BSD-2-Clause
%% Body recursion, deep, with the work at its bottom.  Arguments: depth (1000000),
%% processes (1).  The truth: depth.
-module(deep).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes([]) -> processes(["1000000"]);
processes([Depth]) -> processes([Depth, "1"]);
processes([Depth, N]) ->
    [{undefined, list_to_integer(Depth)} || _ <- lists:seq(1, list_to_integer(N))].

init(Depth) -> {Depth, workload:calibrate(fun(N) -> bottom(N, 1) end, 100000000), 0}.

step({Depth, Spin, N}) ->
    Depth = descend(Depth, Spin),
    {Depth, Spin, N + 1}.

descend(0, Spin) -> bottom(Spin, 1), 0;
descend(Depth, Spin) -> 1 + descend(Depth - 1, Spin).

bottom(0, X) -> X;
bottom(N, X) -> bottom(N - 1, (X * 69069 + 1) band 16#ffffffff).

report([{Depth, _, _} | _] = States) ->
    #{depth => Depth, rounds => lists:sum([N || {_, _, N} <- States])}.
