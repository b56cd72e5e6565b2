%% SPDX-License-Identifier: BSD-2-Clause
%% Does an exact number of things of each kind, and says what it did: processes as "<0.80.0>", terms as
%% io_lib:format("~0tp") writes them.
%%
%%   node.ask("happenings", "messages", N, WORDS)  N messages of so many words, and their receiving
%%   node.ask("happenings", "aliases", N)          N messages to an alias of a process
%%   node.ask("happenings", "remote", N, NODE)     N messages to a name and N to a pid of that node
%%   node.ask("happenings", "far_calls", N, NODE)  N calls of a server of that node, and N messages from it
%%   node.ask("happenings", "spawns", N)           N processes of each kind, with their exit reasons
%%   node.ask("happenings", "names", N)            N names given and taken away
%%   node.ask("happenings", "links", N)            N links and unlinks, and N by spawn_link
%%   node.ask("happenings", "collections", N)      collections as erlang:trace/3 tells of them
%%   node.ask("happenings", "reclaimed", N)        collections, and what the node says they reclaimed
%%   node.ask("happenings", "slices", N)           a process that waits N times
%%   node.ask("happenings", "ends", A, B)          processes that end after A to B calls, one by one
%%   node.ask("happenings", "hibernations", N)     a process that hibernates N times
%%   node.ask("happenings", "rests", N)            the same with hibernate/0, which OTP 28 brought
%%   node.ask("happenings", "raises", N)           N exceptions that are caught, N that are not
%%   node.ask("happenings", "ports", N)            N ports opened, written to, and closed
%%   node.ask("happenings", "storm", SECONDS)      two processes that play ping-pong
-module(happenings).
-export([messages/2, aliases/1, remote/2, far_calls/2, spawns/1, names/1, links/1, collections/1, reclaimed/1, slices/1,
         ends/2,
         hibernations/1, rests/1, raises/1, ports/1, storm/1, start_storm/0, end_storm/0]).
-export([far_sender/0, crowded/1, child/2, sleeper/2, ponger/0, pinger/2, count/1]).

pid(P) -> list_to_binary(pid_to_list(P)).
text(T) -> unicode:characters_to_binary(io_lib:format("~0tp", [T])).

%% Runs a fun in a process of its own and waits for what it returns.
in_process(Fun) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> Self ! {done, self(), Fun()} end),
    receive
        {done, P, Result} -> erlang:demonitor(Ref, [flush]), {P, Result};
        {'DOWN', Ref, process, P, Reason} -> error({died, Reason})
    end.

%% ---- messages -----------------------------------------------------------------------------

messages(Count, Words) ->
    N = list_to_integer(Count),
    Length = list_to_integer(Words) div 2,
    Receiver = spawn(fun() -> receiver(N + 1) end),
    {Sender, Size} = in_process(fun() -> send(N, Length, Receiver) end),
    Ref = monitor(process, Receiver),
    Receiver ! last,
    receive {'DOWN', Ref, process, Receiver, normal} -> ok end,
    #{sender => pid(Sender), receiver => pid(Receiver), count => N, size => Size,
      coordinator => pid(self())}.

send(N, Length, Receiver) ->
    Message = {message, lists:seq(1, Length)},
    [Receiver ! Message || _ <- lists:seq(1, N)],
    erts_debug:flat_size(Message).

receiver(0) -> ok;
receiver(N) -> receive _ -> receiver(N - 1) end.

