%% SPDX-License-Identifier: BSD-2-Clause
%% What people do without ebeam: a process that asks the node about all its processes, ten times a
%% second or as often as it can.  The truth: how often, and milliseconds each time.
%%
%%   node.ask("peer_process_info", "once")         asks once; milliseconds
%%   node.ask("peer_process_info", "mailbox", N)   starts a process with N messages; its pid
-module(peer_process_info).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([once/0, mailbox/1, silent/0]).

-define(PERIOD_MS, 100).

processes(_Args) -> [{undefined, none}].

init(_) -> [].

step(Times) ->
    Ms = once(),
    timer:sleep(max(0, round(?PERIOD_MS - Ms))),
    [Ms | Times].

report([Times]) ->
    #{times => length(Times), ms => lists:sum(Times) / max(1, length(Times))}.

once() ->
    Before = workload:clock(),
    ask_all(),
    (workload:clock() - Before) / 1.0e6.

%% In a process of its own, as a shell or a remote call does it: its heap goes with it.
ask_all() ->
    {_, Ref} = spawn_monitor(fun() -> [process_info(P) || P <- erlang:processes()] end),
    receive {'DOWN', Ref, process, _, _} -> ok end.

mailbox(N) ->
    Pid = spawn(?MODULE, silent, []),
    [Pid ! {message, K, <<"of some size">>, [a, list]} || K <- lists:seq(1, list_to_integer(N))],
    list_to_binary(pid_to_list(Pid)).

silent() -> receive never -> ok end.
