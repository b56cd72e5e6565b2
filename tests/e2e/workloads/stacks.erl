%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Processes with stacks of every kind that stand still: deep and shallow ones, recursion, catches,
%% funs, callbacks of library functions; waiting, suspended, hibernated, on dirty schedulers, in the
%% middle of a BIF, under tracing.  stacks/0 is what the node says of all processes.
-module(stacks).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, all/0, busy/1, woken/1, traced/2, timed/2,
         returned/2]).

%% With "dirty" two processes are for an hour on dirty schedulers, where nothing can end them: for
%% nodes of their own.
processes(Args) -> [{stacks_keeper, Args}].

init(Args) ->
    process_flag(trap_exit, true),
    Self = self(),
    Quiet = [spawn_link(fun() -> Fun(Self) end) || Fun <- kinds()],
    [receive {ready, P} -> ok end || P <- Quiet],
    Busy = [spawn_link(?MODULE, busy, [Kind]) || Kind <- [loop, bif, maps, sort, re, fold]],
    timer:sleep(50),
    [erlang:suspend_process(P) || P <- Busy],
    Tracer = spawn_link(fun drain/0),
    Traced = [spawn_link(?MODULE, F, [Self, 3]) || F <- [traced, timed, returned]],
    trace(Traced, Tracer),
    [P ! go || P <- Traced],
    [receive {ready, P} -> ok end || P <- Traced],
    Dirty = [spawn_link(fun() -> dirty(K) end) || Args =/= [], K <- [dirty_cpu, dirty_io]],
    #{pids => [Tracer | Quiet ++ Busy ++ Traced ++ Dirty]}.

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{pids := Pids}]) ->
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local, call_time]),
    [exit(P, kill) || P <- Pids],
    #{processes => length(Pids)}.

drain() -> receive _ -> drain() end.

