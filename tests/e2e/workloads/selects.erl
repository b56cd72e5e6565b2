%% SPDX-License-Identifier: BSD-2-Clause
%% Processes that do nothing but ask a table by a match specification that fits no object.
%% Argument: how many (2).
-module(selects).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes([]) -> processes(["2"]);
processes([N]) -> [{undefined, 2000} || _ <- lists:seq(1, list_to_integer(N))].

init(Size) ->
    Table = ets:new(selects, [set]),
    true = ets:insert(Table, [{K, K} || K <- lists:seq(1, Size)]),
    {Table, 0}.

step({Table, N}) ->
    [] = ets:select(Table, [{{'$1', '$2'}, [{'>', {'+', '$1', '$2'}, 1000000}], ['$1']}]),
    {Table, N + 1}.

report(States) -> #{selects => lists:sum([N || {_, N} <- States])}.
