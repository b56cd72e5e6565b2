%% SPDX-License-Identifier: BSD-2-Clause
%%
%% About 300 processes of every kind, which stand still once they are there, so that each answer of
%% the node about them stays true.
%%
%%   node.start("zoo")              all kinds, kept by the process zoo_keeper
%%   node.ask("zoo", "facts")       what process_info/2 says of every process of the node: a map for
%%                                  each, terms as Erlang text (io_lib:format("~0tp")), pids as text
%%   node.ask("zoo", "facts", Pid)  of one, "<0.80.0>" or a registered name; null if there is none
%%   node.ask("zoo", "rows")        of every process what `ebeam ps` says of it, by its JSON fields
%%   node.ask("zoo", "kinds")       {KIND: [PID...]} of what the zoo started, in order
%%   node.ask("zoo", "children")    {SUPERVISOR: [PID...]} of zoo_top_sup and what is below it
%%   node.ask("zoo", "spin", N)     starts N processes that run all the time; node.stop ends them
%%   node.ask("zoo", "crowd", N)    starts N processes more that only wait
%%   node.ask("zoo", "pulse", N)    starts N processes more that run every 50 ms
%%   node.ask("zoo", "throng", N)   starts processes of many kinds until there are N in the node
%%   node.ask("zoo", "churn", N)    starts N processes that start others, as fast as they can, which
%%                                  link, monitor, are sent messages, and die
%%   node.ask("zoo", "rest")        ends spinners, crowd, throng and churners
%%   node.stop("zoo")               ends it all
%%
%% A kind is a clause of kind/3: what N of it do.  It calls ready(Keeper) when it stands as it is
%% to stay.
-module(zoo).
-behaviour(workload).
-behaviour(gen_server).
-export([processes/1, init/1, step/1, report/1]).
-export([facts/0, facts/1, rows/0, kinds/0, children/0, spin/1, crowd/1, pulse/1, throng/1, churn/1, rest/0]).
-export([callback_mode/0, handle_call/3, handle_cast/2, handle_info/2, handle_event/2,
         handle_event/4, supervised/1, asleep/2, spinner/1, one_of_crowd/0, one_of_pulse/0, churner/0, brief/1]).

-define(EACH, 10).

%% ---- the workload -------------------------------------------------------------------------

processes(_Args) -> [{zoo_keeper, keep}].

%% init/1 of the workload, and of the behaviours below.
init(keep) ->
    process_flag(trap_exit, true),
    Started = [{Kind, [start(Kind, N) || N <- lists:seq(1, count(Kind))]} || Kind <- all_kinds()],
    persistent_term:put(zoo_kinds, Started),
    timer:sleep(100),
    [erlang:suspend_process(P) || P <- proplists:get_value(suspended, Started)],
    #{started => Started};
init({server, N}) -> process_flag(trap_exit, N rem 2 =:= 0), {ok, {state, N, <<"server">>}};
init({statem, N}) -> {ok, idle, #{number => N}};
init({event, N}) -> {ok, [N]};
init({supervisor, N}) ->
    {ok, {#{strategy => one_for_one},
          [#{id => {child, K}, start => {?MODULE, supervised, [{N, K}]}} || K <- [1, 2]]
          ++ [#{id => below, type => supervisor,
                start => {supervisor, start_link, [?MODULE, {supervisor, N - 1}]}} || N > 1]}}.

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{started := Started}]) ->
    rest(),
    Pids = [P || {_, Ps} <- Started, P <- Ps],
    Refs = [monitor(process, P) || P <- Pids],
    [exit(P, kill) || P <- Pids],
    [receive {'DOWN', R, process, _, _} -> ok end || R <- Refs],
    persistent_term:erase(zoo_kinds),
    #{processes => length(Pids)}.

count(supervisor) -> 1;
count(dirty) -> 1;
count(long_queue) -> 1;
count(aliases) -> 4;
count(statem) -> 4;
count(event) -> 4;
count(many_links) -> 1;
count(huge_dictionary) -> 1;
count(_) -> ?EACH.

