%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Processes that follow behaviours, with states that are easily taken for something else, and
%% mailboxes whose contents are known.
%%
%%   node.start("states")             all of them, kept by the process states_keeper
%%   node.ask("states", "pids")       all of them
%%   node.ask("states", "expect", Pid) sys:get_state/1 as Erlang text
%%   node.ask("states", "more", Pid)  what process_info/2 says beyond the zoo's facts
%%   node.ask("states", "fill", N)    the pid of a process with N messages of four shapes
%%   node.ask("states", "loop", N)    the same of a process that runs all the time
%%   node.ask("states", "timers", N)  the pid of a process with timers, N messages among them
%%   node.ask("states", "left", Pid)  how long they still run
%%   node.ask("states", "end_timers") ends both
%%   node.ask("states", "soon", Ms)   the pid of a process whose receive and a message end in Ms
%%   node.ask("states", "weigh", N)   the pid of a process with N messages, and what they take
%%   node.ask("states", "grown", N)   that of a process that has appended to a binary N times, and the
%%                                    bytes of it
%%   node.ask("states", "large", N)   that of a gen_server with a large state, and what it takes
%%   node.ask("states", "task")       that of a Task of Elixir
%%   node.ask("states", "frames")     that of a process with three frames that hold known terms
%%   node.ask("states", "gone")       the pid of a process that was
-module(states).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([weigh/1, grown/1, large/1, parts/1, task/0, frames/0]).
-export([timers/1, soon/1, left/1, suspend/1, resume/1, end_timers/0]).
-export([pids/0, expect/1, more/1, fill/1, loop/1, gone/0, endless/1]).
-export([callback_mode/0, handle_call/3, handle_cast/2, handle_info/2, handle_event/2,
         handle_event/4, whereis_name/1, register_name/2, unregister_name/1, send/2]).

processes(_Args) -> [{states_keeper, keep}].

init(keep) ->
    process_flag(trap_exit, true),
    Pids = servers() ++ statems() ++ events() ++ others(),
    workload:at_rest(Pids),
    persistent_term:put(states_pids, Pids),
    #{pids => Pids};
