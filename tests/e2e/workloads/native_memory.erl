%% SPDX-License-Identifier: BSD-2-Clause
%% Memory that the VM knows nothing of: memory_nif.c gets it.
%%
%%   node.ask("native_memory", "load", FILE)           loads the NIF, without ".so"
%%   node.ask("native_memory", "hold", KIND, MIB)      so much more, until the node ends
-module(native_memory).
-export([load/1, hold/2, nif/2]).

nif(_, _) -> erlang:nif_error(not_loaded).

load(File) ->
    ok = erlang:load_nif(File, 0),
    #{}.

hold(Kind, MiB) ->
    Kinds = #{"one_block" => 0, "many_blocks" => 1, "other_thread" => 2, "mapped" => 3, "reserved" => 4},
    nif(maps:get(Kind, Kinds), list_to_integer(MiB)).