kinds() ->
    [fun(S) -> ready(S), receive stop -> ok end end,
     fun(S) -> deep(S, 3), ok end,
     fun(S) -> deep(S, 500), ok end,
     fun(S) -> even(S, 40), ok end,
     fun(S) -> even(S, 4001), ok end,
     fun(S) -> catching(S), ok end,
     fun(S) -> trying(S, #{a => 1}), ok end,
     fun(S) -> [through(S, X) || X <- [1]], ok end,
     fun(S) -> lists:foldl(fun(X, Sum) -> through(S, X) + Sum end, 0, [1]), ok end,
     fun(S) -> maps:fold(fun(K, _, Sum) -> through(S, K) + Sum end, 0, #{1 => 2}), ok end,
     fun(S) -> in_ets(S), ok end,
     fun(S) -> many_registers(S, 1, 2, 3, 4, 5, 6, 7, 8, 9), ok end,
     fun(S) -> ready(S), erlang:hibernate(?MODULE, woken, [S]) end,
     fun(S) -> ready(S), proc_lib:hibernate(?MODULE, woken, [S]) end,
     fun(S) -> ready(S), timer:sleep(infinity) end,
     fun(S) -> ready(S), receive stop -> ok after 3600000 -> ok end end,
     fun(S) -> ready(S), gen_server:enter_loop(?MODULE, [], state) end,
     fun(S) -> ready(S), user_drv_like(<<1, 2, 3>>) end,
     fun(S) -> ready(S), apply(?MODULE, woken, [S]) end].

ready(S) -> S ! {ready, self()}.

woken(_) -> receive stop -> ok end.

wait(S) ->
    ready(S),
    receive stop -> 1 end.

deep(S, 0) -> wait(S);
deep(S, N) -> 1 + deep(S, N - 1).

even(S, 0) -> wait(S);
even(S, N) -> [odd(S, N - 1)].

odd(S, 0) -> wait(S);
odd(S, N) ->
    {even(S, N - 1), N}.

catching(S) ->
    X = (catch wait(S)),
    {X, (catch wait(S))}.

trying(S, Map) ->
    try
        Map#{b => wait(S)}
    catch
        error:_ -> Map
    after
        ok = maps:get(a, Map)
    end.

through(S, X) ->
    Y = X + 1,
    wait(S) + Y.

in_ets(S) ->
    T = ets:new(t, []),
    ets:insert(T, {1}),
    ets:foldl(fun({X}, Sum) -> through(S, X) + Sum end, 0, T).

many_registers(S, A, B, C, D, E, F, G, H, I) ->
    X = [A + 1, B + 2, C + 3],
    Y = wait(S),
    {X, Y, A, B, C, D, E, F, G, H, I}.

user_drv_like(Bin) ->
    <<A, Rest/binary>> = Bin,
    receive
        {A, _} -> user_drv_like(Rest);
        stop when A > 0 -> ok
    end.

busy(loop) -> busy_loop(1, 2.0);
busy(bif) -> bif(lists:seq(1, 200000));
busy(maps) -> maps_loop(maps:from_list([{X, X} || X <- lists:seq(1, 5000)]));
busy(sort) -> sort_loop([erlang:phash2(X) || X <- lists:seq(1, 5000)]);
busy(re) -> re_loop(binary:copy(<<"abcdefgh">>, 10000));
busy(fold) -> lists:foldl(fun(X, S) -> busy_loop(X, S) end, 1.0, [1, 2]).

busy_loop(N, F) -> busy_loop(N + 1, F * 1.0).
bif(L) -> _ = binary_to_term(term_to_binary(L)), bif(L).
maps_loop(M) -> _ = maps:map(fun(_, V) -> V + 1 end, M), maps_loop(M).
sort_loop(L) -> _ = lists:usort(fun(A, B) -> A =< B end, L), sort_loop(L).
re_loop(B) -> _ = re:run(B, <<"x(y|z)+q">>), re_loop(B).

%% Calls that are traced in the three ways that leave something on the stack.
trace([A, B, C], Tracer) ->
    erlang:trace_pattern({?MODULE, traced_in, 2}, [{'_', [], [{return_trace}]}], [local]),
    erlang:trace_pattern({?MODULE, thrown_in, 2}, [{'_', [], [{exception_trace}]}], [local]),
    erlang:trace_pattern({?MODULE, timed_in, 2}, true, [local, call_time]),
    erlang:trace_pattern({?MODULE, returned_in, 2}, true, [local]),
    erlang:trace(A, true, [call, {tracer, Tracer}]),
    erlang:trace(B, true, [call, {tracer, Tracer}]),
    erlang:trace(C, true, [call, return_to, {tracer, Tracer}]).

traced(S, N) -> receive go -> ok end, {traced_in(S, N), ok}.
timed(S, N) -> receive go -> ok end, {timed_in(S, N), ok}.
returned(S, N) -> receive go -> ok end, {returned_in(S, N), ok}.

traced_in(S, 0) -> {thrown_in(S, 2), ok};
traced_in(S, N) -> [traced_in(S, N - 1)].

thrown_in(S, 0) -> {wait(S)};
thrown_in(S, N) -> [thrown_in(S, N - 1)].

timed_in(S, 0) -> {wait(S)};
timed_in(S, N) -> [timed_in(S, N - 1)].

returned_in(S, 0) -> {wait(S)};
returned_in(S, N) -> [returned_in(S, N - 1)].

dirty(Kind) -> {erts_debug:Kind(wait, 3600000), Kind}.

%% Every process: its status, and what it says of its stack, to the node's greatest depth.
all() ->
    Depth = erlang:system_flag(backtrace_depth, 1000),
    All = [one(P) || P <- erlang:processes()],
    erlang:system_flag(backtrace_depth, Depth),
    [A || A <- All, A =/= undefined].

one(P) ->
    case process_info(P, [status, current_stacktrace, current_function, current_location]) of
        undefined ->
            undefined;
        [{_, Status}, {_, Stack}, {_, Function}, {_, Location}] ->
            #{pid => list_to_binary(pid_to_list(P)), status => Status,
              stack => [frame(F) || F <- Stack],
              current_function => mfa(Function), current_location => frame(Location)}
    end.

frame({M, F, A, Where}) ->
    #{mfa => mfa({M, F, A}),
      file => unicode:characters_to_binary(proplists:get_value(file, Where, "")),
      line => proplists:get_value(line, Where, 0)};
frame(undefined) ->
    #{mfa => null}.

mfa({M, F, A}) -> unicode:characters_to_binary(io_lib:format("~tp:~tp/~w", [M, F, A]));
mfa(undefined) -> null.
