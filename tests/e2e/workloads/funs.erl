%% SPDX-License-Identifier: BSD-2-Clause
%% Anonymous functions: passed to lists, nested, and as comprehensions.  The truth: the names that
%% the compiler gave them, as the VM itself reports them.
-module(funs).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{funs, none}].

init(_) -> {workload:calibrate(fun(N) -> spin(N, 1) end, 20000), lists:seq(1, 10), #{}}.

step({N, List, _}) ->
    Mapped = fun(_) -> spin(N, 1), work(N) end,
    Folded = fun(X, Acc) -> spin(N, 2), X + Acc end,
    _ = lists:map(Mapped, List),
    _ = lists:foldl(Folded, 0, List),
    _ = [begin spin(N, 3), X end || X <- List],
    {N, List, #{mapped => name(Mapped), folded => name(Folded)}}.

%% In tail position a call would replace the frame of the fun.
work(N) -> N + 1.

name(Fun) ->
    {_, Name} = erlang:fun_info(Fun, name),
    {_, Arity} = erlang:fun_info(Fun, arity),
    {_, Env} = erlang:fun_info(Fun, env),
    iolist_to_binary(io_lib:format("funs:~p/~b", [Name, Arity + env_size(Env)])).

env_size(Env) -> length(Env).

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).

report([{_, _, Names}]) -> #{names => Names}.
