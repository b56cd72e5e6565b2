%% SPDX-License-Identifier: BSD-2-Clause
%% Four registered processes do the same work in different amounts, 1 : 2 : 3 : 4.  They take turns, two at a
%% time, so that at any time each has done its share, whatever CPU the node gets.  The truth: the share of each
%% in all turns of the one loop that they run.
-module(proc_split).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(NR, 4).
-define(AT_A_TIME, 2).

processes(_) ->
    N = workload:calibrate(fun(K) -> spin(K, 1) end, 500000),
    [{name(W), {W, N}} || W <- lists:seq(1, ?NR)].

init({Weight, N}) ->
    Weight =< ?AT_A_TIME andalso (self() ! turn),
    {Weight, N, 0, self()}.

%% It looks for what else it is told now and then.
step({Weight, N, Count, Pid}) ->
    receive
        turn ->
            spin(N * Weight, 1),
            pass_on(whereis(name(Weight rem ?NR + 1))),
            {Weight, N, Count + N * Weight, Pid}
    after 50 ->
            {Weight, N, Count, Pid}
    end.

pass_on(undefined) -> gone;
pass_on(Next) -> Next ! turn.

report(States) ->
    All = lists:sum([Count || {_, _, Count, _} <- States]),
    #{shares => maps:from_list([{name(W), Count / All} || {W, _, Count, _} <- States]),
      by_name => maps:from_list([{name(W), list_to_binary(pid_to_list(P))}
                                 || {W, _, _, P} <- States])}.

name(Weight) -> list_to_atom("proc_split_" ++ integer_to_list(Weight)).

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).