all_kinds() ->
    [waiting, waiting_timeout, registered, labelled, server, statem, event, supervisor, trapping,
     linked, many_links, monitoring, monitoring_name, monitoring_tag, time_offset, aliases, calling,
     dictionary, huge_dictionary, big_heap, old_heap, deep, messages, collected, long_queue,
     off_heap_queue, selective, big_messages, binaries, sub_binaries, hibernating, suspended, prioritised,
     other_leader, heap_options, timers, registered_timeout, arguments, many_registers, dirty, maps].

start(server, N) -> element(2, {ok, _} = gen_server:start(?MODULE, {server, N}, []));
start(statem, N) -> element(2, {ok, _} = gen_statem:start(?MODULE, {statem, N}, []));
start(event, N) ->
    {ok, P} = gen_event:start({local, name(event, N)}),
    ok = gen_event:add_handler(P, ?MODULE, {event, N}),
    P;
start(supervisor, _) ->
    {ok, P} = supervisor:start_link({local, zoo_top_sup}, ?MODULE, {supervisor, 3}),
    P;
start(heap_options, N) ->
    Keeper = self(),
    ready_from(spawn_opt(fun() -> ready(Keeper), forever() end,
                         [{min_heap_size, 233 * N}, {min_bin_vheap_size, 100000},
                          {fullsweep_after, N},
                          {max_heap_size, #{size => 10000000, kill => true,
                                            error_logger => false}}]));
start(off_heap_queue, N) ->
    Keeper = self(),
    fill(ready_from(spawn_opt(fun() -> kind(waiting, N, Keeper) end,
                              [{message_queue_data, off_heap}])), N);
start(Kind, N) when Kind =:= messages; Kind =:= selective; Kind =:= hibernating ->
    fill(ready_from(spawn_kind(Kind, N)), N);
start(long_queue, N) ->
    P = ready_from(spawn_kind(waiting, N)),
    [P ! {number, K, [K]} || K <- lists:seq(1, 2000)],
    P;
start(collected, N) ->
    P = fill(ready_from(spawn_kind(waiting, N)), N),
    erlang:garbage_collect(P),
    P;
start(big_messages, N) ->
    P = ready_from(spawn_kind(waiting, N)),
    [P ! {lists:seq(1, 100 * K), binary:copy(<<"b">>, 50 * K)} || K <- lists:seq(1, N)],
    P;
start(dirty, N) -> spawn_kind(dirty, N);
start(Kind, N) -> ready_from(spawn_kind(Kind, N)).

spawn_kind(Kind, N) ->
    Keeper = self(),
    spawn(fun() -> kind(Kind, N, Keeper) end).

ready(Keeper) -> Keeper ! {ready, self()}.
ready_from(P) -> receive {ready, P} -> P after 5000 -> exit({not_ready, P}) end.

fill(P, N) ->
    [P ! M || M <- lists:sublist([an_atom, 42, {tuple, 1}, "list", <<"binary">>,
                                  binary:copy(<<0>>, 100), #{map => 1}, make_ref(), self(),
                                  1 bsl 70, 1.5, fun() -> P end], 1 + N)],
    P.

name(Kind, N) -> list_to_atom("zoo_" ++ atom_to_list(Kind) ++ "_" ++ integer_to_list(N)).

forever() -> receive {never, _, _, _} -> ok end.

%% ---- the kinds ----------------------------------------------------------------------------

kind(waiting, _, K) -> ready(K), forever();
kind(waiting_timeout, N, K) ->
    ready(K),
    receive {never, _} -> ok after 3600000 + N -> ok end;
kind(registered, N, K) -> register(name(registered, N), self()), ready(K), forever();
kind(registered_timeout, N, K) ->
    register(list_to_atom("Elixir.Zoo.R" ++ integer_to_list(N)), self()),
    ready(K),
    receive {never, _} -> ok after 3600000 -> ok end;
kind(labelled, N, K) ->
    %% proc_lib:set_label/1 of OTP 27 and later does just this.
    put('$process_label', case N rem 4 of
                              0 -> {connection, N};
                              1 -> "a label";
                              2 -> <<"a binary label">>;
                              3 -> a_label
                          end),
    ready(K),
    forever();