init({server, hibernate, S}) -> {ok, state(S), hibernate};
init({server, timeout, S}) -> {ok, state(S), 3600000};
init({server, _, S}) -> {ok, state(S)};
init({statem, Action, State, Data}) -> {ok, State, Data, Action};
init({supervisor, 0}) -> {ok, {#{}, []}};
init({supervisor, N}) ->
    {ok, {#{strategy => rest_for_one},
          [#{id => below, type => supervisor,
             start => {supervisor, start_link, [?MODULE, {supervisor, N - 1}]}}]}};
init({handler, S}) -> {ok, S}.

state(self) -> self();
state(S) -> S.

%% What the other registers of the loop hold too: [], pids, atoms, integers, the name, the module.
values() ->
    [[], undefined, infinity, 0, 5000, self, ?MODULE, #{a => 1}, {state, 1, 2}, [{trace, true}],
     <<"binary">>, make_ref(), {callback_cache, 1}, {server_data, x}, "text", gen_server].

servers() ->
    V = lists:zip(lists:seq(1, length(values())), values()),
    [ok_pid(gen_server:start_link(?MODULE, {server, plain, S}, [])) || {_, S} <- V]
        ++ [ok_pid(gen_server:start({local, name(server, N)}, ?MODULE, {server, plain, S}, []))
            || {N, S} <- V]
        ++ [ok_pid(gen_server:start(?MODULE, {server, hibernate, S}, [])) || {_, S} <- V]
        ++ [ok_pid(gen_server:start(?MODULE, {server, timeout, S}, [{hibernate_after, 4000000}]))
            || {_, S} <- V]
        ++ [ok_pid(gen_server:start({global, {a_name, 1}}, ?MODULE, {server, plain, {g, 1}}, [])),
            ok_pid(gen_server:start({via, ?MODULE, via_name}, ?MODULE, {server, plain, via}, [])),
            ok_pid(gen_server:start(?MODULE, {server, plain, traced}, [{debug, [statistics]}]))].

statems() ->
    [ok_pid(gen_statem:start(?MODULE, {statem, A, S, D}, []))
     || {A, S, D} <- [{[], idle, #{}}, {[], {state, 1}, []}, {[{state_timeout, 3600000, x}], a, b},
                      {[hibernate], asleep, {params, 1}}, {[hibernate], x, "data"},
                      {[{{timeout, t}, 3600000, y}], state, {state, {a, b}, 1, 2, 3}}]]
        ++ [postponing(ok_pid(statem_functions:start(A)))
            || A <- [{locked, #{code => 1}, []}, {open, [], [hibernate]},
                     {locked, {open, locked}, [{state_timeout, 3600000, lock}]}]].

postponing(P) -> P ! an_event, P.

events() ->
    [event([{local, name(event, N)}], N) || N <- [0, 1, 2, 5]]
        ++ [event([[{hibernate_after, 1}]], N) || N <- [0, 1]].

event(Args, N) ->
    P = ok_pid(apply(gen_event, start, Args)),
    [ok = gen_event:add_handler(P, {?MODULE, K}, {handler, {N, K}}) || K <- lists:seq(1, N)],
    P.

others() ->
    [ok_pid(supervisor:start_link(?MODULE, {supervisor, N})) || N <- [0, 1, 2]] ++ elixir().

elixir() ->
    %% Compiled if the Elixir that is there runs on this release.
    case code:ensure_loaded('Elixir.MyApp.Worker') of
        {error, _} -> [];
        {module, _} ->
            [ok_pid('Elixir.Agent':start(fun() -> S end))
             || S <- [#{a => 1}, [], nil, self(), <<"agent">>]]
                ++ [ok_pid('Elixir.GenServer':start('Elixir.MyApp.Worker', S, O))
                    || S <- [#{a => 1}, nil, [], self()],
                       O <- [[], [{hibernate_after, 1}]]]
                ++ [ok_pid('Elixir.DynamicSupervisor':start_link([{strategy, one_for_one}])),
                    ok_pid('Elixir.Supervisor':start_link([], [{strategy, one_for_one}]))]
    end.

ok_pid({ok, P}) -> P.

name(Kind, N) -> list_to_atom("states_" ++ atom_to_list(Kind) ++ "_" ++ integer_to_list(N)).

%% A register of processes for {via, states, Name}.
whereis_name(via_name) -> persistent_term:get(states_via, undefined).
register_name(via_name, P) -> persistent_term:put(states_via, P), yes.
unregister_name(_) -> ok.
send(_, _) -> ok.

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{pids := Pids}]) ->
    All = Pids ++ persistent_term:get(states_boxes, []),
    Refs = [monitor(process, P) || P <- All],
    [exit(P, kill) || P <- All],
    [receive {'DOWN', R, process, _, _} -> ok end || R <- Refs],
    [persistent_term:erase(K) || K <- [states_pids, states_boxes, states_via, states_timers]],
    #{processes => length(All)}.

handle_call(_, _, S) -> {reply, ok, S}.
handle_cast(_, S) -> {noreply, S}.
handle_info(_, S) -> {noreply, S}.
callback_mode() -> handle_event_function.
handle_event(_, S) -> {ok, S}.
handle_event(_, _, _, D) -> {keep_state, D}.

%% ---- what the node says -------------------------------------------------------------------

pids() -> [pid(P) || P <- persistent_term:get(states_pids)].

%% Those that hibernate wake up to answer, and must sleep again.
expect(Pid) ->
    State = text(sys:get_state(list_to_pid(Pid))),
    timer:sleep(20),
    State.

more(Text) ->
    P = list_to_pid(Text),
    {_, Binaries} = process_info(P, binary),
    Items = [error_handler, catchlevel, min_heap_size, min_bin_vheap_size, fullsweep_after,
             message_queue_data],
    maps:from_list(
      [{K, value(V)} || {K, V} <- process_info(P, Items)]
      ++ [{stacktrace, [frame(F) || F <- element(2, process_info(P, current_stacktrace))]},
          {gc_info, maps:from_list(element(2, process_info(P, garbage_collection_info)))},
          {max_heap_size, element(2, process_info(P, max_heap_size))},
          {binaries, [[A, S, C] || {A, S, C} <- Binaries]}]).

value(V) when is_integer(V) -> V;
value(V) -> text(V).

frame({M, F, A, Where}) ->
    #{mfa => text_of("~tp:~tp/~w", [M, F, A]),
      file => case lists:keyfind(file, 1, Where) of
                  {_, File} -> unicode:characters_to_binary(File);
                  false -> null
              end,
      line => proplists:get_value(line, Where, null)}.

fill(N) -> pid(full(fun() -> receive never -> ok end end, list_to_integer(N))).
loop(N) -> pid(full(fun() -> endless(0) end, list_to_integer(N))).

%% Each tenth message is a call, each fifth of the rest a cast, and so on: see cases_inspect.py.
full(Fun, N) ->
    P = spawn(Fun),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    [P ! message(K rem 10, K) || K <- lists:seq(1, N)],
    P.

message(0, K) -> {'$gen_call', {self(), K}, {get, <<"key">>}};
message(R, K) when R < 5 -> {'$gen_cast', {log, K, [K]}};
message(5, K) -> K;
message(_, K) -> {data, binary:copy(<<K:64>>, 10), #{k => K}}.

endless(N) -> endless((N + 1) band 16#ffffff).

%% Timers of both kinds and of all lengths, to its pid and to its name; some that are cancelled, and
%% some of other processes.  The wheel of timers holds those of up to 37 hours, a tree the others.
timers(N) ->
    Self = self(),
    P = spawn(fun() -> register(states_timed, self()), Self ! ready,
                       receive never -> ok after 3600000 -> ok end end),
    receive ready -> ok end,
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    Sent = [start_timer(K, P) || K <- lists:seq(1, list_to_integer(N))],
    Named = [start_timer(K, states_timed) || K <- lists:seq(1, 20)],
    [erlang:cancel_timer(R) || {R, _} <- [start_timer(K, P) || K <- lists:seq(1, 20)]],
    [start_timer(K, code_server) || K <- [11, 13]],
    persistent_term:put(states_timers, {P, Sent, Named}),
    pid(P).

soon(Ms) ->
    Time = list_to_integer(Ms),
    P = spawn(fun() -> receive never -> ok after Time -> ok end end),
    erlang:send_after(Time, P, never),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    pid(P).

start_timer(K, To) ->
    Time = 3600000 + case K rem 3 of 0 -> K; 1 -> 1000 * K; 2 -> 200000000 + K end,
    case K rem 2 of
        0 -> M = {after_, K, "text"}, {erlang:send_after(Time, To, M), M};
        1 -> R = erlang:start_timer(Time, To, K), {R, {timeout, R, K}}
    end.

left(_) ->
    {P, Sent, Named} = persistent_term:get(states_timers),
    Left = fun({R, M}, To) -> [text(R), text(M), text(To), erlang:read_timer(R)] end,
    #{timers => [Left(T, P) || T <- Sent] ++ [Left(T, states_timed) || T <- Named]}.

suspend(Pid) -> erlang:suspend_process(list_to_pid(Pid)).
resume(Pid) -> erlang:resume_process(list_to_pid(Pid)).

end_timers() ->
    {P, _, Named} = persistent_term:get(states_timers),
    [erlang:cancel_timer(T) || {T, _} <- Named], % who has that name next would get them
    R = monitor(process, P),
    exit(P, kill),
    receive {'DOWN', R, process, _, _} -> text(killed) end.

%% A process whose messages lie outside its heap, and what they add to its memory.
weigh(N) ->
    P = spawn_opt(fun() -> receive never -> ok end end, [{message_queue_data, off_heap}]),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    {_, Before} = process_info(P, memory),
    [P ! message(K rem 10, K) || K <- lists:seq(1, list_to_integer(N))],
    {_, After} = process_info(P, memory),
    #{pid => pid(P), bytes => After - Before}.

%% The VM keeps what is appended to apart from other binaries.
grown(N) ->
    Self = self(),
    P = spawn(fun() -> B = append(<<>>, list_to_integer(N)), Self ! {grown, byte_size(B)},
                       receive never -> B end end),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    receive {grown, Bytes} -> #{pid => pid(P), bytes => Bytes} end.

append(B, 0) -> B;
append(B, N) -> append(<<B/binary, "a line of a report that is put together\n">>, N - 1).

%% A gen_server with that state, and the words that the state takes.
large(N) ->
    State = [{K, integer_to_list(K)} || K <- lists:seq(1, list_to_integer(N))],
    P = ok_pid(gen_server:start(?MODULE, {server, plain, State}, [])),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    #{pid => pid(P), words => erts_debug:flat_size(State)}.

%% A process that holds N binaries of which each is a part of another one, and nothing else.
parts(N) ->
    Length = list_to_integer(N),
    P = spawn(fun() ->
                      Parts = [binary:part(binary:copy(<<I>>, 1000), 100, 100) || I <- lists:seq(1, Length)],
                      garbage_collect(),
                      receive stop -> Parts end
              end),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    workload:at_rest([P]),
    pid(P).

%% A Task of Elixir.
task() ->
    P = ok_pid('Elixir.Task':start(fun() -> receive never -> ok end end)),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    workload:at_rest([P]),
    pid(P).

%% A process that waits in a function with known Y registers: frames/3, the deepest last.
frames() ->
    Self = self(),
    P = spawn(fun() -> frame(outer, #{a => 1}, Self) end),
    persistent_term:put(states_boxes, [P | persistent_term:get(states_boxes, [])]),
    receive ready -> ok end,
    workload:at_rest([P]),
    pid(P).

frame(outer, Map, Self) -> R = frame(inner, {x, 1.5}, Self), {R, Map};
frame(inner, Tuple, Self) -> R = frame(waits, "text", Self), {R, Tuple};
frame(waits, Text, Self) -> Self ! ready, receive never -> Text end.

gone() ->
    {P, R} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', R, process, P, _} -> pid(P) end.

pid(P) -> list_to_binary(pid_to_list(P)).
text(Term) -> text_of("~0tp", [Term]).
text_of(Format, Args) -> unicode:characters_to_binary(io_lib:format(Format, Args)).
