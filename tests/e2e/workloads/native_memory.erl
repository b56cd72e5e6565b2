%% SPDX-License-Identifier: BSD-2-Clause
%% Memory that the VM knows nothing of: memory_nif.c gets it.
%%
%%   node.ask("native_memory", "load", FILE)           loads the NIF, without ".so"
%%   node.ask("native_memory", "hold", KIND, MIB)      so much more, until the node ends
%%   node.start("native_memory", KIND, MS)             a MiB more every MS milliseconds; it reports the MiB
-module(native_memory).
-behaviour(workload).
-export([load/1, hold/2, nif/2, processes/1, init/1, step/1, report/1]).

nif(_, _) -> erlang:nif_error(not_loaded).

load(File) ->
    ok = erlang:load_nif(File, 0),
    #{}.

hold(Kind, MiB) ->
    Kinds = #{"one_block" => 0, "many_blocks" => 1, "other_thread" => 2, "mapped" => 3, "reserved" => 4,
              "of_the_vm" => 5},
    nif(maps:get(Kind, Kinds), list_to_integer(MiB)).

processes([Kind, Ms]) -> [{undefined, {Kind, list_to_integer(Ms), 0}}].

init(State) -> State.

step({Kind, Ms, N}) ->
    hold(Kind, "1"),
    timer:sleep(Ms),
    {Kind, Ms, N + 1}.

report([{_, _, N}]) -> #{mib => N}.
