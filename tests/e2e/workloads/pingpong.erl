%% SPDX-License-Identifier: BSD-2-Clause
%% The worst case for whoever watches messages: two processes that do nothing but send one to and
%% fro.  The truth: rounds, of a thousand round trips each, which over elapsed_ns are the
%% throughput.
-module(pingpong).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{undefined, pinger}].

init(_) ->
    Self = self(),
    {spawn_link(fun() -> monitor(process, Self), ponger() end), 0}.

step({Ponger, Rounds}) ->
    play(Ponger, 1000),
    {Ponger, Rounds + 1}.

play(_, 0) -> ok;
play(Ponger, N) ->
    Ponger ! {ping, self()},
    receive pong -> play(Ponger, N - 1) end.

ponger() ->
    receive
        {ping, From} -> From ! pong, ponger();
        {'DOWN', _, process, _, _} -> ok
    end.

report(States) ->
    Rounds = lists:sum([N || {_, N} <- States]),
    #{rounds => Rounds, messages => Rounds * 2000}.