aliases(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    Owner = spawn(fun() -> Self ! {alias, alias()}, receiver(N) end),
    Alias = receive {alias, A} -> A end,
    {Sender, _} = in_process(fun() -> [Alias ! {to_alias, I} || I <- lists:seq(1, N)] end),
    Ref = monitor(process, Owner),
    receive {'DOWN', Ref, process, Owner, _} -> ok end,
    #{sender => pid(Sender), owner => pid(Owner), count => N, alias => text(Alias)}.

remote(Count, Node) ->
    N = list_to_integer(Count),
    Other = list_to_atom(Node),
    true = net_kernel:connect_node(Other),
    Far = spawn(Other, timer, sleep, [2000]),
    {Sender, _} = in_process(fun() -> [begin {nobody_there, Other} ! {far, I}, Far ! {far, I} end
                                       || I <- lists:seq(1, N)] end),
    #{sender => pid(Sender), count => N}.

%% A reply comes by way of an alias of who calls.
far_calls(Count, Node) ->
    N = list_to_integer(Count),
    Other = list_to_atom(Node),
    true = net_kernel:connect_node(Other),
    Far = spawn(Other, ?MODULE, far_sender, []),
    {Caller, _} = in_process(fun() -> [far_call(Other, Far, I) || I <- lists:seq(1, N)] end),
    Far ! stop,
    #{caller => pid(Caller), count => N}.

far_call(Other, Far, I) ->
    [_ | _] = gen_server:call({kernel_sup, Other}, which_children),
    Far ! {self(), I},
    receive {Far, I} -> ok end.

far_sender() ->
    receive
        {From, I} -> From ! {self(), I}, far_sender();
        stop -> ok
    end.

%% ---- processes ----------------------------------------------------------------------------

spawns(Count) ->
    N = list_to_integer(Count),
    logger:set_primary_config(level, none),
    Result = [spawned(Kind, I) || Kind <- [normal, shutdown, atom, tuple, literal, error, killed],
                                  I <- lists:seq(1, N)],
    logger:set_primary_config(level, notice),
    #{parent => pid(self()), children => Result}.

spawned(Kind, I) ->
    {P, Ref} = spawn_monitor(?MODULE, child, [Kind, I]),
    Kind =:= killed andalso exit(P, kill),
    receive {'DOWN', Ref, process, P, Reason} -> ok end,
    #{pid => pid(P), kind => Kind, reason => text(Reason)}.

child(normal, _) -> ok;
child(shutdown, I) -> exit({shutdown, I});
child(atom, _) -> exit('an odd reason');
child(tuple, I) -> exit({{error, [I, "text", <<"binary">>]}, #{i => I}});
%% Its parts stand one behind the other, the outer ones first.
child(literal, _) -> exit({badmatch, {error, {refused, "host", 5432, [{a, {b, c}}, []]}}});
child(error, I) -> error({badly, I});
child(killed, _) -> receive after infinity -> ok end.

names(Count) ->
    N = list_to_integer(Count),
    {P, Names} = in_process(fun() -> [rename(I) || I <- lists:seq(1, N)] end),
    %% The last name is lost with its process.
    {Q, _} = in_process(fun() -> register(happening_last, self()) end),
    %% One that is taken away by somebody else.
    Victim = spawn(fun() -> receive stop -> ok end end),
    register('an odd name', Victim),
    unregister('an odd name'),
    Victim ! stop,
    #{pid => pid(P), names => Names, last => pid(Q), victim => pid(Victim), by => pid(self())}.

rename(I) ->
    Name = list_to_atom("happening_" ++ integer_to_list(I)),
    true = register(Name, self()),
    catch register(Name, self()),
    true = unregister(Name),
    Name.

links(Count) ->
    N = list_to_integer(Count),
    {P, Others} = in_process(fun() -> [relink() || _ <- lists:seq(1, N)] end),
    #{pid => pid(P), linked => [pid(A) || {A, _} <- Others], born => [pid(B) || {_, B} <- Others]}.

relink() ->
    A = spawn(fun() -> receive stop -> ok end end),
    link(A),
    unlink(A),
    A ! stop,
    B = spawn_link(fun() -> ok end),
    {A, B}.

%% What some have left of their reductions does not suffice to clean up after them.
ends(Least, Most) ->
    [end_of(N) || N <- lists:seq(list_to_integer(Least), list_to_integer(Most))].

end_of(N) ->
    {P, Ref} = spawn_monitor(?MODULE, count, [N]),
    receive {'DOWN', Ref, process, P, normal} -> pid(P) end.

count(0) -> ok;
count(N) -> count(N - 1).

slices(Count) ->
    N = list_to_integer(Count),
    {P, Ref} = spawn_monitor(?MODULE, sleeper, [N, none]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P), slices => N}.

sleeper(0, _) -> ok;
sleeper(N, State) -> receive after 3 -> ok end, sleeper(N - 1, State).

hibernations(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> hibernating(N, Self) end),
    [wake(P, 3) || _ <- lists:seq(1, N)],
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P), count => N}.

hibernating(0, _) -> ok;
hibernating(N, Parent) -> erlang:hibernate(erlang, apply, [fun woken/2, [N, Parent]]).

woken(N, Parent) ->
    receive wake -> Parent ! {awake, self()} end,
    hibernating(N - 1, Parent).

