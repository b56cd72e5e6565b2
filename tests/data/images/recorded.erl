%% SPDX-License-Identifier: BSD-2-Clause
%%
%% The node of the recorded images (tests/data/images/remake).  It boots with little more than the
%% modules that every node has, makes processes, terms, tables and ports, writes what it knows of
%% them, line by line as tests/lib/recorded.c does, and rests.
-module(recorded).
-export([boot/1, start/0, woken/1]).
-export([init/1, handle_call/3, handle_cast/2]).

%% What the survey calls: there is no code server that would load it.
-define(MODULES, [error_handler, lists, maps, binary, proplists, unicode, string, ets,
                  io, io_lib, io_lib_format, io_lib_pretty, epp, erl_scan, erl_features, proc_lib,
                  gen, gen_server, sys]).

%% By a whole node: writes DIR/recorded.boot.
boot([Dir]) ->
    Libraries = [code:lib_dir(L) ++ "/ebin" || L <- [kernel, stdlib]],
    Script = {script, {"recorded", "1"},
              [{preLoaded, erlang:pre_loaded()}, {progress, preloaded}, {path, Libraries ++ [Dir]},
               {primLoad, [M || M <- ?MODULES ++ [?MODULE], code:which(M) =/= non_existing]},
               {kernel_load_completed},
               {apply, {?MODULE, start, []}}]},
    ok = file:write_file(Dir ++ "/recorded.boot", term_to_binary(Script)),
    halt().

start() ->
    spawn(fun survey/0).

%% ---- what there is to be seen -------------------------------------------------------------

survey() ->
    Holder = spawn(fun hold/0),
    Holder ! {self(), hold},
    receive {Holder, Tables} -> ok end,
    settle(),
    garbage_collect_all(),
    settle(),
    {ok, [[File]]} = init:get_argument(survey),
    Processes = processes() -- [self()],
    Lines = [line("processes ~w", [length(Processes)]), modules(), functions(),
             Tables, [port(P) || P <- erlang:ports()],
             [process(P, N) || P <- Processes, {registered_name, N} <- [name(P)]]],
    Atoms = line("atoms ~w", [erlang:system_info(atom_count)]),
    Sorted = lists:sort(lists:flatten([Atoms | Lines])),
    ok = prim_file:write_file(File ++ ".part", [[L, $\n] || L <- Sorted]),
    ok = prim_file:rename(File ++ ".part", File).

name(P) ->
    case process_info(P, registered_name) of
        {registered_name, _} = Name -> Name;
        _ -> none
    end.

settle() ->
    receive after 500 -> ok end.

garbage_collect_all() ->
    [garbage_collect(P) || P <- processes(), P =/= self(), not is_suspended(P)].

is_suspended(P) ->
    process_info(P, status) =:= {status, suspended}.

