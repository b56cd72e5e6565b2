%% SPDX-License-Identifier: BSD-2-Clause
%% Calls of functions that are traced, and what the tracing of the node itself says of them.
-module(traced).
-export([reload/0, warm/1, run/2, reported/2, inserts/1, spin/0, step/1, spin_bif/0]).
-export([hop/1, plain/2, rec/1, tail/2, boom/1, deep/1, doze/1, forever/1]).
-export([spin_echo/0, echo/1, spin_hops/0, hopping/1, spin_throw/0, throws/1, naps/1, nap/1]).
-export([slow_inserts/1]).
-export([sleeper/1, fails/1, traps/1, pauses/1, pause/1]).
-export([stacks/2, spot/1, call/2, first/0, afar/1, applies/1, larges/0, large/2]).

plain(A, B) -> {A, [B], <<"a binary">>}.

%% Not last: a frame each.
rec(0) -> [];
rec(N) -> [N | rec(N - 1)].

tail(0, Acc) -> lists:reverse(Acc);
tail(N, Acc) -> tail(N - 1, [N | Acc]).

%% Returns on another scheduler than it was called on.
hop(N) ->
    process_flag(scheduler, 1 + N rem 2),
    erlang:yield(),
    N.

boom(N) ->
    case N rem 4 of
        0 -> error({oops, N});
        1 -> exit({bye, N});
        2 -> throw({ball, N});
        3 -> N
    end.

%% Raises out of a call that was made by itself.
deep(0) -> error(bottom);
deep(N) -> {ok, deep(N - 1)}.

%% Hibernates, and keeps its stack (OTP 28).
doze(N) ->
    self() ! go,
    erlang:hibernate(),
    receive go -> N end.

%% Until its process is killed.
forever(waits) -> receive never -> ok end;
forever(spins) -> receive never -> ok after 0 -> spins(0) end.

spins(N) -> spins(N + 1).

%% Each once, by the module itself and as another module would.
first() ->
    {P, R} = spawn_monitor(fun() -> exit({near(1), ?MODULE:afar(2)}) end),
    receive {'DOWN', R, process, P, {{near, 1}, [2 | far]}} -> #{pid => text(P)} end.

near(X) -> {near, X}.
afar(X) -> [X | far].

calls(none, _) -> [];
calls(hop, N) -> [hop(X) || X <- lists:seq(1, N)];
%% One call that makes all the others.
calls(down, N) -> rec(N);
calls(plain, N) -> [plain(X, terms(X)) || X <- lists:seq(1, N)];
%% By a place that any function may be called from.
calls(applied, N) ->
    F = list_to_existing_atom("echo"),
    [?MODULE:F(X) || X <- lists:seq(1, N)];
calls(rec, N) -> [rec(X rem 5) || X <- lists:seq(1, N)];
calls(tail, N) -> [tail(X rem 5, []) || X <- lists:seq(1, N)];
calls(doze, N) -> [doze(X) || X <- lists:seq(1, N)];
calls(boom, N) -> [try boom(X) catch _:_ -> caught end || X <- lists:seq(1, N)];
calls(deep, N) -> [try deep(X rem 4) catch _:_ -> caught end || X <- lists:seq(1, N)];
calls(killed, N) ->
    timer:kill_after(200),
    [forever(lists:nth(N, [waits, spins])), never];
%% As many at a time as there are schedulers, each of which has one to itself.
calls(wide, N) ->
    All = [spawn_opt(fun() -> [plain(X, []) || X <- lists:seq(1, N)] end, [monitor, {scheduler, S}])
           || S <- lists:seq(1, erlang:system_info(schedulers))],
    [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- All];
%% Four at a time, each of which is pushed out all the while.
calls(many, N) ->
    All = [spawn_monitor(fun() -> [plain(X, []) || X <- lists:seq(1, N div 4)] end)
           || _ <- lists:seq(1, 4)],
    [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- All].

%% ---- callers --------------------------------------------------------------------------------

%% Calls of something by a process of its own, from all kinds of places, and what the node itself
%% says of the callers of each, the last one first.
stacks(Kind, Times) ->
    K = list_to_atom(Kind),
    ets:new(?MODULE, [named_table, public]),
    Old = erlang:system_flag(backtrace_depth, 64),
    {P, R} = spawn_monitor(
               fun() ->
                       put(callers, []),
                       [way(X rem 10, X, K) || X <- lists:seq(1, list_to_integer(Times))],
                       exit({said, lists:reverse(get(callers))})
               end),
    Callers = receive {'DOWN', R, process, P, {said, Said}} -> Said end,
    erlang:system_flag(backtrace_depth, Old),
    ets:delete(?MODULE),
    #{pid => text(P), stacks => [[frame(F) || F <- S] || S <- Callers]}.

