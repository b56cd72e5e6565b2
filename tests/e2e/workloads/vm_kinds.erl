%% SPDX-License-Identifier: BSD-2-Clause
%% More of what happenings.erl does: an exact number of things of a kind, and what the node says of them.
%%
%%   node.ask("vm_kinds", "carriers", N, BYTES)     N binaries of so many bytes, held at once, then dropped
%%   node.ask("vm_kinds", "pool", N)                carriers that N processes on two schedulers leave behind
%%   node.ask("vm_kinds", "signals", N)             N exit signals of each way of sending one
%%   node.ask("vm_kinds", "slices", N)              N slices that are long for certain
%%   node.ask("vm_kinds", "copies", N)              N terms copied to a heap, N to a message
%%   node.ask("vm_kinds", "nifs", N)                N calls of a NIF, N of one on a dirty scheduler
%%   node.ask("vm_kinds", "connection", NODE)       connected, N bytes sent, disconnected
%%   node.ask("vm_kinds", "stalled", NODE)          sends to a node that does not read, until it waits
-module(vm_kinds).
-export([carriers/2, pool/1, signals/1, slices/1, ways/1, copies/1, connection/2, stalled/1, unstalled/0, connect/1]).
-export([allocators/0, nifs/1, sender/1, many/2]).

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

%% ---- allocators ---------------------------------------------------------------------------

types() -> [temp_alloc, sl_alloc, std_alloc, ll_alloc, eheap_alloc, ets_alloc, fix_alloc, literal_alloc,
            binary_alloc, driver_alloc].

%% Carriers of all instances of each type: number and bytes, of many blocks (in use or in the pool)
%% and of single ones, and how often one was fetched from the pool.
census() -> maps:from_list([{T, census(erlang:system_info({allocator, T}))} || T <- types()]).

census(Instances) ->
    lists:foldl(fun({instance, _, Info}, Sum) -> add(Sum, instance(Info)) end,
                #{mbcs => 0, mbcs_size => 0, sbcs => 0, sbcs_size => 0, pool => 0, fetch => 0}, Instances).

instance(Info) ->
    {M, Ms} = carriers_of(proplists:get_value(mbcs, Info, [])),
    {P, Ps} = carriers_of(proplists:get_value(mbcs_pool, Info, [])),
    {S, Ss} = carriers_of(proplists:get_value(sbcs, Info, [])),
    #{mbcs => M + P, mbcs_size => Ms + Ps, sbcs => S, sbcs_size => Ss, pool => P,
      fetch => fetched(lists:keyfind(fetch, 1, proplists:get_value(mbcs_pool, Info, [])))}.

fetched({fetch, Giga, N}) -> Giga * 1000000000 + N;
fetched(_) -> 0.

carriers_of(Part) -> {now_of(carriers, Part), now_of(carriers_size, Part)}.
now_of(Key, Part) ->
    case lists:keyfind(Key, 1, Part) of
        false -> 0;
        Tuple -> element(2, Tuple)
    end.

add(A, B) -> maps:map(fun(K, V) -> V + maps:get(K, B) end, A).

%% What is there now, without waiting for anything.
allocators() -> census().

%% Facts while nothing happens, and since when they are so: asking for them takes memory, too, so
%% they are asked for until asking does not change them.  What asking leads to afterwards is later.
quiet() ->
    timer:sleep(300),
    [garbage_collect(P) || P <- processes()],
    timer:sleep(300),
    quiet(census(), 50).

quiet(Before, Times) ->
    Began = os:system_time(nanosecond),
    case census() of
        Now when Now =:= Before; Times =:= 0 -> {Began, Now};
        Now -> quiet(Now, Times - 1)
    end.

between(Fun) ->
    {Begin, First} = quiet(),
    Result = Fun(),
    {End, Last} = quiet(),
    #{'begin' => Begin, 'end' => End, before => First, 'after' => Last, result => Result}.

carriers(Count, Bytes) ->
    N = list_to_integer(Count),
    Size = list_to_integer(Bytes),
    between(fun() ->
                    {P, _} = in_process(fun() -> hold(N, Size) end),
                    pid(P)
            end).

hold(N, Size) ->
    Binaries = [binary:copy(<<I>>, Size) || I <- lists:seq(1, N)],
    %% A large heap of its own, that grows and shrinks: single blocks that change their size.
    List = lists:seq(1, 500000),
    garbage_collect(),
    {lists:sum([byte_size(B) || B <- Binaries]), length(List)}.

