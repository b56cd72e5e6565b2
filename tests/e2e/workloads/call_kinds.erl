%% SPDX-License-Identifier: BSD-2-Clause
%% Calls of every kind, an exact number of times; and what a node says of its functions.
-module(call_kinds).
-export([run/2, traced/3, functions/0, bifs/0, compile_guards/0, guards/2, prepare/0, version/1]).
-export([target/1, woken/1, down/1]).

%% ---- the functions that are called -----------------------------------------------------------

target(X) -> X.

woken({Parent, X}) -> Parent ! {done, X}.

%% Calls itself, last: N + 1 calls.
down(0) -> 0;
down(N) -> down(N - 1).

%% Calls itself, not last: N + 1 calls.
sum(0) -> 0;
sum(N) -> N + sum(N - 1).

%% Not exported.
hidden(X) -> [X].

throws(X) -> throw(X).

%% Nine arguments.
wide(A, B, C, D, E, F, G, H, I) -> {A, B, C, D, E, F, G, H, I}.

anonymous() -> fun(X) -> [X, x] end.

closure(Y) -> fun(X) -> [X, Y] end.

%% ---- kinds of calls --------------------------------------------------------------------------

%% How many calls of the function that it is about were made.
run(Kind, Times) ->
    N = list_to_integer(Times),
    made(list_to_atom(Kind), N).

made(local, N) -> repeat(N, fun(X) -> [target(X)] end);
made(tail, N) -> repeat(N, fun(X) -> target(X) end);
made(external, N) -> repeat(N, fun(X) -> [?MODULE:target(X)] end);
made(external_tail, N) -> repeat(N, fun(X) -> ?MODULE:target(X) end);
made(apply, N) -> repeat(N, fun(X) -> [apply(hide(?MODULE), hide(target), hide([X]))] end);
made(apply_tail, N) -> repeat(N, fun(X) -> apply(hide(?MODULE), hide(target), hide([X])) end);
made(apply_fixed, N) ->
    repeat(N, fun(X) -> M = hide(?MODULE), F = hide(target), [M:F(X)] end);
made(local_fun, N) -> F = hide(fun target/1), repeat(N, fun(X) -> [F(X)] end);
made(external_fun, N) -> F = hide(fun ?MODULE:target/1), repeat(N, fun(X) -> [F(X)] end);
made(apply_fun, N) -> F = hide(fun ?MODULE:target/1), repeat(N, fun(X) -> [apply(F, [X])] end);
made(callback, N) -> length(lists:map(fun ?MODULE:target/1, lists:seq(1, N)));
made(spawn, N) -> repeat(N, fun(X) -> wait(spawn_monitor(?MODULE, target, [X])) end);
made(spawn_fun, N) -> repeat(N, fun(X) -> wait(spawn_monitor(fun() -> target(X) end)) end);
made(spawn_link, N) ->
    process_flag(trap_exit, true),
    repeat(N, fun(X) -> P = spawn_link(?MODULE, target, [X]), receive {'EXIT', P, _} -> ok end end);
made(yield, N) ->
    %% Four processes that push each other out: most go away and come back at the entry.
    All = [spawn_monitor(fun() -> repeat(N, fun(X) -> [target(X)] end) end)
           || _ <- lists:seq(1, 4)],
    [wait(P) || P <- All],
    4 * N;
made(hibernate, N) -> repeat(N, fun(X) -> awake(X) end);
made(recursion, N) -> down(N), N + 1;
made(body_recursion, N) -> sum(N), N + 1;
made(hidden, N) -> repeat(N, fun(X) -> hidden(X) end);
made(throws, N) -> repeat(N, fun(X) -> catch throws(X) end);
made(wide, N) -> repeat(N, fun(X) -> wide(X, 2, 3, 4, 5, 6, 7, 8, 9) end);
made(anonymous, N) -> F = hide(anonymous()), repeat(N, fun(X) -> F(X) end);
made(closure, N) -> F = hide(closure(N)), repeat(N, fun(X) -> F(X) end);
made(send, N) ->
    repeat(N, fun(X) -> Self = self(), Self ! X, erlang:send(Self, X), apply(erlang, hide(send), [Self, X]),
                        receive X -> ok end, receive X -> ok end, receive X -> ok end end),
    3 * N;
