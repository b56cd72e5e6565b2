%% SPDX-License-Identifier: BSD-2-Clause
%% A process in NIFs whose C functions call each other as native_nif.c says; and the stack that it is
%% called with.
%%
%%   node.ask("native_calls", "load", FILE)     loads the NIFs, without ".so"
%%   node.start("native_calls", FUNCTION)       busy or busy_dirty, again and again
-module(native_calls).
-behaviour(workload).
-export([load/1, processes/1, init/1, step/1, report/1, busy/1, busy_dirty/1]).

busy(_) -> erlang:nif_error(not_loaded).
busy_dirty(_) -> erlang:nif_error(not_loaded).

load(File) ->
    ok = erlang:load_nif(File, 0),
    #{}.

processes([Function]) -> [{native_calls, list_to_atom(Function)}].

init(Function) -> {Function, 0}.

step({Function, N}) ->
    1 = ?MODULE:Function(1),
    {Function, N + 1}.

report([{_, N}]) -> #{calls => N}.
