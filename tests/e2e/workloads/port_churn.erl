%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Opens and closes sockets as fast as it can; the truth is how often.
-module(port_churn).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes([]) ->
    [{undefined, I} || I <- lists:seq(1, 4)].

init(_) ->
    0.

step(N) ->
    Ports = [begin {ok, P} = gen_udp:open(0), P end || _ <- lists:seq(1, 10)],
    [gen_udp:close(P) || P <- Ports],
    N + 10.

report(States) ->
    #{opened => lists:sum(States)}.