%% Many processes with small heaps, of which most go: carriers that hold little are left to the pool,
%% and taken from there by the other scheduler.
pool(Count) ->
    N = list_to_integer(Count),
    between(fun() -> [many(N, S) || _ <- lists:seq(1, 4), S <- [1, 2]], ok end).

many(N, Scheduler) ->
    Pids = [held(Scheduler) || _ <- lists:seq(1, N)],
    timer:sleep(50),
    {_, Rest} = lists:foldl(fun(P, {I, Keep}) when I rem 16 =:= 0 -> {I + 1, [P | Keep]};
                               (P, {I, Keep}) -> P ! stop, {I + 1, Keep}
                            end, {0, []}, Pids),
    timer:sleep(50),
    More = [held(3 - Scheduler) || _ <- lists:seq(1, N)],
    timer:sleep(50),
    [P ! stop || P <- Rest ++ More],
    timer:sleep(20).

held(Scheduler) ->
    spawn_opt(fun() -> grow(500), receive stop -> ok end end, [{scheduler, Scheduler}, {min_heap_size, 2000}]).

grow(N) -> length(lists:seq(1, N)).

%% ---- exit signals -------------------------------------------------------------------------

signals(Count) ->
    N = list_to_integer(Count),
    {P, Sent} = in_process(fun() -> process_flag(trap_exit, true), [signal(I) || I <- lists:seq(1, N)] end),
    #{pid => pid(P), sent => lists:append(Sent)}.

