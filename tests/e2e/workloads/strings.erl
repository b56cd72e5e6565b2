%% SPDX-License-Identifier: BSD-2-Clause
%% Strings and io lists: formatting, upper case, flattening, conversions.  The truth: rounds.
-module(strings).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{strings, none}].

init(_) -> {lists:seq(1, 50), 0}.

step({Numbers, N}) ->
    Text = lists:flatten([io_lib:format("~b: ~p ~ts~n", [X, {X, [X]}, "grün"]) || X <- Numbers]),
    _ = string:uppercase(Text),
    _ = unicode:characters_to_binary(Text),
    _ = [list_to_integer(integer_to_list(X)) || X <- Numbers],
    {Numbers, N + 1}.

report([{_, N}]) -> #{rounds => N}.
