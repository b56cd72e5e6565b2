%% SPDX-License-Identifier: BSD-2-Clause
%% What a view inside the node does (observer_cli, by way of recon): each second it asks all
%% processes, puts them in order of what they have done since the last time, and asks the first ones
%% again, for all that it shows of them.  The truth: how often, and milliseconds each time.
-module(peer_refresh).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(PERIOD_MS, 1000).
-define(SHOWN, 40).
-define(ASKED, [reductions, registered_name, current_function, initial_call]).
-define(OF_SHOWN, [memory, message_queue_len, status, current_stacktrace, total_heap_size]).

processes(_Args) -> [{undefined, none}].

init(_) -> {#{}, []}.

step({Before, Times}) ->
    Began = workload:clock(),
    All = [{P, Info} || P <- erlang:processes(), (Info = process_info(P, ?ASKED)) =/= undefined],
    Now = maps:from_list([{P, R} || {P, [{reductions, R} | _]} <- All]),
    Rows = [{R - maps:get(P, Before, 0), P, Rest} || {P, [{reductions, R} | Rest]} <- All],
    First = lists:sublist(lists:reverse(lists:sort(Rows)), ?SHOWN),
    _ = [process_info(P, ?OF_SHOWN) || {_, P, _} <- First],
    Ms = (workload:clock() - Began) / 1.0e6,
    rest(max(0, round(?PERIOD_MS - Ms))),
    {Now, [Ms | Times]}.

%% It ends soon when it is told to.
rest(Ms) when Ms =< 50 -> timer:sleep(Ms);
rest(Ms) ->
    timer:sleep(50),
    case process_info(self(), message_queue_len) of
        {_, 0} -> rest(Ms - 50);
        _ -> ok
    end.

report([{_, Times}]) ->
    #{times => length(Times), ms => lists:sum(Times) / max(1, length(Times))}.