kind(trapping, _, K) -> process_flag(trap_exit, true), ready(K), forever();
kind(linked, N, K) ->
    Others = [spawn_link(fun forever/0) || _ <- lists:seq(1, N)],
    ready(K),
    receive {never, _} -> Others end;
kind(many_links, _, K) ->
    Others = [spawn_link(fun forever/0) || _ <- lists:seq(1, 40)],
    [unlink(P) || {P, I} <- lists:zip(Others, lists:seq(1, 40)), I > 30],
    ready(K),
    receive {never, _} -> Others end;
kind(monitoring, N, K) ->
    [monitor(process, init) || _ <- lists:seq(1, N)],
    [monitor(process, K) || _ <- lists:seq(1, N)],
    monitor(port, hd(erlang:ports())),
    ready(K),
    forever();
kind(monitoring_name, N, K) ->
    [monitor(process, code_server) || _ <- lists:seq(1, N)],
    [monitor(process, {logger, node()}) || _ <- lists:seq(1, N)],
    ready(K),
    forever();
kind(monitoring_tag, N, K) ->
    [erlang:monitor(process, K, [{tag, {a_tag, N}}, {alias, demonitor}]) || _ <- lists:seq(1, N)],
    ready(K),
    forever();
kind(time_offset, _, K) -> erlang:monitor(time_offset, clock_service), ready(K), forever();
kind(aliases, N, K) -> [alias() || _ <- lists:seq(1, N)], ready(K), forever();
kind(calling, _, K) ->
    Silent = spawn_link(fun forever/0),
    ready(K),
    gen_server:call(Silent, no_answer, infinity);
kind(dictionary, N, K) ->
    [put({key, I}, lists:seq(1, I)) || I <- lists:seq(1, N * N)],
    ready(K),
    forever();
kind(huge_dictionary, _, K) ->
    [put(I, I) || I <- lists:seq(1, 5000)],
    [erase(I) || I <- lists:seq(1, 2000)],
    ready(K),
    forever();
kind(big_heap, N, K) ->
    L = lists:seq(1, 10000 * N),
    ready(K),
    receive {never, _} -> L end;
kind(old_heap, N, K) ->
    L = lists:seq(1, 1000 * N),
    erlang:garbage_collect(self(), [{type, minor}]),
    erlang:garbage_collect(self(), [{type, minor}]),
    ready(K),
    receive {never, _} -> L end;
kind(deep, N, K) -> descend(100 * N, K);
kind(messages, _, K) -> ready(K), forever();
kind(selective, _, K) ->
    ready(K),
    receive {wanted, X} -> X end;
kind(binaries, N, K) ->
    Bs = [binary:copy(<<I>>, 1000) || I <- lists:seq(1, N)],
    ready(K),
    receive {never, _} -> Bs end;
kind(sub_binaries, N, K) ->
    B = binary:copy(<<N>>, 100000),
    Subs = [binary:part(B, I, 100) || I <- lists:seq(1, N)],
    ready(K),
    receive {never, _} -> Subs end;
kind(hibernating, N, K) -> ready(K), erlang:hibernate(?MODULE, asleep, [N, "argument"]);
kind(suspended, _, K) -> ready(K), forever();
kind(prioritised, N, K) ->
    process_flag(priority, lists:nth(N rem 3 + 1, [low, normal, high])),
    ready(K),
    forever();
kind(other_leader, _, K) -> group_leader(self(), self()), ready(K), forever();
kind(timers, N, K) ->
    [erlang:send_after(3600000, self(), tick) || _ <- lists:seq(1, N)],
    [erlang:start_timer(3600000, K, tock) || _ <- lists:seq(1, N)],
    ready(K),
    forever();
kind(arguments, N, K) -> ready(K), with_arguments(N, K, a, b, c, d, e, f, g, h);
kind(many_registers, N, K) ->
    ready(K),
    spin_in_bif(N);
kind(dirty, _, _) -> dirty();
kind(maps, N, K) ->
    Small = maps:from_list([{I, I} || I <- lists:seq(1, N)]),
    Large = maps:from_list([{{k, I}, I} || I <- lists:seq(1, 100 * N)]),
    ready(K),
    receive {never, _} -> {Small, Large} end.