frame({M, F, A, Where}) ->
    [text(io_lib:format("~w:~w/~w", [M, F, A]), s), proplists:get_value(line, Where, null)].

say(Callers) -> put(callers, [Callers | get(callers)]).

spot(X) ->
    {_, [_ | Callers]} = process_info(self(), current_stacktrace),
    say(Callers),
    X.

%% C functions cannot say it: who calls them does, in the same line.
call(spot, X) ->
    spot(X);
call(bif, X) ->
    {true, {_, S}} = {ets:insert(?MODULE, {X}), process_info(self(), current_stacktrace)},
    say(S);
call(nif, X) ->
    Z = zlib:open(),
    {ok, {_, S}} = {zlib:deflateInit(Z, X rem 9), process_info(self(), current_stacktrace)},
    zlib:close(Z),
    say(S);
call(dirty, _) ->
    {{ok, _}, {_, S}} = {prim_file:read_file_info("/"), process_info(self(), current_stacktrace)},
    say(S).

way(0, X, K) -> {call(K, X)};
way(1, X, K) -> lists:map(fun(Y) -> call(K, Y) end, [X]);
way(2, X, K) -> down(X rem 7, X, K);
way(3, X, K) -> [apply(?MODULE, call, [K, X])];
way(4, X, K) -> try call(K, X) of _ -> ok catch _:_ -> caught after ok end;
way(5, X, K) -> even(20, X, K);
way(6, X, K) -> {last(3, X, K)};
way(7, X, K) -> maps:fold(fun(Y, _, Sum) -> [call(K, Y) | Sum] end, [], #{X => 1});
way(8, X, K) -> even(100, X, K);
way(9, X, K) -> F = fun Me(0) -> call(K, X); Me(N) -> [Me(N - 1)] end, [F(3)].

down(0, X, K) -> call(K, X);
down(N, X, K) -> [down(N - 1, X, K)].

even(0, X, K) -> call(K, X);
even(N, X, K) -> [odd(N - 1, X, K)].

odd(N, X, K) -> {even(N - 1, X, K)}.

last(0, X, K) -> call(K, X);
last(N, X, K) -> last(N - 1, X, K).

inserts(Times) ->
    T = ets:new(traced, [public]),
    [insert(T, N) || N <- lists:seq(1, list_to_integer(Times))],
    ets:delete(T),
    <<"ok">>.

%% As few a second as a node does that has nothing else to do.
slow_inserts(Times) ->
    T = ets:new(traced, [public]),
    [begin insert(T, N), timer:sleep(3) end || N <- lists:seq(1, list_to_integer(Times))],
    ets:delete(T),
    <<"ok">>.

insert(T, N) ->
    true = ets:insert(T, {key, N}),
    N.

%% The same code again, at another place.
reload() ->
    {?MODULE, Code, File} = code:get_object_code(?MODULE),
    code:purge(?MODULE),
    {module, ?MODULE} = code:load_binary(?MODULE, File, Code),
    <<"ok">>.

%% At full speed, for ever.
spin() ->
    spawn(fun() -> step(0) end),
    <<"ok">>.

step(N) -> ?MODULE:step(N + 1).

%% The same with a function that is C.
spin_bif() ->
    spawn(fun() -> hash(<<"bytes">>) end),
    <<"ok">>.

hash(Bytes) ->
    erlang:md5(Bytes),
    hash(Bytes).

%% For ever: what returns.
spin_echo() ->
    spawn(fun() -> echoes(0) end),
    <<"ok">>.

echoes(N) ->
    {r, N} = ?MODULE:echo(N),
    echoes(N + 1).

echo(N) -> {r, N}.

%% More processes than schedulers, which leave theirs in each other call and come back on any.
spin_hops() ->
    [spawn(fun() -> hops(0) end) || _ <- lists:seq(1, 12)],
    <<"ok">>.

hops(N) ->
    {r, N} = ?MODULE:hopping(N),
    hops(N + 1).

hopping(N) when N rem 2 =:= 0 -> {r, N};
hopping(N) ->
    erlang:yield(),
    {r, N}.

%% What raises each other time.
spin_throw() ->
    spawn(fun() -> all_throw(0) end),
    <<"ok">>.

all_throw(N) ->
    try ?MODULE:throws(N) catch _:_ -> caught end,
    all_throw(N + 1).

throws(N) when N rem 2 =:= 0 -> throw({ball, N});
throws(N) -> {ok, N}.

%% Calls that end by giving up the stack, each from the same place and height; the last one returns.
naps(Times) ->
    by_itself(fun() -> sleeper(list_to_integer(Times)) end).

sleeper(N) -> {?MODULE:nap(N), slept}.

nap(0) -> awake;
nap(N) ->
    self() ! go,
    erlang:hibernate(?MODULE, sleeper, [N - 1]).

%% Every tenth call takes 30 ms or more.
pauses(Times) ->
    by_itself(fun() -> [{?MODULE:pause(X)} || X <- lists:seq(1, list_to_integer(Times))] end).

pause(N) when N rem 10 =:= 0 -> timer:sleep(250), {paused, N};
pause(N) -> N.

fails(Times) ->
    by_itself(fun() -> [catch ets:lookup(nosuch, X) || X <- lists:seq(1, list_to_integer(Times))] end).

%% Large ones give way to others in between, small ones do not.
traps(Times) ->
    Large = lists:duplicate(1000, lists:duplicate(1000, $x)),
    by_itself(fun() -> [{list_to_binary(Large), list_to_binary(lists:duplicate(5, $s))}
                        || _ <- lists:seq(1, list_to_integer(Times))] end).

%% A BIF by a name that is known only then, and what a process begins with.
applies(Times) ->
    [applier(md5) || _ <- lists:seq(1, list_to_integer(Times))],
    {P, R} = spawn_monitor(?MODULE, large, [begins, 1]),
    receive {'DOWN', R, process, P, _} -> <<"ok">> end.

applier(Name) -> {erlang:Name(<<"bytes">>)}.

larges() ->
    by_itself(fun() -> [large(S, binary:copy(<<"x">>, S)) || S <- [1000, 3000, 1000000]] end).

large(S, B) -> {S, B}.

by_itself(Fun) ->
    {P, R} = spawn_monitor(Fun),
    receive {'DOWN', R, process, P, _} -> #{pid => text(P)} end.

terms(X) ->
    lists:nth(1 + X rem 8, [X, {ok, X}, [X, X + 1], "text", #{key => X, other => {X}}, 1.5 * X,
                            <<X:32, "bytes">>, X bsl 100]).

%% The same calls, by a process of its own, that nobody compares.
warm(Kind) ->
    {P, R} = spawn_monitor(fun() -> calls(list_to_atom(Kind), 8) end),
    receive {'DOWN', R, process, P, _} -> <<"ok">> end.

%% All calls are made by one process: its pid.
run(Kind, Times) ->
    made(fun(_) -> ok end, list_to_atom(Kind), list_to_integer(Times)).

made(Before, Kind, N) ->
    {P, R} = spawn_monitor(fun() -> receive go -> calls(Kind, N) end end),
    Before(P),
    P ! go,
    receive {'DOWN', R, process, P, _} -> #{pid => text(P)} end.

%% With what the node's own tracer says of them, in order.
reported(Kind, Times) ->
    Tracer = spawn(fun() -> collect([]) end),
    MS = [{'_', [], [{exception_trace}]}],
    made(fun(P) ->
                 erlang:trace(P, true, [call, {tracer, Tracer}]),
                 [erlang:trace_pattern({?MODULE, F, '_'}, MS, [local])
                  || F <- [hop, plain, rec, tail, boom, deep, doze]]
         end, list_to_atom(Kind), list_to_integer(Times)),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    D = erlang:trace_delivered(all),
    receive {trace_delivered, all, D} -> ok end,
    Tracer ! {done, self()},
    receive {lines, Pid, Lines} -> #{pid => text(Pid), lines => Lines} end.

collect(Acc) ->
    receive
        {trace, P, call, {M, F, A}} ->
            collect([{P, #{kind => call, mfa => mfa(M, F, length(A)), terms => [text(T) || T <- A]}}
                     | Acc]);
        {trace, P, return_from, {M, F, A}, R} ->
            collect([{P, #{kind => return, mfa => mfa(M, F, A), terms => [text(R)]}} | Acc]);
        {trace, P, exception_from, {M, F, A}, {C, R}} ->
            collect([{P, #{kind => exception, mfa => mfa(M, F, A), terms => [text(C), text(R)]}}
                     | Acc]);
        {done, To} ->
            [{P, _} | _] = Acc,
            To ! {lines, P, [L || {_, L} <- lists:reverse(Acc)]}
    end.

mfa(M, F, A) -> text(io_lib:format("~s:~s/~w", [M, F, A]), s).

text(T) -> text(io_lib:format("~0tp", [T]), s).
text(T, s) -> unicode:characters_to_binary(T).
