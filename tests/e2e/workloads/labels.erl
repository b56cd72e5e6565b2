%% SPDX-License-Identifier: BSD-2-Clause
%% Processes with labels (OTP 27 and later) and without a registered name.  The truth: label by pid,
%% as proc_lib:get_label/1 gives it.
-module(labels).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) ->
    [{undefined, L} || L <- [connection, "a text label", {worker, 17}, <<"binary label">>]].

init(Label) ->
    apply(proc_lib, set_label, [Label]),
    {self(), workload:calibrate(fun(N) -> spin(N, 1) end, 200000),
     apply(proc_lib, get_label, [self()])}.

step({Pid, N, Label}) ->
    spin(N, 1),
    {Pid, N, Label}.

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).

report(States) ->
    #{labels => maps:from_list([{list_to_binary(pid_to_list(P)),
                                 unicode:characters_to_binary(io_lib:format("~0tp", [L]))}
                                || {P, _, L} <- States])}.