descend(0, K) -> ready(K), forever();
descend(N, K) -> [N | descend(N - 1, K)].

with_arguments(N, K, A, B, C, D, E, F, G, H) ->
    receive {never, X} -> with_arguments(X, K, A, B, C, D, E, F, G, H), {N, A} end.

spin_in_bif(_) -> receive after infinity -> ok end.

%% On a dirty scheduler.
dirty() -> erts_debug:dirty_io(wait, 3600000), forever().

asleep(_, _) -> forever().

supervised(Arg) -> gen_server:start_link(?MODULE, {server, element(1, Arg)}, []).

handle_call(_, _, S) -> {reply, ok, S}.
handle_cast(_, S) -> {noreply, S}.
handle_info(_, S) -> {noreply, S}.
handle_event(_, S) -> {ok, S}.
callback_mode() -> handle_event_function.
handle_event(_, _, _, D) -> {keep_state, D}.

%% ---- those that move ----------------------------------------------------------------------

spin(N) -> start_many(zoo_spinners, N, fun(I) -> spawn(?MODULE, spinner, [I]) end).
crowd(N) -> start_many(zoo_crowd, N, fun(_) -> spawn(?MODULE, one_of_crowd, []) end).
pulse(N) -> start_many(zoo_pulse, N, fun(_) -> spawn(?MODULE, one_of_pulse, []) end).
churn(N) -> start_many(zoo_churners, N, fun(_) -> spawn(?MODULE, churner, []) end).

throng(N) ->
    Pids = throng(list_to_integer(N), 1, []),
    persistent_term:put(zoo_throng, Pids ++ persistent_term:get(zoo_throng, [])),
    length(Pids).

throng(Wanted, I, Pids) ->
    Kinds = throng_kinds(),
    case erlang:system_info(process_count) < Wanted of
        true ->
            Kind = lists:nth(I rem length(Kinds) + 1, Kinds),
            throng(Wanted, I + 1, [start(Kind, I rem ?EACH + 1) | Pids]);
        false -> Pids
    end.

throng_kinds() ->
    [waiting, waiting_timeout, labelled, server, trapping, linked, monitoring, monitoring_name,
     monitoring_tag, time_offset, aliases, calling, dictionary, old_heap, deep, messages, collected,
     off_heap_queue, selective, binaries, hibernating, prioritised, other_leader, heap_options,
     timers, arguments, maps].

start_many(Key, N, Start) ->
    Pids = [Start(I) || I <- lists:seq(1, list_to_integer(N))],
    persistent_term:put(Key, Pids ++ persistent_term:get(Key, [])),
    [pid(P) || P <- lists:sublist(Pids, 10)].

rest() ->
    Kill = fun(Key) ->
                   Pids = persistent_term:get(Key, []),
                   [exit(P, kill) || P <- Pids],
                   persistent_term:erase(Key),
                   length(Pids)
           end,
    lists:sum([Kill(K) || K <- [zoo_spinners, zoo_crowd, zoo_pulse, zoo_throng, zoo_churners]]).

