%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Processes that allocate known numbers of words in known functions, for `ebeam record --mode alloc`.
%% What a function allocates is measured once, in a process with a heap so large that it never collects.
%%
%%   node.ask("allocating", "mixed", MS)   a process that calls functions in random order
%%   node.ask("allocating", "traced", N)   the same, N calls; words that were new at each collection
%%   node.ask("allocating", "apart", MS)   a process for each function, bignums included
%%   node.ask("allocating", "brief", MS)   processes that exit before they ever collect, of two kinds
%%   node.ask("allocating", "hibernating", MS)   a process that hibernates after each message
%%   node.ask("allocating", "receiver", MS)      a process that gets messages, and does no more
%%   node.ask("allocating", "keeper", MS)        a process that keeps what it allocates, and one that does not
%%   node.ask("allocating", "binaries", MS)      large binaries of two sizes, in random order
%%
%% As a workload: two processes that do as mixed/1 does, for as long as it runs.
-module(allocating).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([mixed/1, traced/1, apart/1, brief/1, hibernating/1, receiver/1, keeper/1, binaries/1]).
-export([mixing/2, brief_list/0, brief_tuple/0, hibernate_now/2, awake/2, sink/1, binary_rounds/2]).

%% ---- what is allocated ----------------------------------------------------------------------

-define(PARTS, [lists, tuples, floats, maps, binaries, appended]).