%% One that hibernates by erlang:hibernate/Arity: with a message in its queue it would not.
wake(P, Arity) ->
    wait_for_rest(P, Arity),
    P ! wake,
    receive {awake, P} -> ok end.

wait_for_rest(P, Arity) ->
    case process_info(P, [current_function, status]) of
        [{_, {erlang, hibernate, Arity}}, {_, waiting}] -> ok;
        %% From hibernate/0 this question may have woken it: it has hibernated, and waits now.
        [{_, {happenings, resting, 2}}, {_, waiting}] -> ok;
        %% Asked all the time it would be awake to answer all the time.
        _ -> timer:sleep(1), wait_for_rest(P, Arity)
    end.

%% Goes on where it was.
rests(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> exit({rested, length([resting(X, Self) || X <- lists:seq(1, N)])}) end),
    [wake(P, 0) || _ <- lists:seq(1, N)],
    receive {'DOWN', Ref, process, P, {rested, N}} -> ok end,
    #{pid => pid(P), count => N}.

resting(N, Parent) ->
    erlang:hibernate(),
    receive wake -> Parent ! {awake, self()}, N end.

%% Exceptions that are caught, and those that end a process, as the node itself sees them.
raises(Count) ->
    All = lists:seq(1, list_to_integer(Count)),
    {P, Caught} = in_process(fun() -> [try raise(N) catch C:R:S -> {C, R, S} end || N <- All] end),
    #{pid => pid(P), caught => [[C, text(R)] || {C, R, _} <- Caught], ends => [ended(N) || N <- All],
      stacks => [[iolist_to_binary([text(M), ":", text(F), "/", integer_to_list(arity(A))]) || {M, F, A, _} <- S]
                 || {_, _, S} <- Caught]}.

arity(Args) when is_list(Args) -> length(Args);
arity(N) -> N.

raise(N) ->
    case N rem 5 of
        0 -> error({oops, N});
        1 -> exit({bye, N});
        2 -> throw({ball, N});
        3 -> atom_to_list(N); % C code
        4 -> {no, N} = lists:reverse([N])
    end.

ended(N) ->
    {P, Ref} = spawn_monitor(fun() -> raise(N) end),
    {Class, Reason} = receive
                          {'DOWN', Ref, process, P, {R, Stack}} when is_list(Stack) -> {error, R};
                          {'DOWN', Ref, process, P, R} -> {exit, R}
                      end,
    #{pid => pid(P), class => Class, reason => text(Reason)}.

%% ---- garbage collection -------------------------------------------------------------------

collections(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    Tracer = spawn(fun() -> trace_collector([]) end),
    Worker = spawn(fun() -> receive go -> ok end, collect(N), Self ! collected,
                            receive stop -> ok end end),
    1 = erlang:trace(Worker, true, [garbage_collection, {tracer, Tracer}]),
    Worker ! go,
    receive collected -> ok end,
    Ref = erlang:trace_delivered(Worker),
    receive {trace_delivered, Worker, Ref} -> ok end,
    erlang:trace(Worker, false, [garbage_collection]),
    Tracer ! {report, Self},
    Events = receive {report, E} -> E end,
    #{pid => pid(Worker), explicit => N, events => Events}.

trace_collector(Events) ->
    receive
        {trace, _, Tag, Info} -> trace_collector([gc_event(Tag, Info) | Events]);
        {report, To} -> To ! {report, lists:reverse(Events)}
    end.

gc_event(Tag, Info) ->
    V = fun(Key) -> proplists:get_value(Key, Info) end,
    #{kind => Tag, heap => V(heap_block_size), old_heap => V(old_heap_block_size),
      used => V(heap_size) + V(old_heap_size) + V(mbuf_size)}.

%% Major ones and minor ones on request, those that a growing heap needs, those after BIFs, and some of
%% a heap so large that dirty schedulers have to do it.
collect(N) ->
    [erlang:garbage_collect() || _ <- lists:seq(1, N)],
    [erlang:garbage_collect(self(), [{type, minor}]) || _ <- lists:seq(1, N)],
    Lists = [lists:seq(1, I * 50) || I <- lists:seq(1, 100)],
    Terms = [binary_to_term(term_to_binary(lists:seq(1, I * 20))) || I <- lists:seq(1, 100)],
    Large = grow(400000, []),
    [erlang:garbage_collect() || _ <- lists:seq(1, 3)],
    grow(300000, []),
    {length(Lists), length(Terms), length(Large)}.