made(insert, N) ->
    Table = ets:new(table, [public]),
    repeat(N, fun(X) -> ets:insert(Table, {X}), apply(ets, hide(insert), [Table, {X}]),
                        F = hide(fun ets:insert/2), F(Table, {X}) end),
    3 * N;
made(spawned_bif, N) ->
    repeat(N, fun(X) -> wait(spawn_monitor(erlang, phash2, [X])) end);
made(nif, N) -> repeat(N, fun(_) -> crypto:strong_rand_bytes(3) end);
made(static_nif, N) -> repeat(N, fun(_) -> zlib:close(zlib:open()) end);
made(dirty_nif, N) -> repeat(N, fun(_) -> prim_file:read_file_info("/") end).

prepare() ->
    [made(Kind, 1) || Kind <- [insert, nif, static_nif, dirty_nif, throws]],
    ok.

hide(X) -> persistent_term:get(?MODULE, X).

repeat(N, F) -> repeat(N, N, F).

repeat(0, N, _) -> N;
repeat(Left, N, F) -> F(Left), repeat(Left - 1, N, F).

wait({Pid, Ref}) -> receive {'DOWN', Ref, process, Pid, _} -> ok end.

awake(X) ->
    {Pid, Ref} = spawn_monitor(fun sleeper/0),
    Pid ! {self(), X},
    receive {done, X} -> ok end,
    wait({Pid, Ref}).

sleeper() ->
    Parent = receive {P, X} -> self() ! go, {P, X} end,
    erlang:hibernate(?MODULE, woken, [Parent]).

%% ---- traced in the node too ------------------------------------------------------------------