%% One by exit/2, to a process that catches it; one by a linked process that dies; one by a port.
signal(I) ->
    Self = self(),
    Catcher = spawn(fun() -> process_flag(trap_exit, true), Self ! ready,
                             receive {'EXIT', From, R} -> Self ! {caught, From, R} end end),
    receive ready -> ok end,
    exit(Catcher, {because, I, "text"}),
    Self = receive {caught, From, Reason} -> Reason = {because, I, "text"}, From end,
    Child = spawn_link(fun() -> exit({dead, I}) end),
    receive {'EXIT', Child, {dead, I}} -> ok end,
    Port = open_port({spawn, "true"}, []),
    receive {'EXIT', Port, normal} -> ok end,
    [#{from => pid(Self), to => pid(Catcher), reason => text({because, I, "text"})},
     #{from => pid(Child), to => pid(Self), reason => text({dead, I})},
     #{from => list_to_binary(erlang:port_to_list(Port)), to => pid(Self), reason => <<"normal">>}].

%% ---- slices -------------------------------------------------------------------------------

%% system_monitor tells of the slices above 100 ms, as it sees them.
slices(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    Old = erlang:system_monitor({Self, [{long_schedule, 100}]}),
    {P, _} = in_process(fun() -> [long_slice() || _ <- lists:seq(1, N)] end),
    timer:sleep(100),
    erlang:system_monitor(Old),
    #{pid => pid(P), count => N, reported => reported(P, [])}.

reported(P, Times) ->
    receive
        {monitor, P, long_schedule, Info} -> reported(P, [proplists:get_value(timeout, Info) | Times]);
        {monitor, _, long_schedule, _} -> reported(P, Times)
    after 0 -> lists:reverse(Times)
    end.

%% Comparing terms costs no reductions: the process does not yield meanwhile.
long_slice() ->
    A = lists:seq(1, 200000),
    B = binary_to_term(term_to_binary(A)),
    erlang:yield(),
    compare(A, B, erlang:monotonic_time(millisecond) + 300),
    true = erlang:yield(),
    ok.

%% Slices of 25 ms or more, each in another kind of code: a BIF that waits, one that computes, and
%% a call of C code that is no BIF.
ways(Count) ->
    N = list_to_integer(Count),
    {P, ok} = in_process(fun() -> ways(N, lists:seq(1, 200000), nested(4000000)) end),
    #{pid => pid(P), count => N}.

nested(N) -> list_to_tuple(lists:duplicate(N, {a})).

ways(0, _, _) -> ok;
ways(N, List, Tuple) ->
    Copy = binary_to_term(term_to_binary(List)),
    erts_debug:set_internal_state(available_internal_state, true),
    pause(),
    erts_debug:set_internal_state(sleep, 25),
    pause(),
    Size = erts_debug:flat_size(Tuple),
    Size = erts_debug:flat_size(Tuple),
    Size = erts_debug:flat_size(Tuple),
    pause(),
    compare(List, Copy, erlang:monotonic_time(millisecond) + 40),
    ways(N - 1, List, Tuple).

pause() -> receive after 5 -> ok end.

compare(A, B, Until) ->
    true = A =:= B, true = A =:= B, true = A =:= B, true = A =:= B,
    true = A =:= B, true = A =:= B, true = A =:= B, true = A =:= B,
    case erlang:monotonic_time(millisecond) of
        T when T < Until -> compare(A, B, Until);
        _ -> ok
    end.

%% ---- copies -------------------------------------------------------------------------------

copies(Count) ->
    N = list_to_integer(Count),
    Table = ets:new(t, [public]),
    [ets:insert(Table, {I}) || I <- lists:seq(1, N)],
    %% A constant in what a match specification returns is copied for each object.
    {P, N} = in_process(fun() -> length(ets:select(Table, [{{'$1'}, [], [{const, {a, b, c}}]}])) end),
    ets:delete(Table),
    Sink = spawn(fun() -> receive stop -> ok end end),
    Message = {message, lists:seq(1, 50)},
    {Q, _} = in_process(fun() -> [Sink ! Message || _ <- lists:seq(1, N)], ok end),
    Sink ! stop,
    #{copier => pid(P), sender => pid(Q), count => N, constant => erts_debug:flat_size({a, b, c}),
      message => erts_debug:flat_size(Message)}.

%% ---- NIFs ---------------------------------------------------------------------------------

nifs(Count) ->
    N = list_to_integer(Count),
    {P, _} = in_process(fun() ->
                                Buffer = prim_buffer:new(),
                                [prim_buffer:size(Buffer) || _ <- lists:seq(1, N)],
                                [{ok, _} = prim_file:read_file(<<"/proc/self/stat">>) || _ <- lists:seq(1, N)]
                        end),
    #{pid => pid(P), count => N}.

%% ---- distribution -------------------------------------------------------------------------

connect(Node) -> net_kernel:connect_node(list_to_atom(Node)).

connection(Node, Count) ->
    Other = list_to_atom(Node),
    N = list_to_integer(Count),
    net_kernel:disconnect(Other),
    timer:sleep(100),
    ok = net_kernel:monitor_nodes(true, [nodedown_reason]),
    true = net_kernel:connect_node(Other),
    {nodeup, Other, _} = receive {nodeup, Other, _} = Up -> Up end,
    [{Other, Port}] = [C || {O, _} = C <- erlang:system_info(dist_ctrl), O =:= Other],
    timer:sleep(300),
    {ok, [{send_oct, Before}]} = inet:getstat(Port, [send_oct]),
    T1 = os:system_time(nanosecond),
    Message = lists:duplicate(1000, $a),
    [{nobody, Other} ! {I, Message} || I <- lists:seq(1, N)],
    timer:sleep(500),
    T2 = os:system_time(nanosecond),
    {ok, [{send_oct, After}]} = inet:getstat(Port, [send_oct]),
    Text = list_to_binary(erlang:port_to_list(Port)),
    true = net_kernel:disconnect(Other),
    Reason = receive {nodedown, Other, Info} -> proplists:get_value(nodedown_reason, Info) end,
    net_kernel:monitor_nodes(false, [nodedown_reason]),
    #{port => Text, 'begin' => T1, 'end' => T2, bytes => After - Before, reason => text(Reason)}.

%% A process sends until it is suspended; the node says so.
stalled(Node) ->
    Other = list_to_atom(Node),
    true = net_kernel:connect_node(Other),
    Self = self(),
    {Pid, Ref} = spawn_monitor(?MODULE, sender, [Other]),
    Old = erlang:system_monitor({Self, [busy_dist_port]}),
    Pid ! go,
    Port = receive {monitor, Pid, busy_dist_port, Q} -> Q end,
    erlang:system_monitor(Old),
    persistent_term:put(vm_kinds_stalled, {Pid, Ref}),
    #{pid => pid(Pid), port => list_to_binary(erlang:port_to_list(Port))}.

unstalled() ->
    {Pid, _} = persistent_term:get(vm_kinds_stalled),
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, Pid, _} -> #{pid => pid(Pid)} end.

%% Until it has waited once.
sender(Other) ->
    receive go -> ok end,
    Data = binary:copy(<<0>>, 1000000),
    [{nobody, Other} ! Data || _ <- lists:seq(1, 20)].
