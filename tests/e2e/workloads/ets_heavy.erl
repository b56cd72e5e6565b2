%% SPDX-License-Identifier: BSD-2-Clause
%% Lookups, inserts and counters in a hash table and an ordered table.  The truth: operations.
-module(ets_heavy).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{ets_heavy, 20000}].

init(Size) ->
    Hash = ets:new(ets_heavy_hash, [set, public]),
    Tree = ets:new(ets_heavy_tree, [ordered_set, public]),
    Value = [{K, "some text to be copied"} || K <- lists:seq(1, 40)],
    [ets:insert(T, {{key, K}, K, Value}) || T <- [Hash, Tree], K <- lists:seq(1, Size)],
    {Hash, Tree, Size, Value, 1, 0}.

step({Hash, Tree, Size, Value, Key, Count}) ->
    {Hash, Tree, Size, Value, work(500, Hash, Tree, Size, Value, Key), Count + 500}.

work(0, _, _, _, _, Key) -> Key;
work(N, Hash, Tree, Size, Value, Key) ->
    [_] = ets:lookup(Hash, {key, Key}),
    [_] = ets:lookup(Tree, {key, Key}),
    true = ets:insert(Hash, {{key, Key}, Key, Value}),
    _ = ets:update_counter(Tree, {key, Key}, {2, 1}),
    work(N - 1, Hash, Tree, Size, Value, (Key * 7919) rem Size + 1).

report([{_, _, _, _, _, Count}]) -> #{rounds => Count}.