hold() ->
    register(holder, self()),
    process_flag(trap_exit, true),
    Waiting = make(waiting, fun() -> deep(3) end, [{min_heap_size, 1000}]),
    {ok, Server} = gen_server:start_link({local, server}, ?MODULE, [], []),
    Hibernated = make(hibernated, fun() -> erlang:hibernate(?MODULE, woken, [for_ever]) end, []),
    Suspended = make(suspended, fun() -> deep(1) end, []),
    Queue = make(queue, fun() -> put(words, 3), never() end, [{priority, low}]),
    Terms = make(terms, fun() -> keep(terms()) end, [{priority, high}]),
    erlang:suspend_process(Suspended),
    link(Waiting),
    monitor(process, Server),
    monitor(process, Hibernated),
    [Queue ! T || T <- [one, {two, 2.0}, [three | "improper"], <<"four", 0:2000>>, #{five => 5}]],
    sleeper(),
    socket(),
    Tables = tables(Terms),
    Said = [table(T) || T <- Tables], % one is private
    receive {From, hold} -> From ! {self(), Said} end,
    never().

make(Name, Do, Options) ->
    Self = self(),
    P = spawn_opt(fun() -> register(Name, self()), Self ! {made, self()}, Do() end, Options),
    receive {made, P} -> P end.

deep(0) ->
    never();
deep(N) ->
    Answer = deep(N - 1),
    {N, Answer}.

never() ->
    receive never -> ok end.

woken(_) ->
    never().

keep(Terms) ->
    [put({term, N}, T) || {N, T} <- Terms],
    put(terms, length(Terms)),
    garbage_collect(),
    never().

init([]) ->
    {ok, #{state => of_server}}.

handle_call(_, _, State) ->
    {reply, ok, State}.

handle_cast(_, State) ->
    {noreply, State}.

sleeper() ->
    P = open_port({spawn_executable, "/bin/cat"}, [binary]),
    register(cat, P),
    P ! {self(), {command, <<"words">>}},
    receive {P, {data, _}} -> P end.

socket() ->
    {ok, S} = prim_inet:open(tcp, inet, stream),
    {ok, _} = prim_inet:bind(S, {127, 0, 0, 1}, 0),
    ok = prim_inet:listen(S, 5),
    S.

tables(Heir) ->
    Objects = terms(),
    Kinds = [{table_set, [set, named_table, public]},
             {table_bag, [bag, named_table]},
             {table_duplicate, [duplicate_bag, named_table, private, {keypos, 2}]},
             {table_ordered, [ordered_set, named_table, {heir, Heir, data}]},
             {table_compressed, [set, compressed, protected]},
             {table_tree, [ordered_set, public, {write_concurrency, true}]},
             {table_concurrent, [set, public, {write_concurrency, auto}, {read_concurrency, true}]}],
    Tables = [ets:new(Name, Options) || {Name, Options} <- Kinds],
    [ets:insert(T, {N, N * N}) || T <- Tables, N <- lists:seq(1, 30)],
    [ets:insert(T, {N, N, again}) || T <- Tables, N <- lists:seq(1, 30, 7)],
    %% OTP 27 and 29 crash when they take a local fun out of a compressed table.
    [ets:insert(T, [O || {_, Term} = O <- Objects, not ets:info(T, compressed) orelse
                                                       not is_function(Term)]) || T <- Tables],
    [ets:delete(T, 13) || T <- Tables],
    Tables.

%% ---- terms ----------------------------------------------------------------------------------

terms() ->
    Bytes = list_to_binary(lists:seq(1, 100)),
    <<_:3, Shifted:61/bitstring, _/bitstring>> = Bytes,
    <<_:8/binary, Part:70/binary, _/binary>> = Bytes,
    Large = maps:from_list([{N, {N, integer_to_binary(N)}} || N <- lists:seq(1, 100)]),
    Other = <<88, 100, 0, 13, "other@example">>,
    lists:zip(lists:seq(101, 100 + length(all(Bytes, Shifted, Part, Large, Other))),
              all(Bytes, Shifted, Part, Large, Other)).

all(Bytes, Shifted, Part, Large, Other) ->
    Node = binary:part(Other, 1, byte_size(Other) - 1),
    [ok, '', 'with space', 'Elixir.Enum', nonode@nohost,
     0, -1, 1 bsl 59 - 1, -(1 bsl 59), 1 bsl 59, 1 bsl 64, -(1 bsl 64), 1 bsl 1000, -(1 bsl 127) + 1,
     0.0, -0.5, 1.0e300, 3.14159, 5.0e-324,
     [], [a], "text", [$a | b], [1, [2, [3]]], lists:seq(1, 300), [229, 228, 246],
     {}, {a}, {a, {b, {c}}}, list_to_tuple(lists:seq(1, 70)),
     <<>>, <<"text">>, <<0, 255>>, <<229/utf8, 246/utf8>>, <<1:1>>, <<5:13>>, Bytes, Shifted, Part,
     binary:copy(<<"long ">>, 100), <<(binary:copy(<<7>>, 70))/binary, 3:5>>,
     #{}, #{a => 1}, #{1 => #{2 => 3}, "k" => <<"v">>, {t} => 1.5},
     maps:from_list([{N, N * N} || N <- lists:seq(1, 32)]), Large,
     fun lists:map/2, fun erlang:node/0, fun deep/1, fun(X) -> X end, fun() -> {Bytes, Large} end,
     make_ref(), self(), whereis(init), list_to_pid("<0.1.0>"), hd(erlang:ports()),
     binary_to_term(<<131, 88, Node/binary, 77:32, 2:32, 5:32>>),
     binary_to_term(<<131, 89, Node/binary, 78:32, 5:32>>),
     binary_to_term(<<131, 90, 0, 3, Node/binary, 5:32, 1:32, 2:32, 3:32>>)].

%% ---- what the node says of it ----------------------------------------------------------------

line(Format, Arguments) ->
    unicode:characters_to_binary(io_lib:format(Format, Arguments)).

process(P, Name) ->
    Keys = [status, initial_call, current_function, group_leader, priority, trap_exit,
            message_queue_len, heap_size, total_heap_size, stack_size, memory,
            garbage_collection, current_stacktrace, links, monitors, monitored_by, messages,
            dictionary],
    [{_, Status}, {_, {IM, IF, IA}}, {_, {CM, CF, CA}}, {_, Leader}, {_, Priority}, {_, Trap},
     {_, Queue}, {_, Heap}, {_, Total}, {_, Stack}, {_, Memory}, {_, Collection}, {_, Trace},
     {_, Links}, {_, Monitors}, {_, MonitoredBy}, {_, Messages}, {_, Dictionary}] =
        process_info(P, Keys),
    {_, Minimum} = lists:keyfind(min_heap_size, 1, Collection),
    [line("process ~ts ~w ~w initial=~w:~w/~w current=~w:~w/~w leader=~w priority=~w trap_exit=~w "
          "messages=~w heap=~w total_heap=~w min_heap=~w stack=~w memory=~w",
          [Name, P, Status, IM, IF, IA, CM, CF, CA, Leader, Priority, Trap, Queue, Heap, Total,
           Minimum, Stack, Memory]),
     [line("link ~ts ~w", [Name, L]) || L <- Links],
     [line("monitor ~ts ~w", [Name, M]) || {process, M} <- Monitors],
     [line("monitored_by ~ts ~w", [Name, M]) || M <- MonitoredBy],
     [line("frame ~ts ~w ~ts", [Name, N, frame(F)]) || {N, F} <- numbered(Trace)],
     [line("message ~ts ~w ~0tp", [Name, N, M]) || {N, M} <- numbered(Messages)],
     [line("dictionary ~ts {~0tp,~0tp}", [Name, K, V]) || {K, V} <- Dictionary]].

numbered(List) ->
    lists:zip(lists:seq(1, length(List)), List).

frame({M, F, A, []}) ->
    line("~tw:~tw/~w", [M, F, A]);
frame({M, F, A, [{file, File}, {line, Line}]}) ->
    Name = lists:last(string:tokens(File, "/")),
    line("~tw:~tw/~w ~ts:~w", [M, F, A, Name, Line]).

table(T) ->
    Info = ets:info(T),
    Get = fun(Key) -> proplists:get_value(Key, Info) end,
    Name = Get(name),
    [line("table ~ts ~w ~w owner=~w size=~w memory=~w keypos=~w named=~w compressed=~w read=~w "
          "write=~w decentralized=~w heir=~w",
          [Name, Get(type), Get(protection), Get(owner), Get(size), Get(memory), Get(keypos),
           Get(named_table), Get(compressed), Get(read_concurrency), Get(write_concurrency),
           Get(decentralized_counters), Get(heir)]),
     [line("object ~ts ~0tp", [Name, O]) || not Get(compressed), O <- ets:tab2list(T)]].

port(P) ->
    Info = erlang:port_info(P),
    Get = fun(Key) -> proplists:get_value(Key, Info) end,
    Of = fun(Key) -> case erlang:port_info(P, Key) of {_, V} -> V; [] -> undefined end end,
    OsPid = case Of(os_pid) of undefined -> undefined; _ -> known end,
    line("port ~w ~ts registered=~ts connected=~w id=~w os_pid=~w input=~w output=~w queue=~w "
         "links=~w memory=~w",
         [P, Get(name), Of(registered_name), Get(connected), Get(id), OsPid, Get(input),
          Get(output), Of(queue_size), length(Get(links)), Of(memory)]).

modules() ->
    [begin
         <<MD5:128>> = M:module_info(md5),
         line("module ~ts functions=~w md5=~32.16.0b",
              [M, length(M:module_info(functions)), MD5])
     end || M <- erlang:loaded()].

functions() ->
    [line("function ~tw:~tw/~w", [?MODULE, F, A]) || {F, A} <- ?MODULE:module_info(functions)].
