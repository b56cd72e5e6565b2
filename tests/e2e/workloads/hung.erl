%% SPDX-License-Identifier: BSD-2-Clause
%% A node that has stopped to answer.  Arguments: how many processes (0) go, half a second after the
%% start, into a C function that does not return for ten minutes (as many as there are schedulers:
%% nothing runs any more).  And one, registered as hung_loop, runs for ever and takes none of the
%% 5,000 messages that it has.
-module(hung).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(MESSAGES, 5000).

processes([]) -> processes(["0"]);
processes([N]) -> [{hung_loop, loop} | [{undefined, block} || _ <- lists:seq(1, list_to_integer(N))]].

init(loop) ->
    [self() ! {job, I} || I <- lists:seq(1, ?MESSAGES)],
    loop;
init(block) ->
    erts_debug:set_internal_state(available_internal_state, true),
    block.

step(loop) ->
    spin(1);
step(block) ->
    receive after 500 -> ok end,
    %% erts_debug_set_internal_state_2() of erl_bif_info.c: the thread sleeps, the scheduler with it.
    erts_debug:set_internal_state(sleep, 600000),
    block.

spin(N) -> spin(N + 1).

report(_) -> #{}.