%% {calls made, calls that the node's own tracer saw}
traced(How, Kind, Times) ->
    Tracer = spawn(fun() -> tracer(0) end),
    MFA = {?MODULE, target, 1},
    {Match, Flags} = case How of
                         "local" -> {true, [local]};
                         "global" -> {true, [global]};
                         "return" -> {[{'_', [], [{return_trace}]}], [local]};
                         "exception" -> {[{'_', [], [{exception_trace}]}], [local]};
                         "count" -> {true, [call_count]};
                         "time" -> {true, [call_time]}
                     end,
    {Made, Seen} = in_process(fun() ->
        erlang:trace(self(), true, [call, {tracer, Tracer}]),
        1 = erlang:trace_pattern(MFA, Match, Flags),
        Made = run(Kind, Times),
        Counted = erlang:trace_info(MFA, call_count),
        Timed = erlang:trace_info(MFA, call_time),
        erlang:trace(self(), false, [all]),
        Ref = erlang:trace_delivered(self()),
        receive {trace_delivered, _, Ref} -> ok end,
        Tracer ! {self(), seen},
        Seen = receive {seen, Number} -> Number end,
        1 = erlang:trace_pattern(MFA, false, Flags),
        {Made, case {Counted, Timed} of
                   {{call_count, C}, _} when is_integer(C) -> C;
                   {_, {call_time, T}} when is_list(T) -> lists:sum([C || {_, C, _, _} <- T]);
                   _ -> Seen
               end}
    end),
    [Made, Seen].

in_process(F) ->
    Parent = self(),
    {Pid, Ref} = spawn_monitor(fun() -> Parent ! {self(), F()} end),
    receive
        {Pid, Result} -> demonitor(Ref, [flush]), Result;
        {'DOWN', Ref, process, Pid, Why} -> error(Why)
    end.

tracer(Seen) ->
    receive
        {trace, _, call, _} -> tracer(Seen + 1);
        {From, seen} -> From ! {seen, Seen};
        _ -> tracer(Seen)
    end.

%% ---- what the node says of its functions -----------------------------------------------------

functions() ->
    [[text(M), text(F), A, lists:member({F, A}, M:module_info(exports)),
      lists:member({F, A}, M:module_info(nifs)), erlang:is_builtin(M, F, A)]
     || {M, _} <- code:all_loaded(), {F, A} <- M:module_info(functions)].

bifs() -> [[text(M), text(F), A] || {M, F, A} <- erlang:system_info(snifs)].

text(Atom) -> unicode:characters_to_binary(atom_to_list(Atom)).

%% ---- BIFs of guards, called from compiled code ------------------------------------------------

%% [name, arity] of those that it can call with some arguments; a function of module guard_calls for
%% each.
compile_guards() ->
    Found = [{F, A, Args} || {erlang, F, A} <- lists:sort(erlang:system_info(snifs)),
                             A > 0, erl_internal:guard_bif(F, A) orelse operator(F, A),
                             Args <- arguments(F, A)],
    Forms = [{attribute, 1, module, guard_calls}, {attribute, 1, compile, export_all}
             | [form(F, A, I) || {I, {F, A, _}} <- workload:enumerate(Found)]],
    {ok, guard_calls, Code} = compile:forms(Forms, [nowarn_export_all, return_errors]),
    {module, guard_calls} = code:load_binary(guard_calls, "guard_calls.erl", Code),
    persistent_term:put(guard_calls, Found),
    [[text(F), A] || {F, A, _} <- Found].

operator(F, A) ->
    erl_internal:arith_op(F, A) orelse erl_internal:bool_op(F, A) orelse erl_internal:comp_op(F, A).

arguments(F, A) ->
    Some = [[1, 2], 1.5, {1, 2}, <<1, 2, 3>>, #{1 => 2}, true, 1, self()],
    Sets = case A of
               1 -> [[X] || X <- Some];
               2 -> [[X, Y] || Y <- [true, 1, {0, 1}, #{1 => 2}], X <- Some] ++ [[1, {1, 2}]];
               3 -> [[<<1, 2, 3>>, 0, 1]]
           end,
    lists:sublist([Args || Args <- Sets, works(F, Args)], 1).

works(F, Args) -> try apply(erlang, F, Args) of _ -> true catch _:_ -> false end.

form(F, A, I) ->
    Vars = [{var, 1, list_to_atom("V" ++ integer_to_list(K))} || K <- lists:seq(1, A)],
    Call = {call, 1, {remote, 1, {atom, 1, erlang}, {atom, 1, F}}, Vars},
    {function, 1, list_to_atom("f" ++ integer_to_list(I)), A, [{clause, 1, Vars, [], [Call]}]}.

%% Each of them, so many times: by compiled code, or by apply.
guards(How, Times) ->
    N = list_to_integer(Times),
    lists:foreach(
      fun({I, {F, _, Args}}) ->
              Name = list_to_atom("f" ++ integer_to_list(I)),
              case How of
                  "compiled" -> repeat(N, fun(_) -> apply(guard_calls, Name, Args) end);
                  "apply" -> repeat(N, fun(_) -> apply(hide(erlang), F, Args) end)
              end
      end, workload:enumerate(persistent_term:get(guard_calls))),
    N.

%% A module of its own, anew.
version(Number) ->
    Forms = [{attribute, 1, module, versioned}, {attribute, 1, export, [{what, 0}]},
             {function, 1, what, 0, [{clause, 1, [], [], [{integer, 1, list_to_integer(Number)}]}]}],
    {ok, versioned, Code} = compile:forms(Forms, []),
    code:purge(versioned),
    {module, versioned} = code:load_binary(versioned, "versioned.erl", Code),
    (hide(versioned)):what().