%% Collections of processes whose messages are kept on and off the heap, in its fragments and decoded, with
%% few and very many in the queue, between two readings of what the node counts; the last one of them is counted
%% apart, as its queue is so long that nobody reads it all.
reclaimed(Count) ->
    N = list_to_integer(Count),
    Marker = spawn(fun() -> receive stop -> ok end end),
    {First, Before} = read(Marker, 1),
    Kinds = [on_heap, off_heap, {full, on_heap}, {full, off_heap}],
    [run_crowded(Kind, N) || Kind <- Kinds, _ <- lists:seq(1, 3)],
    {Last, After} = read(Marker, 1),
    Long = run_crowded({overfull, on_heap}, 1),
    Marker ! stop,
    #{pid => pid(self()), marker => pid(Marker), first => First, last => First + Last, overfull => pid(Long),
      reclaimed => After - Before}.

%% Words reclaimed until a message is sent, and how many were sent until no collection came between.
read(Marker, I) ->
    {Number, Words, _} = statistics(garbage_collection),
    Marker ! mark,
    case statistics(garbage_collection) of
        {Number, Words, _} -> {I, Words};
        _ -> read(Marker, I + 1)
    end.

run_crowded(Kind, N) ->
    Data = case Kind of {_, D} -> D; D -> D end,
    P = spawn_opt(?MODULE, crowded, [Kind], [{message_queue_data, Data}]),
    Ref = monitor(process, P),
    P ! {grow, self(), N},
    receive {grown, P} -> ok end,
    [P ! {not_yet, I, lists:seq(1, I rem 50)} || I <- lists:seq(1, messages_of(Kind))],
    P ! {collect, self(), N},
    receive {'DOWN', Ref, process, P, normal} -> P end.

messages_of({full, _}) -> 2000;
messages_of({overfull, _}) -> 10000;
messages_of(_) -> 20.

crowded(_) ->
    {List, From} = receive {grow, F, N} -> {grow(300000 + N, []), F} end,
    From ! {grown, self()},
    M = receive {collect, From, K} -> K end,
    [begin
         erlang:garbage_collect(self(), [{type, Type}]),
         %% Fragments of the process, by BIFs that have no room.
         [_ = binary_to_term(term_to_binary(lists:seq(1, 2000))) || _ <- lists:seq(1, M)]
     end || Type <- [major, minor, major, minor]],
    length(grow(100000, List)),
    ok.

grow(0, List) -> List;
grow(N, List) -> grow(N - 1, [{N, N} | List]).

%% ---- ports --------------------------------------------------------------------------------

ports(Count) ->
    N = list_to_integer(Count),
    {P, Ports} = in_process(fun() -> [use_port() || _ <- lists:seq(1, N)] end),
    #{pid => pid(P), ports => Ports}.

use_port() ->
    Port = open_port({spawn, "cat"}, [binary]),
    true = port_command(Port, <<"one">>),
    receive {Port, {data, <<"one">>}} -> ok end,
    Port ! {self(), {command, <<"two">>}},
    receive {Port, {data, <<"two">>}} -> ok end,
    true = port_close(Port),
    list_to_binary(erlang:port_to_list(Port)).

%% ---- as fast as they can ------------------------------------------------------------------

storm(Seconds) ->
    start_storm(),
    timer:sleep(1000 * list_to_integer(Seconds)),
    end_storm().

start_storm() ->
    Ponger = spawn(?MODULE, ponger, []),
    Pinger = spawn(?MODULE, pinger, [Ponger, 0]),
    persistent_term:put(happenings_storm, {Pinger, Ponger}),
    #{pinger => pid(Pinger), ponger => pid(Ponger)}.

end_storm() ->
    {Pinger, Ponger} = persistent_term:get(happenings_storm),
    Pinger ! {stop, self()},
    Trips = receive {trips, T} -> T end,
    Ponger ! stop,
    #{pinger => pid(Pinger), ponger => pid(Ponger), trips => Trips}.

ponger() ->
    receive
        {ping, From} -> From ! pong, ponger();
        stop -> ok
    end.

pinger(Ponger, Trips) ->
    receive
        {stop, From} -> From ! {trips, Trips}
    after 0 ->
        Ponger ! {ping, self()},
        receive pong -> pinger(Ponger, Trips + 1) end
    end.
