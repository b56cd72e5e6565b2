%% SPDX-License-Identifier: BSD-2-Clause
%% What a node says of its memory and of its modules.
-module(mem_facts).
-export([memory/0, areas/0, allocators/0, watch/0, watched/0, modules/0, hold/2, release/0, reload/1, delete/1,
         purge/1, atoms/1, new_atoms/1, grow/2, instances/0, cached/0,
         put_terms/1, persistent/0, churn_terms/0]).

memory() -> maps:from_list(erlang:memory()).

areas() ->
    maps:from_list(lists:append([case Area of
                                     {atom_space, Size, Used} -> [{atom_space, Size},
                                                                  {atom_space_used, Used}];
                                     {Name, Size} -> [{Name, Size}]
                                 end || Area <- erlang:system_info(allocated_areas)])).

%% Of each instance what it holds in carriers for many blocks, for one, and in the pool.
allocators() ->
    [instance(Type, Instance, Info)
     || Type <- erlang:system_info(alloc_util_allocators),
        {instance, Instance, Info} <- erlang:system_info({allocator, Type})].

%% Asks again and again, on a heap that never grows and is free of earlier answers: what it is told
%% differs only by what the question itself allocates.
watch() ->
    Watcher = spawn_opt(fun() -> watcher([]) end,
                        [{min_heap_size, 2000000}, {fullsweep_after, 0}, {priority, high}]),
    register(mem_watcher, Watcher).

watcher(Seen) ->
    garbage_collect(),
    Sample = {memory(), allocators()},
    receive {From, watched} -> From ! {watched, [Sample | Seen]}
    after 100 -> watcher(lists:sublist([Sample | Seen], 12))
    end.

%% All that it was told, once, the newest first; it ends.
watched() ->
    mem_watcher ! {self(), watched},
    receive {watched, Seen} ->
            [#{memory => Memory, allocators => Allocators} || {Memory, Allocators} <- Seen]
    end.

instance(Type, Instance, Info) ->
    Parts = [proplists:get_value(Key, Info, []) || Key <- [mbcs, sbcs, mbcs_pool]],
    Blocks = [Stat || Part <- Parts, {_, Stat} <- proplists:get_value(blocks, Part, [])],
    [Multi, Single, Pool] = [carriers(Part) || Part <- Parts],
    #{type => Type, instance => Instance,
      blocks => lists:sum([now_of(count, B) || B <- Blocks]),
      blocks_size => lists:sum([now_of(size, B) || B <- Blocks]),
      carriers => lists:sum([now_of(carriers, P) || P <- Parts]),
      carriers_size => lists:sum([now_of(carriers_size, P) || P <- Parts]),
      mbcs => Multi, sbcs => Single, mbcs_pool => Pool}.

carriers(Part) ->
    Blocks = [Stat || {_, Stat} <- proplists:get_value(blocks, Part, [])],
    #{blocks => lists:sum([now_of(count, B) || B <- Blocks]),
      blocks_size => lists:sum([now_of(size, B) || B <- Blocks]),
      carriers => now_of(carriers, Part), carriers_size => now_of(carriers_size, Part)}.

%% {Key, Now} or {Key, Now, Max, MaxEver}.
now_of(Key, List) ->
    case lists:keyfind(Key, 1, List) of
        false -> 0;
        Found -> element(2, Found)
    end.

modules() ->
    [case erlang:module_loaded(M) of
         true -> #{module => M, functions => length(M:module_info(functions)),
                   md5 => hex(M:module_info(md5)), nifs => M:module_info(nifs) =/= [],
                    old_code => erlang:check_old_code(M)};
         false -> #{module => M, functions => 0, md5 => null, nifs => false,
                    old_code => erlang:check_old_code(M)}
     end || M <- erlang:loaded()].

hex(Bytes) -> << <<(integer_to_binary(B, 16))/binary>> || <<B:4>> <= Bytes >>.

%% A process that holds binaries and a table.
hold(Binaries, Objects) ->
    Self = self(),
    spawn(fun() ->
                  register(mem_holder, self()),
                  Held = [binary:copy(<<N:8>>, 100000)
                          || N <- lists:seq(1, list_to_integer(Binaries))],
                  Table = ets:new(mem_table, [public]),
                  [ets:insert(Table, {N, lists:duplicate(10, N)})
                   || N <- lists:seq(1, list_to_integer(Objects))],
                  Self ! held,
                  receive stop -> {Held, Table} end
          end),
    receive held -> true end.

release() ->
    Ref = monitor(process, mem_holder),
    mem_holder ! stop,
    receive {'DOWN', Ref, _, _, _} -> true end.

%% The same module once more: what was current is old now.
reload(Name) ->
    Module = list_to_atom(Name),
    {module, Module} = code:ensure_loaded(Module),
    {Module, Binary, File} = code:get_object_code(Module),
    {module, Module} = code:load_binary(Module, File, Binary),
    true.

delete(Name) ->
    code:delete(list_to_atom(Name)).

purge(Name) ->
    code:purge(list_to_atom(Name)).

atoms(Count) ->
    [list_to_atom("mem_atom_" ++ integer_to_list(N)) || N <- lists:seq(1, list_to_integer(Count))],
    true.

%% Makes atoms of texts between bars, in this order; they come as hexadecimal UTF-8.
new_atoms(Hex) ->
    Texts = unicode:characters_to_list(binary:decode_hex(list_to_binary(Hex))),
    [list_to_atom(Text) || Text <- string:lexemes(Texts, "|")],
    true.

%% Segments that mseg_alloc keeps for new carriers.
cached() ->
    lists:sum([N || {instance, _, Info} <- erlang:system_info({allocator, mseg_alloc}),
                    {memkind, Kind} <- Info, {status, Status} <- Kind, {cached_segments, N} <- Status]).

%% A table that gets so many objects in each of so many steps of 100 ms.
grow(Steps, Objects) ->
    spawn(fun() ->
                  ets:new(mem_grows, [named_table, ordered_set]),
                  lists:foreach(fun(Step) ->
                                        [ets:insert(mem_grows, {{Step, N}})
                                         || N <- lists:seq(1, list_to_integer(Objects))],
                                        timer:sleep(100)
                                end, lists:seq(1, list_to_integer(Steps))),
                  receive stop -> ok end
          end),
    true.

%% Carriers of all instances that erlang:system_info/1 tells of.
instances() ->
    #{carriers => lists:sum([maps:get(carriers, I) || I <- allocators()]),
      carriers_size => lists:sum([maps:get(carriers_size, I) || I <- allocators()])}.

%% Persistent terms of all sizes.
put_terms(Count) ->
    [persistent_term:put({mem_facts, N}, lists:seq(1, N rem 50)) || N <- lists:seq(1, list_to_integer(Count))],
    true.

persistent() ->
    #{count := Count, memory := Memory} = persistent_term:info(),
    #{count => Count, memory => Memory,
      terms => [#{key => unicode:characters_to_binary(io_lib:format("~0tp", [Key])),
                  words => erts_debug:flat_size({Key, Value})}
                || {Key, Value} <- persistent_term:get()]}.

%% One that stays, others that are put, changed and erased all the time.
churn_terms() ->
    persistent_term:put({mem_facts, 1}, stays),
    spawn(fun() -> churn_terms(0) end),
    true.

churn_terms(N) ->
    persistent_term:put({mem_facts, 2 + N rem 30}, lists:seq(1, N rem 20)),
    persistent_term:erase({mem_facts, 2 + (N * 7) rem 30}),
    churn_terms(N + 1).