%% All but bignums ask for a collection where the heap is full.  Not tail-recursive: the function is on the
%% stack while it allocates.
part(lists, N) -> R = make_list(N, []), length(R);
part(tuples, N) -> R = make_tuples(N, {}), tuple_size(R);
part(floats, N) -> R = make_floats(N, 1.5), trunc(R);
part(bignums, N) -> R = make_bignums(N, 1 bsl 80), R rem 7;
part(maps, N) -> R = make_maps(N, #{a => 1, b => 2}), map_size(R);
part(binaries, N) -> R = make_binaries(N, <<>>), byte_size(R);
part(appended, N) -> R = append(N, lists:seq(1, 200)), length(R).

make_list(0, L) -> L;
make_list(N, L) -> make_list(N - 1, [N | L]).

make_tuples(0, T) -> T;
make_tuples(N, T) -> make_tuples(N - 1, {N, tuple_size(T), N}).

make_floats(0, F) -> F;
make_floats(N, F) -> make_floats(N - 1, keep(F * 1.0001)).

keep(F) when is_float(F) -> F.

make_bignums(0, B) -> B;
make_bignums(N, B) -> make_bignums(N - 1, B + N).

make_maps(0, M) -> M;
make_maps(N, #{a := A, b := B} = M) -> make_maps(N - 1, M#{a => B, b => A + 1}).

make_binaries(0, B) -> B;
make_binaries(N, _) -> make_binaries(N - 1, <<N:64, N:64, N:64, N:32>>).

append(0, L) -> L;
append(N, L) -> append(N - 1, L ++ [N]).

%% Words that a fun allocates, as the trace of a collection right after it says.
words_of(Fun) ->
    Self = self(),
    P = spawn_opt(fun() ->
                          receive go -> ok end,
                          erlang:garbage_collect(),
                          Fun(),
                          erlang:garbage_collect(),
                          Self ! {self(), done},
                          receive stop -> ok end
                  end, [{min_heap_size, 4000000}]),
    {done, [_, Words]} = traced(P, fun() -> P ! go, result(P) end),
    P ! stop,
    Words.

%% Words that were new at each collection of a process, of whatever kind, while a fun runs.
traced(P, Fun) ->
    1 = erlang:trace(P, true, [garbage_collection]),
    Result = Fun(),
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    {Result, new_words(traces(P))}.

traces(P) ->
    receive {trace, P, Tag, Info} -> [{Tag, Info} | traces(P)]
    after 0 -> []
    end.

%% A minor collection that becomes a major one changed nothing; meanwhile traces have added words of their own.
new_words([{gc_minor_start, Info}, {gc_minor_end, _}, {gc_major_start, After}, _ | Rest]) ->
    case {sizes(Info), sizes(After)} of
        {[Heap, Recent, Fragments], [Heap, Recent, _]} ->
            [Heap - Recent + Fragments | new_words(Rest)];
        {[Heap, Recent, Fragments], _} ->
            [Heap - Recent + Fragments | new_words([{gc_major_start, After}, end_of_it | Rest])]
    end;
new_words([{_, Info}, _ | Rest]) ->
    [Heap, Recent, Fragments] = sizes(Info),
    [Heap - Recent + Fragments | new_words(Rest)];
new_words([]) -> [].

sizes(Info) -> [proplists:get_value(Key, Info) || Key <- [heap_size, recent_size, mbuf_size]].

pid(P) -> list_to_binary(pid_to_list(P)).

deadline(Ms) -> erlang:monotonic_time(millisecond) + list_to_integer(Ms).

passed(Deadline) -> erlang:monotonic_time(millisecond) >= Deadline.

result(P) -> receive {P, Result} -> Result end.

%% ---- a process that allocates in all ways ---------------------------------------------------

per_call() ->
    list_to_tuple([words_of(fun() -> one(I) end) || {I, _} <- workload:enumerate(?PARTS)]).

truth(Counts) ->
    maps:from_list([{Name, element(I, per_call()) * element(I, Counts)}
                    || {I, Name} <- workload:enumerate(?PARTS)]).

mixed(Ms) ->
    P = spawn(?MODULE, mixing, [deadline(Ms), self()]),
    #{pid => pid(P), words => truth(result(P))}.

mixing(Deadline, Parent) ->
    rand:seed(exsss, {1, 2, 3}),
    Parent ! {self(), until(Deadline, fun step/1, init(1))}.

%% Calls a function of one argument until then; the last result.
until(Deadline, Fun, State) ->
    case passed(Deadline) of
        true -> State;
        false -> until(Deadline, Fun, Fun(State))
    end.

traced(Calls) ->
    Self = self(),
    P = spawn(fun() ->
                      rand:seed(exsss, {1, 2, 3}),
                      receive go -> ok end,
                      _ = times(list_to_integer(Calls), fun step/1, init(1)),
                      Self ! {self(), done},
                      receive stop -> ok end
              end),
    {done, New} = traced(P, fun() -> P ! go, result(P) end),
    P ! stop,
    #{pid => pid(P), new => New}.

times(0, _, State) -> State;
times(N, Fun, State) -> times(N - 1, Fun, Fun(State)).

apart(Ms) ->
    Deadline = deadline(Ms),
    Self = self(),
    %% With room for some thousand words: else these are 200,000 collections a second, all of which are recorded.
    Room = [{min_heap_size, 2000}],
    Pids = [{Name, spawn_opt(fun() -> Self ! {self(), until(Deadline, fun(N) -> Fun(), N + 1 end, 0)} end, Room), Fun}
            || {Name, Fun} <- [{lists, fun one_list/0}, {bignums, fun one_bignum/0}, {floats, fun one_float/0}]],
    maps:from_list([{Name, #{pid => pid(P), words => result(P) * words_of(Fun)}} || {Name, P, Fun} <- Pids]).

%% A function for each part, as the first argument of part/2 is not in a stack.
one(1) -> one_list();
one(2) -> one_tuple();
one(3) -> one_float();
one(4) -> one_map();
one(5) -> one_binary();
one(6) -> one_append().

one_bignum() -> part(bignums, 100) >= 0.
one_list() -> part(lists, 400) >= 0.
one_tuple() -> part(tuples, 300) >= 0.
one_float() -> part(floats, 500) >= 0.

one_map() -> part(maps, 150) >= 0.
one_binary() -> part(binaries, 100) >= 0.
one_append() -> part(appended, 3) >= 0.

processes([]) -> [{alloc_1, 1}, {alloc_2, 2}].

init(_) -> erlang:make_tuple(length(?PARTS), 0).

%% In random order: a process whose rounds are all alike may come to collect at the same point of each.
step(Counts) ->
    I = rand:uniform(length(?PARTS)),
    one(I),
    setelement(I, Counts, element(I, Counts) + 1).

report(Counts) ->
    Sums = list_to_tuple([lists:sum([element(I, C) || C <- Counts])
                          || {I, _} <- workload:enumerate(?PARTS)]),
    #{work => lists:sum(tuple_to_list(Sums)), words => truth(Sums)}.

%% ---- processes that never collect -----------------------------------------------------------

%% A new process has 233 words.
brief_list() -> make_list(80, []).
brief_tuple() -> make_tuples(10, {}).

brief(Ms) ->
    Lists = words_of(fun brief_list/0),
    Tuples = words_of(fun brief_tuple/0),
    N = brief_loop(deadline(Ms), 0),
    #{each => N, lists => Lists * N, tuples => Tuples * N}.

brief_loop(Deadline, N) ->
    {_, A} = spawn_monitor(?MODULE, brief_list, []),
    receive {'DOWN', A, process, _, _} -> ok end,
    {_, B} = spawn_monitor(?MODULE, brief_tuple, []),
    receive {'DOWN', B, process, _, _} -> ok end,
    timer:sleep(1),
    case passed(Deadline) of
        true -> N + 1;
        false -> brief_loop(Deadline, N + 1)
    end.

%% ---- a process that hibernates --------------------------------------------------------------

hibernating(Ms) ->
    Each = words_of(fun() -> make_list(80, []) end),
    P = spawn(?MODULE, hibernate_now, [self(), 0]),
    N = poke(P, deadline(Ms), 0),
    P ! stop,
    N = result(P),
    #{pid => pid(P), times => N, words => Each * N}.

poke(P, Deadline, N) ->
    P ! {work, self()},
    receive {worked, P} -> ok end,
    hibernates(P),
    case passed(Deadline) of
        true -> N + 1;
        false -> poke(P, Deadline, N + 1)
    end.

hibernates(P) ->
    case process_info(P, current_function) of
        {_, {erlang, hibernate, _}} -> ok;
        _ -> hibernates(P)
    end.

hibernate_now(Parent, N) -> erlang:hibernate(?MODULE, awake, [Parent, N]).

awake(Parent, N) ->
    receive
        {work, From} ->
            hibernating_part(),
            From ! {worked, self()},
            hibernate_now(Parent, N + 1);
        stop -> Parent ! {self(), N}
    end.

hibernating_part() -> R = make_list(80, []), length(R).

%% ---- messages -------------------------------------------------------------------------------

receiver(Ms) ->
    Message = {message, lists:seq(1, 200)},
    P = spawn(?MODULE, sink, [self()]),
    N = feed(P, Message, deadline(Ms), 0),
    P ! stop,
    _ = result(P),
    %% Each is copied with the tuple around it.
    #{pid => pid(P), words => N * (erts_debug:flat_size({feed, self(), Message}))}.

feed(P, Message, Deadline, N) ->
    P ! {feed, self(), Message},
    receive fed -> ok end,
    case passed(Deadline) of
        true -> N + 1;
        false -> feed(P, Message, Deadline, N + 1)
    end.

sink(Parent) ->
    receive
        {feed, From, _} -> From ! fed, sink(Parent);
        stop -> Parent ! {self(), done}
    end.

%% ---- live against temporary -----------------------------------------------------------------

keeper(Ms) ->
    Kept = words_of(fun keep_list/0),
    Thrown = words_of(fun throw_list/0),
    Deadline = deadline(Ms),
    Self = self(),
    Keeps = spawn(fun() -> Self ! {self(), until(Deadline, fun keep_one/1, {0, []})} end),
    {Times, _} = result(Keeps),
    Next = deadline(Ms),
    Throws = spawn(fun() -> Self ! {self(), until(Next, fun throw_one/1, 0)} end),
    #{keeps => pid(Keeps), throws => pid(Throws), kept => Times * Kept, thrown => result(Throws) * Thrown}.

%% Each list is kept for the time of a thousand.
keep_one({N, _}) when N rem 1000 =:= 999 -> {N + 1, [keep_list()]};
keep_one({N, Kept}) -> {N + 1, [keep_list() | Kept]}.

throw_one(N) -> throw_list(), N + 1.

keep_list() -> R = make_list(500, []), id(R).
%% Far smaller than a heap, so that it is rarely alive at a collection.
throw_list() -> R = make_list(10, []), length(R).

id(X) -> X.

%% ---- large binaries -------------------------------------------------------------------------

binaries(Ms) ->
    %% With a heap that holds many binaries, so that these are what asks for collections.
    P = spawn_opt(?MODULE, binary_rounds, [deadline(Ms), self()], [{min_heap_size, 20000}]),
    {Large, Small} = result(P),
    #{pid => pid(P), large => Large * 30000, small => Small * 10000}.

binary_rounds(Deadline, Parent) ->
    rand:seed(exsss, {1, 2, 3}),
    Parent ! {self(), until(Deadline, fun one_large/1, {0, 0})}.

one_large({Large, Small}) ->
    case rand:uniform(2) of
        1 -> large_binary(), {Large + 1, Small};
        2 -> small_binary(), {Large, Small + 1}
    end.

large_binary() -> R = binary:copy(<<"abc">>, 10000), byte_size(R).
small_binary() -> R = binary:copy(<<"a">>, 10000), byte_size(R).
