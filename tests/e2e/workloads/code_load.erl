%% SPDX-License-Identifier: BSD-2-Clause
%% Code loading: a module with many functions is compiled to machine code again and again.
%% The truth: loads.
-module(code_load).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{code_load, 300}].

init(Functions) ->
    Body = fun(F) ->
                   {function, 1, F, 1,
                    [{clause, 1, [{var, 1, 'X'}], [],
                      [{tuple, 1, [{op, 1, '+', {var, 1, 'X'}, {integer, 1, K}}
                                   || K <- lists:seq(1, 20)]}]}]}
           end,
    Names = [list_to_atom("f" ++ integer_to_list(K)) || K <- lists:seq(1, Functions)],
    {ok, code_loaded, Binary} =
        compile:forms([{attribute, 1, module, code_loaded},
                       {attribute, 1, export, [{F, 1} || F <- Names]} | [Body(F) || F <- Names]]),
    {Binary, 0}.

step({Binary, Loads}) ->
    {module, code_loaded} = code:load_binary(code_loaded, "code_loaded", Binary),
    code:purge(code_loaded),
    {Binary, Loads + 1}.

report([{_, Loads}]) -> #{loads => Loads}.