spinner(N) -> spinner((N * 69069 + 1) band 16#ffffffff).

one_of_crowd() -> receive never -> ok end.
one_of_pulse() -> receive never -> ok after 50 -> one_of_pulse() end.

churner() ->
    Me = self(),
    Pids = [spawn(?MODULE, brief, [Me]) || _ <- lists:seq(1, 20)],
    [begin P ! {message, lists:seq(1, 20)}, monitor(process, P), link(P) end || P <- Pids],
    [P ! go || P <- Pids],
    flush(),
    churner().

brief(Parent) ->
    put('$initial_call', {?MODULE, brief, 1}),
    put('$ancestors', [Parent]),
    process_flag(trap_exit, true),
    receive go -> ok after 1000 -> ok end,
    _ = lists:reverse(lists:seq(1, 500)),
    exit(normal).

flush() -> receive _ -> flush() after 0 -> ok end.

%% ---- what the node says -------------------------------------------------------------------

kinds() -> maps:from_list([{K, [pid(P) || P <- Ps]}
                           || {K, Ps} <- persistent_term:get(zoo_kinds, [])]).

facts() -> [F || P <- erlang:processes(), F <- [of_pid(P)], F =/= null].

facts("<" ++ _ = Text) -> of_pid(list_to_pid(Text));
facts(Name) ->
    case whereis(list_to_atom(Name)) of
        P when is_pid(P) -> of_pid(P);
        _ -> null
    end.

children() -> maps:from_list(children(whereis(zoo_top_sup))).

children(Sup) ->
    Children = supervisor:which_children(Sup),
    [{pid(Sup), [pid(P) || {_, P, _, _} <- Children]}
     | lists:append([children(P) || {_, P, supervisor, _} <- Children])].

rows() -> [R || P <- erlang:processes(), R <- [row(P)], R =/= null].

row(P) ->
    Items = [registered_name, initial_call, current_function, current_location, status, reductions,
             message_queue_len, memory, total_heap_size, heap_size, stack_size, links, monitors,
             group_leader, priority, trap_exit | parent()],
    case process_info(P, [dictionary | Items]) of
        undefined -> null;
        [{dictionary, Dictionary} | Info] ->
            maps:from_list([{pid, pid(P)}, {label, label(Dictionary)}
                            | [{K, brief_value(K, V)} || {K, V} <- Info]])
    end.

brief_value(Item, List) when Item =:= links; Item =:= monitors -> length(List);
brief_value(current_location, {_, _, _, [{file, File}, {line, Line}]}) ->
    #{file => unicode:characters_to_binary(File), line => Line};
brief_value(current_location, _) -> null;
brief_value(K, V) -> value(K, V).

%% The label of proc_lib, else what proc_lib was told to run.
label(Dictionary) ->
    case {lists:keyfind('$process_label', 1, Dictionary),
          lists:keyfind('$initial_call', 1, Dictionary)} of
        {{_, Label}, _} -> text(Label);
        {_, {_, {M, F, A}}} when is_atom(M), is_atom(F), is_integer(A) -> mfa({M, F, A});
        _ -> null
    end.

items() ->
    [registered_name, initial_call, current_function, current_location, status, reductions,
     message_queue_len, memory, total_heap_size, heap_size, stack_size, links, monitors,
     monitored_by, group_leader, priority, trap_exit, dictionary, messages,
     garbage_collection, message_queue_data, suspending]
        ++ parent() ++ [label || erlang:system_info(otp_release) >= "27"].

parent() -> [parent || erlang:system_info(otp_release) >= "25"].

of_pid(P) ->
    case process_info(P, items()) of
        undefined -> null;
        Info -> (maps:from_list([{K, value(K, V)} || {K, V} <- Info]))#{pid => pid(P)}
    end.

value(registered_name, []) -> null;
value(Item, {M, F, A}) when Item =:= initial_call; Item =:= current_function -> mfa({M, F, A});
value(current_location, {M, F, A, Where}) ->
    #{mfa => mfa({M, F, A}),
      file => case Where of [{file, File} | _] -> unicode:characters_to_binary(File); _ -> null end,
      line => case Where of [_, {line, Line}] -> Line; _ -> null end};
value(Item, Atom) when Item =:= status; Item =:= priority; Item =:= trap_exit;
                       Item =:= message_queue_data; Item =:= registered_name -> Atom;
value(Item, P) when is_pid(P), (Item =:= parent orelse Item =:= group_leader) -> pid(P);
value(Item, List) when Item =:= links; Item =:= monitors; Item =:= monitored_by;
                       Item =:= messages; Item =:= suspending ->
    [text(E) || E <- List];
value(dictionary, List) -> [[text(K), text(V)] || {K, V} <- List];
value(garbage_collection, List) -> maps:from_list([{K, text(V)} || {K, V} <- List]);
value(label, undefined) -> null;
value(_, N) when is_integer(N) -> N;
value(_, undefined) -> null;
value(_, Term) -> text(Term).

mfa({M, F, A}) -> unicode:characters_to_binary(io_lib:format("~tp:~tp/~w", [M, F, A])).
pid(P) -> list_to_binary(pid_to_list(P)).
text(Term) -> unicode:characters_to_binary(io_lib:format("~0tp", [Term])).
