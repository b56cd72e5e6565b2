%% SPDX-License-Identifier: BSD-2-Clause
%% What a node says of its carriers, and of the blocks in them by who allocated them.
-module(alloc_facts).
-export([watch/1, watched/0, fill/1, thin/1, functions/0, owners/1, rush/2, row/2, tables/2, grow/2, grown/0]).

%% Asks again and again, on a heap that never grows and is free of earlier answers: what it is told
%% differs only by what the question itself allocates.
watch(What) ->
    Ask = case What of
              "carriers" -> fun carriers/0;
              "allocations" -> fun() -> allocations(#{}) end;
              "allocations_" ++ Flag -> fun() -> allocations(#{flags => [list_to_atom(Flag)]}) end
          end,
    Watcher = spawn_opt(fun() -> watcher(Ask, []) end,
                        [{min_heap_size, 2000000}, {fullsweep_after, 0}, {priority, high}]),
    register(alloc_watcher, Watcher),
    true.

watcher(Ask, Seen) ->
    garbage_collect(),
    Sample = Ask(),
    receive {From, watched} -> From ! {watched, [Sample | Seen]}
    after 100 -> watcher(Ask, lists:sublist([Sample | Seen], 12))
    end.

%% All that it was told, once, the newest first; it ends.
watched() ->
    alloc_watcher ! {self(), watched},
    receive {watched, Seen} -> Seen end.

%% By allocator: what instrument:carriers/1 says of its carriers, added up.
carriers() ->
    {ok, {_, Carriers}} = instrument:carriers(#{histogram_start => 1, histogram_width => 32}),
    [Facts#{type => Type} || {Type, Facts} <- maps:to_list(lists:foldl(fun add_carrier/2, #{}, Carriers))].

add_carrier({Type, InPool, Size, _, Blocks, Free}, Sums) ->
    Count = lists:sum([N || {_, N, _} <- Blocks]),
    Used = lists:sum([S || {_, _, S} <- Blocks]),
    %% Of a carrier for one block the VM says the size of the carrier instead of the block's.
    Single = Used =:= Size,
    One = #{carriers => 1, carriers_size => Size, pool_carriers => one(InPool), sbcs_carriers => one(Single),
            blocks => Count, blocks_size => case Single of true -> 0; false -> Used end,
            sbcs_carriers_size => case Single of true -> Size; false -> 0 end,
            free_blocks => lists:sum(tuple_to_list(Free)), use => [{min(9, Used * 10 div Size), Size - Used}]},
    Sums#{Type => add(One, maps:get(Type, Sums, #{}))}.

add(One, Sum) ->
    maps:map(fun(use, [{Band, Unused}]) -> at(Band, Unused, maps:get(use, Sum, [[0, 0] || _ <- lists:seq(0, 9)]));
                (Key, Value) -> Value + maps:get(Key, Sum, 0)
             end, One).

at(Band, Unused, Use) ->
    {Before, [[Carriers, Sum] | After]} = lists:split(Band, Use),
    Before ++ [[Carriers + 1, Sum + Unused] | After].

one(true) -> 1;
one(false) -> 0.

%% [#{origin, type, buckets}]: slot N has the blocks of 2^N bytes and more, as their sizes are
%% multiples of 8.
allocations(Options) ->
    {ok, {_, _, Allocations}} = instrument:allocations(Options#{histogram_start => 1, histogram_width => 32}),
    [#{origin => origin(Options, Origin), type => Type, blocks => lists:sum(tuple_to_list(Histogram)),
       slots => slots(tuple_to_list(Histogram))}
     || {Origin, Types} <- maps:to_list(Allocations), {Type, Histogram} <- maps:to_list(Types)].

%% A registered name stands for its process, if it was asked for processes.
origin(#{flags := [per_process]}, Name) when is_atom(Name) ->
    case whereis(Name) of
        Pid when is_pid(Pid) -> origin(#{}, Pid);
        _ -> Name
    end;
origin(_, Pid) when is_pid(Pid) -> list_to_binary(pid_to_list(Pid));
origin(_, Port) when is_port(Port) -> list_to_binary(erlang:port_to_list(Port));
origin(_, {M, F, A}) -> unicode:characters_to_binary(io_lib:format("~tw:~tw/~w", [M, F, A]));
origin(_, Name) -> Name.

%% Since OTP 27 the first slot is for what is smaller than the start.
slots(Slots) ->
    case list_to_integer(erlang:system_info(otp_release)) of
        Otp when Otp >= 27 -> tl(Slots);
        _ -> lists:droplast(Slots)
    end.

%% A process with binaries of many sizes, and tables.
fill(Count) ->
    Self = self(),
    spawn(fun() ->
                  register(alloc_holder, self()),
                  Held = [binary:copy(<<N:8>>, 64 + N * 37 rem 9000) || N <- lists:seq(1, list_to_integer(Count))],
                  Large = [binary:copy(<<N:8>>, 600000 + N) || N <- lists:seq(1, 5)],
                  Table = ets:new(alloc_table, [public]),
                  [ets:insert(Table, {N, lists:duplicate(N rem 30, N)})
                   || N <- lists:seq(1, list_to_integer(Count))],
                  Self ! filled,
                  holder(Held, Large, Table)
          end),
    receive filled -> true end.

holder(Held, Large, Table) ->
    receive
        {thin, Keep, From} ->
            Kept = [B || {N, B} <- lists:zip(lists:seq(1, length(Held)), Held), N rem Keep =:= 0],
            [ets:delete(Table, N) || N <- lists:seq(1, length(Held)), N rem Keep =/= 0],
            garbage_collect(),
            From ! thinned,
            holder(Kept, Large, Table)
    end.

%% All but each Keep-th binary and object are freed: carriers that little is used of.
thin(Keep) ->
    alloc_holder ! {thin, list_to_integer(Keep), self()},
    receive thinned -> true end.

%% Makes blocks whose tags have the functions of this module (+Muatags code).
functions() ->
    Self = self(),
    spawn(fun() ->
                  Tables = [ets:new(alloc_functions, [public]) || _ <- lists:seq(1, 50)],
                  [ets:insert(T, {N, make_ref()}) || T <- Tables, N <- lists:seq(1, 20)],
                  Self ! made,
                  receive stop -> Tables end
          end),
    receive made -> true end.

%% Processes and ports that allocate, some of which end while others keep what they allocated.
%% The pids of those that have ended.
owners(Count) ->
    Self = self(),
    Ended = [spawn(fun() -> Self ! {self(), binary:copy(<<N:8>>, 1000 + N)} end) || N <- lists:seq(1, 5)],
    Binaries = [receive {Pid, Binary} -> Binary end || Pid <- Ended],
    spawn(fun() ->
                  register(alloc_owner, self()),
                  {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}]),
                  Held = [binary:copy(<<N:8>>, 64 + N * 37 rem 9000) || N <- lists:seq(1, list_to_integer(Count))],
                  Self ! owning,
                  receive stop -> {Listen, Held, Binaries} end
          end),
    receive owning -> [list_to_binary(pid_to_list(Pid)) || Pid <- Ended] end.

%% A rush: Count processes of row/2 at once, of which each Keep-th lives on. Those that do: how many, and the bytes of
%% their heaps, as the node says.
rush(Count, Keep) ->
    Self = self(),
    Rows = [spawn(?MODULE, row, [N, Self]) || N <- lists:seq(1, list_to_integer(Count))],
    [receive {ready, Row} -> true end || Row <- Rows],
    {Kept, Ended} = lists:partition(fun({N, _}) -> N rem list_to_integer(Keep) =:= 0 end,
                                    lists:zip(lists:seq(1, length(Rows)), Rows)),
    Monitors = [monitor(process, Row) || {_, Row} <- Ended],
    [exit(Row, kill) || {_, Row} <- Ended],
    [receive {'DOWN', Monitor, _, _, _} -> true end || Monitor <- Monitors],
    Words = [element(2, process_info(Row, total_heap_size)) || {_, Row} <- Kept],
    #{kept => length(Kept), heaps => 8 * lists:sum(Words)}.

row(N, Starter) ->
    Data = lists:seq(1, 1200 + N rem 7 * 30),
    Starter ! {ready, self()},
    receive stop -> Data end.

%% Tables of each kind with Count objects, of which all but each Keep-th are deleted. Their names and sizes.
tables(Count, Keep) ->
    Self = self(),
    Keys = lists:seq(1, list_to_integer(Count)),
    Tables = [{kept_set, [set]}, {kept_bag, [bag]}, {kept_tree, [ordered_set]}, {kept_compressed, [set, compressed]},
              {kept_catree, [ordered_set, {write_concurrency, true}]}],
    spawn(fun() ->
                  [ets:new(Name, [named_table | Options]) || {Name, Options} <- Tables],
                  [[ets:insert(Name, {Key, lists:seq(1, 20)}) || Key <- Keys] || {Name, _} <- Tables],
                  [[ets:delete(Name, Key) || Key <- Keys, Key rem list_to_integer(Keep) =/= 0] || {Name, _} <- Tables],
                  Self ! made,
                  receive stop -> true end
          end),
    receive made -> maps:from_list([{Name, ets:info(Name, size)} || {Name, _} <- Tables]) end.

%% A process that keeps a binary of Bytes more each Ms milliseconds.
grow(Bytes, Ms) ->
    Grower = spawn(fun() -> grower([], list_to_integer(Bytes), list_to_integer(Ms)) end),
    register(alloc_grower, Grower),
    true.

grower(Held, Bytes, Ms) ->
    receive {From, grown} -> From ! {grown, length(Held)}
    after 0 -> true
    end,
    timer:sleep(Ms),
    grower([binary:copy(<<1>>, Bytes) | Held], Bytes, Ms).

grown() ->
    alloc_grower ! {self(), grown},
    receive {grown, Count} -> Count end.
