%% SPDX-License-Identifier: BSD-2-Clause
%% A node with much code: loads modules of 70 functions each.  Argument: how many (2000).  They are
%% copies of one, with another name in its table of atoms.  The truth: modules loaded in the node.
-module(many_modules).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(TEMPLATE, "generated_module_000000").

processes([]) -> processes(["2000"]);
processes([Count]) -> [{many_modules, list_to_integer(Count)}].

init(Count) ->
    Binary = template(),
    [load(Binary, K) || K <- lists:seq(1, Count)],
    Count.

load(Binary, K) ->
    Name = lists:flatten(io_lib:format("generated_module_~6..0b", [K])),
    Renamed = binary:replace(Binary, <<?TEMPLATE>>, list_to_binary(Name), [global]),
    {module, _} = code:load_binary(list_to_atom(Name), Name ++ ".erl", Renamed).

template() ->
    Module = list_to_atom(?TEMPLATE),
    Names = [list_to_atom("function_" ++ integer_to_list(K)) || K <- lists:seq(1, 70)],
    Forms = [{attribute, 1, file, {?TEMPLATE ++ ".erl", 1}}, {attribute, 1, module, Module},
             {attribute, 2, export, [{F, 2} || F <- Names]}
             | [function(F, 10 * K) || {K, F} <- workload:enumerate(Names)]],
    {ok, Module, Binary} = compile:forms(Forms),
    Binary.

%% F(A, B) -> lists:reverse(A), {erlang:phash2(B), A}.
function(Name, Line) ->
    {function, Line, Name, 2,
     [{clause, Line, [{var, Line, 'A'}, {var, Line, 'B'}], [],
       [{call, Line + 1, {remote, Line + 1, {atom, Line + 1, lists}, {atom, Line + 1, reverse}},
         [{var, Line + 1, 'A'}]},
        {tuple, Line + 2,
         [{call, Line + 2, {remote, Line + 2, {atom, Line + 2, erlang}, {atom, Line + 2, phash2}},
           [{var, Line + 2, 'B'}]}, {var, Line + 2, 'A'}]}]}]}.

step(Count) ->
    receive after 100 -> Count end.

report([Count]) ->
    #{generated => Count, modules => length(code:all_loaded())}.
