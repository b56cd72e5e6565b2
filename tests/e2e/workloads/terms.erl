%% SPDX-License-Identifier: BSD-2-Clause
%% Terms: comparing deep ones, maps with many keys, sorting tuples, external format.  JIT code calls
%% most of this without storing its stack pointer.  The truth: rounds.
-module(terms).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{terms, none}].

init(_) ->
    Make = fun() -> [{X, {"name", X, [X, X + 1]}} || X <- lists:seq(1, 3000)] end,
    %% Two equal terms at different addresses: comparing them walks all of both.
    {Make(), binary_to_term(term_to_binary(Make())), maps:from_list(Make()), 0}.

step({A, B, Map, N}) ->
    true = same(A, B, 4),
    Next = rename(Map, 500),
    _ = lists:sort(fun(X, Y) -> X > Y end, lists:sublist(A, 300)),
    %% A call whose result nobody uses may be left out by the compiler.
    true = byte_size(term_to_binary(A)) > 0,
    {A, B, Next, N + 1}.

same(_, _, 0) -> true;
same(A, B, N) when A =:= B -> same(A, B, N - 1).

rename(Map, 0) -> Map;
rename(Map, N) ->
    rename(Map#{N => {"name", maps:size(Map), maps:get(N + 1, Map)}, N + 1 => N}, N - 1).

report([{_, _, _, N}]) -> #{rounds => N}.
