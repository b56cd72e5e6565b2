%% SPDX-License-Identifier: BSD-2-Clause
%% Crash dumps that ebeam writes, against what the node says of itself.
%%
%%   node.ask("crashdump_facts", "zoo")             processes with what a dump can show
%%   node.ask("crashdump_facts", "write", FILE)     what the node says now
%%   erl -run crashdump_facts compare DUMP BEFORE AFTER   what OTP's crashdump_viewer reads, of all
%%       that was the same before and after the dump; one line of JSON
%%
%% In both, a term has the form that the viewer gives it: identifiers are lists, funs are named.
-module(crashdump_facts).
-export([zoo/0, write/1, compare/1, secrets/0, all/1, grep/1]).

%% ---- the node ------------------------------------------------------------------------------

zoo() ->
    Self = self(),
    Pids = [spawn(fun() -> Do(), Self ! {ready, self()}, wait(self()) end)
            || Do <- [fun dictionary/0, fun links/0, fun monitors/0, fun timers/0, fun tables/0]],
    [receive {ready, P} -> ok end || P <- Pids],
    Mailbox = spawn(fun() -> wait(mailbox) end),
    register('crashdump mailbox', Mailbox),
    [Mailbox ! M || M <- [hello, {a, [b, <<"c">>]}, <<0:5>>, binary:copy(<<"large">>, 1000),
                          maps:from_list([{N, [N]} || N <- lists:seq(1, 100)])]],
    Deep = spawn(fun() -> deep(50, Self) end),
    receive {ready, Deep} -> ok end,
    Sensitive = spawn(fun() ->
                          process_flag(sensitive, true), put(key, hidden_from_dumps),
                          Self ! {ready, self()}, wait(hidden_from_dumps)
                      end),
    receive {ready, Sensitive} -> ok end,
    Port = open_port({spawn, "cat"}, [binary]),
    port_command(Port, <<"0123456789">>),
    register(crashdump_port, Port),
    [persistent_term:put(K, V)
     || {K, V} <- [{'a|b', "bar in its key"}, {{?MODULE, <<"key">>}, lists:seq(1, 50)},
                   {'c\nd', maps:from_list([{N, {N}} || N <- lists:seq(1, 100)])},
                   {refc, binary:copy(<<"0123456789">>, 100)}]],
    lists:foreach(fun erlang:garbage_collect/1, Pids),
    #{sensitive => text(Sensitive)}.

wait(What) -> receive {stop, _} -> What end.

deep(0, To) -> To ! {ready, self()}, wait(deep), ok;
deep(N, To) -> try deep(N - 1, To), {N, self()} catch _ -> N end.

dictionary() ->
    Literal = {literal, "text", #{a => 1, "b" => <<"c">>}},
    [put(K, V) || {K, V} <- [{small, -1}, {big, 1 bsl 200}, {negative, -(1 bsl 64)}, {float, 1.0e-300},
                             {empty, {[], {}, #{}, <<>>, ""}}, {'odd\nkey', 'odd\nvalue'},
                             {bits, <<5:3, "abc">>}, {port, hd(erlang:ports())}, {pid, self()},
                             {literal, Literal}, {ref, make_ref()}, {table, ets:new(t, [])},
                             {export, fun lists:map/2}, {local, fun() -> Literal end},
                             {flat, #{x => [1], y => #{x => 2, y => 3}}},
                             {hash, maps:from_list([{{N}, #{N => N}} || N <- lists:seq(1, 1000)])},
                             {refc, binary:copy(<<"0123456789">>, 100)}]],
    put(sub, binary:part(get(refc), 15, 700)),
    put(improper, [1, 2 | 3]).

links() -> [spawn_link(fun() -> wait(link) end) || _ <- lists:seq(1, 10)], put(links, true).

monitors() -> [monitor(process, P) || P <- [whereis(init), whereis(kernel_sup), init]].

timers() ->
    register(crashdump_timers, self()),
    erlang:send_after(100000, self(), {timer, "of pid"}),
    erlang:send_after(200000, crashdump_timers, {timer, 'of name'}).

tables() ->
    [ets:insert(ets:new(crashdump_table, [T, P]), [{N, N} || N <- lists:seq(1, 100)])
     || T <- [set, ordered_set, bag, duplicate_bag], P <- [public, protected]],
    ets:new('named table', [named_table, compressed, {read_concurrency, true}]).

secrets() ->
    Self = self(),
    Pid = spawn(fun() ->
                    put(password, "hunter2"), put(pair, {token, <<"hunter2">>}),
                    put(map, #{api_key => <<"hunter2">>, "secret" => hunter2, user => "me"}),
                    put(large, maps:put(password, <<"hunter2">>,
                                        maps:from_list([{N, N} || N <- lists:seq(1, 50)]))),
                    put(keywords, [{user, "me"}, {db_password, "hunter2"}]),
                    persistent_term:put(db_password, <<"hunter2">>),
                    persistent_term:put({?MODULE, api_key}, "hunter2"),
                    persistent_term:put({?MODULE, user}, "me"),
                    erlang:garbage_collect(),
                    Self ! {ready, self()},
                    wait(secrets)
                end),
    receive {ready, Pid} -> #{pid => text(Pid)} end.

%% ---- what it says --------------------------------------------------------------------------

write(File) ->
    Processes = maps:from_list([{pid_to_list(P), process(Info)}
                                || P <- processes(), not lists:member(P, busy()),
                                   Info <- [process_info(P, keys())], is_list(Info)]),
    Facts = #{node => node(), processes => Processes,
              ports => maps:from_list([{erlang:port_to_list(P), port(P)} || P <- erlang:ports()]),
              tables => maps:from_list([{I, table(T)} || T <- ets:all(), I <- [table_id(T)],
                                                          is_list(ets:info(T))]),
              modules => lists:sort([quoted(M) || {M, _} <- code:all_loaded()]),
              funs => maps:from_list([{{list_to_binary(M), I}, Facts}
                                      || F <- local_funs(), #{module := M, index := I} = Facts <- [fun_facts(F)]]),
              taints => erlang:system_info(taints),
              persistent => lists:sort([{norm(K), norm(V)} || {K, V} <- persistent_term:get()]),
              atoms => erlang:system_info(atom_count), memory => erlang:memory(total)},
    ok = file:write_file(File, term_to_binary(Facts, [{minor_version, 2}])),
    #{processes => map_size(Processes)}.

%% Funs without variables are literals, of which there is one each.
local_funs() -> [fun wait/1, fun links/0, fun text/1, fun norm/1, fun() -> ok end, fun(_) -> ok end].

%% Their references are counted up to OTP 27; in 25 who asks makes them, and so has references itself.
fun_facts(F) ->
    Info = fun(K) -> element(2, erlang:fun_info(F, K)) end,
    Release = list_to_integer(erlang:system_info(otp_release)),
    References = [{references, Info(refc)} || Release > 25, Release < 28],
    maps:from_list([{module, quoted(Info(module))}, {uniq, Info(uniq)}, {index, Info(index)} | References]).

%% Those that answer this question.
busy() ->
    [self() | [whereis(N) || N <- [user, user_drv, user_drv_reader, user_drv_writer, code_server,
                                   file_server_2]]].

keys() -> [registered_name, initial_call, links, monitors, monitored_by, message_queue_len,
           heap_size, memory, status, messages, dictionary, current_stacktrace].

process(Info) ->
    Get = fun(K) -> proplists:get_value(K, Info) end,
    Name = case Get(registered_name) of [] -> none; N -> quoted(N) end,
    {M, F, A} = Get(initial_call),
    #{name => Name, spawned_as => mfa(M, F, A), queue => Get(message_queue_len),
      links => lists:sort([text(L) || L <- Get(links)]),
      monitors => lists:sort([text(P) || {_, M} <- Get(monitors), P <- [by_pid(M)], P =/= other]),
      monitored_by => lists:sort([text(P) || P <- Get(monitored_by), is_pid(P) orelse is_port(P), P =/= self()]),

      heap => Get(heap_size) * 8, memory => Get(memory), waits => Get(status) =:= waiting,
      messages => norm(Get(messages)), dictionary => lists:sort(norm(Get(dictionary))),
      stack => [mfa(M1, F1, A1) || {M1, F1, A1, _} <- Get(current_stacktrace), is_integer(A1)]}.

%% The viewer knows the processes of this node that are monitored by name.
by_pid({Name, Node}) when Node =:= node() -> whereis(Name);
by_pid({_, _}) -> other;
by_pid(Id) -> Id.

port(P) ->
    Info = erlang:port_info(P),
    Get = fun(K) -> proplists:get_value(K, Info) end,
    #{slot => Get(id) band (1 bsl 28 - 1), connected => text(Get(connected)), name => Get(name),
      links => lists:sort([text(L) || L <- Get(links)]), input => Get(input), output => Get(output)}.

table(T) ->
    #{name => quoted(ets:info(T, name)), owner => text(ets:info(T, owner)), size => ets:info(T, size),
      bytes => ets:info(T, memory) * 8, type => atom_to_list(ets:info(T, type)),
      protection => atom_to_list(ets:info(T, protection))}.

table_id(T) when is_atom(T) -> quoted(T);
table_id(T) -> ref_to_list(T).

%% ---- terms as the viewer gives them --------------------------------------------------------

norm(Pid) when is_pid(Pid) -> ['#CDVPid' | numbers(pid_to_list(Pid))];
norm(Port) when is_port(Port) -> ['#CDVPort' | numbers(erlang:port_to_list(Port))];
norm(Fun) when is_function(Fun) ->
    Info = fun(K) -> element(2, erlang:fun_info(Fun, K)) end,
    case Info(type) of
        external -> {'$export', Info(module), Info(name), Info(arity)};
        local -> {'$fun', Info(module), Info(new_index), Info(new_uniq), Info(arity)}
    end;
norm(['#CDVBin', Offset, Size, At]) ->
    {ok, Bin} = crashdump_viewer:expand_binary({Offset, Size, At}),
    Bin;
norm([H | T]) -> [norm(H) | norm(T)];
norm(Tuple) when tuple_size(Tuple) > 0, is_atom(element(1, Tuple)) ->
    %% Native records (OTP 29), of which only the viewer's form shows the name.
    case atom_to_list(element(1, Tuple)) of
        "#" ++ _ -> '$record';
        _ -> list_to_tuple(norm(tuple_to_list(Tuple)))
    end;
norm(Tuple) when is_tuple(Tuple) -> list_to_tuple(norm(tuple_to_list(Tuple)));
%% As pairs, since funs that differ in their free variables have the same form.
norm(Map) when is_map(Map) -> {'$map', lists:sort([{norm(K), norm(V)} || {K, V} <- maps:to_list(Map)])};
norm(Term) when is_list(Term); is_atom(Term); is_number(Term); is_bitstring(Term); is_reference(Term) ->
    Term;
norm(_) -> '$record'.

numbers(Text) ->
    [list_to_integer(N) || N <- string:lexemes(lists:dropwhile(fun(C) -> C =/= $< end, Text), "<.>")].

text(P) when is_pid(P) -> list_to_binary(pid_to_list(P));
text(P) when is_port(P) -> list_to_binary(erlang:port_to_list(P)).

quoted(Atom) -> lists:flatten(io_lib:format("~tw", [Atom])).

mfa(M, F, A) -> lists:flatten(io_lib:format("~tw:~tw/~w", [M, F, A])).

%% ---- what the viewer reads -----------------------------------------------------------------

compare([Dump, Before, After]) ->
    {ok, B} = file:read_file(Before),
    {ok, A} = file:read_file(After),
    read(Dump),
    put(counts, #{}),
    put(wrong, []),
    Answer = compare(binary_to_term(B), binary_to_term(A)),
    io:format("~ts~n", [workload:json(Answer#{counts => get(counts),
                                              wrong => [short(W) || W <- get(wrong)]})]),
    halt(0).

read(Dump) ->
    load(observer_lib),
    Forms = load(crashdump_viewer),
    put(records, maps:from_list([{Name, [field(F) || F <- Fields]}
                                 || {attribute, _, record, {Name, Fields}} <- Forms])),
    {ok, _} = crashdump_viewer:start_link(),
    crashdump_viewer:read_file(Dump).

%% Compiles a module of another release from its debug information.
load(Module) ->
    {ok, {_, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(code:which(Module), [abstract_code]),
    {ok, Module, Code} = compile:forms(Forms, []),
    {module, Module} = code:load_binary(Module, "", Code),
    Forms.

field({record_field, _, {atom, _, Name}}) -> Name;
field({record_field, _, {atom, _, Name}, _}) -> Name;
field({typed_record_field, F, _}) -> field(F).

to_map(Record) ->
    [Name | Values] = tuple_to_list(Record),
    maps:from_list(lists:zip(maps:get(Name, get(records)), Values)).

compare(Before, After) ->
    {ok, General, Warning} = crashdump_viewer:general_info(),
    same(warning, [], Warning),
    #{node_name := Node, taints := Taints, system_vsn := Version, slogan := Slogan} = to_map(General),
    same(node, quoted(maps:get(node, Before)), Node),
    {ok, Rows, []} = crashdump_viewer:processes(),
    Processes = maps:from_list([{pid_to_list(P), to_map(R)} || R <- Rows, #{pid := P} <- [to_map(R)]]),
    each(process, processes, Before, After, fun(Pid) -> details(Pid, Processes) end, fun process_wrong/3),
    {ok, Ports, []} = crashdump_viewer:ports(),
    PortRows = maps:from_list([{lists:flatten(io_lib:format("#Port<~w.~w>", [A, B])), to_map(P)}
                               || P <- Ports, #{id := {A, B}} <- [to_map(P)]]),
    each(port, ports, Before, After, fun(Id) -> maps:get(Id, PortRows, none) end, fun port_wrong/3),
    {ok, Tables, []} = crashdump_viewer:ets_tables(all),
    TableRows = maps:from_list([{Id, to_map(T)} || T <- Tables, #{id := Id} <- [to_map(T)]]),
    each(table, tables, Before, After, fun(Id) -> maps:get(Id, TableRows, none) end, fun table_wrong/3),
    {ok, Funs, []} = crashdump_viewer:funs(),
    FunRows = maps:from_list([{{list_to_binary(M), I}, R}
                              || F <- Funs, #{module := M, index := I} = R <- [to_map(F)]]),
    each('fun', funs, Before, After, fun({M, I}) -> maps:get({M, I}, FunRows, none) end, fun fun_wrong/3),
    {ok, Modules, []} = crashdump_viewer:loaded_modules(),
    Names = lists:sort([module_name(M) || M <- Modules]),
    maps:get(modules, Before) =:= maps:get(modules, After) andalso
        same(modules, maps:get(modules, Before), Names),
    {ok, Atoms, []} = crashdump_viewer:atoms(),
    same(atoms, true, length(Atoms) >= maps:get(atoms, Before) andalso
                          length(Atoms) =< maps:get(atoms, After)),
    same(taints, maps:get(taints, Before), taints(Taints)),
    {ok, Persistent, []} = crashdump_viewer:persistent_terms(),
    check(persistent, stay(Before, After), persistent, lists:sort(norm(Persistent))),
    {ok, Timers, []} = crashdump_viewer:timers(all),
    {ok, Memory, []} = crashdump_viewer:memory(),
    {ok, Areas, []} = crashdump_viewer:allocated_areas(),
    {ok, [{"Allocator Summary", _, [{"total", [Blocks, _, _]} | _]} | _], []} =
        crashdump_viewer:allocator_info(),
    {ok, Schedulers, []} = crashdump_viewer:schedulers(),
    {ok, IndexTables, []} = crashdump_viewer:index_tables(),
    {ok, Nodes, []} = crashdump_viewer:dist_info(),
    #{version => list_to_binary(Version), slogan => list_to_binary(Slogan),
      memory => list_to_integer(proplists:get_value(total, Memory)), blocks => list_to_integer(Blocks),
      node_memory => maps:get(memory, Before), areas => length(Areas), schedulers => length(Schedulers),
      index_tables => [list_to_binary(N) || T <- IndexTables, #{name := N} <- [to_map(T)]],
      timers => [#{message => list_to_binary(M), left => L} || T <- Timers, #{msg := M, time := L} <- [to_map(T)]],
      nodes => [list_to_binary(N) || T <- Nodes, #{name := N} <- [to_map(T)]],
      processes => length(Rows), stay => [list_to_binary(P) || P <- maps:keys(Processes)]}.

module_name(M) ->
    #{mod := {Name, Quote}} = to_map(M),
    unicode:characters_to_list([case Quote of q -> "'"; nq -> "" end, Name]).

taints("(none)") -> [];
taints(Text) -> [list_to_atom(T) || T <- string:lexemes(Text, ",")].

details(Pid, Processes) ->
    case {Processes, crashdump_viewer:proc_details(Pid)} of
        {#{Pid := _}, {ok, D, Warning}} -> maps:put(warning, Warning, to_map(D));
        {_, Other} -> Other
    end.

%% Calls Wrong(Id, What, Row) for each fact that was the same before and after.
each(Kind, Key, #{} = Before, After, Row, Wrong) ->
    Now = maps:get(Key, After),
    maps:foreach(fun(Id, Facts) ->
                     case Now of
                         #{Id := Facts2} ->
                             Stay = stay(Facts, Facts2),
                             case Row(Id) of
                                 #{} = R -> count(Kind), Wrong(Id, Stay, R);
                                 Other -> wrong({Kind, Id, missing, Other})
                             end;
                         _ -> gone
                     end
                 end, maps:get(Key, Before)).

stay(Facts, Now) -> maps:filter(fun(K, V) -> maps:get(K, Now) =:= V end, Facts).

process_wrong(Pid, Facts, D) ->
    same({Pid, warning}, [], maps:get(warning, D)),
    Same = fun(Key, Value) -> check({Pid, Key}, Facts, Key, Value) end,
    Spawned = maps:get(init_func, D),
    Name = maps:get(name, D),
    Same(name, if Name =:= Spawned -> none; true -> Name end),
    Same(spawned_as, Spawned),
    Same(queue, maps:get(msg_q_len, D)),
    Same(links, ids(maps:get(links, D))),
    Same(monitors, ids(maps:get(monitors, D))),
    Same(monitored_by, ids(maps:get(mon_by, D))),
    Same(heap, maps:get(stack_heap, D)),
    Same(memory, maps:get(memory, D)),
    Sensitive = maps:get(dict, D) =:= [] andalso maps:get(stack_dump, D) =:= [],
    Sensitive andalso count(without_data),
    Sensitive orelse Same(messages, norm([M || {M, _} <- maps:get(msg_q, D)])),
    Sensitive orelse Same(dictionary, lists:sort(norm(maps:get(dict, D)))),
    case Facts of
        #{waits := true, stack := [_ | Stack]} when not Sensitive ->
            check_stack(Pid, Stack, maps:get(stack_dump, D));
        _ -> ok
    end.

%% The functions that the frames return to; equal ones that follow each other once, as the node
%% shows them, and of a long stack only the node's first ones.
check_stack(Pid, Stack, Dump) ->
    Frames = [F || {_, "Return addr " ++ Text} <- Dump, F <- [frame(Text)], F =/= "<terminate"],
    Short = lists:sublist(once(Frames), length(once(Stack))),
    same({Pid, stack}, once(Stack), Short).

frame(Text) ->
    [_, Function] = string:split(Text, "("),
    hd(string:split(Function, " ")).

once([F, F | T]) -> once([F | T]);
once([F | T]) -> [F | once(T)];
once([]) -> [].

%% Monitors by name have no pid that the viewer knows.
ids(undefined) -> [];
ids(List) -> lists:sort([list_to_binary(I) || {[C, D | _] = I, _} <- List, C =:= $# orelse D =< $9]).

port_wrong(Id, Facts, D) ->
    Same = fun(Key, Value) -> check({Id, Key}, Facts, Key, Value) end,
    Same(slot, maps:get(slot, D)),
    Same(connected, text(maps:get(connected, D))),
    Same(links, ids(maps:get(links, D))),
    Same(input, maps:get(input, D)),
    Same(output, maps:get(output, D)),
    same({Id, name}, true, lists:suffix(maps:get(name, Facts), maps:get(controls, D))).

table_wrong(Id, Facts, D) ->
    Same = fun(Key, Value) -> check({Id, Key}, Facts, Key, Value) end,
    {bytes, Bytes} = maps:get(memory, D),
    #{protection := Protection} = maps:get(details, D),
    Same(name, maps:get(name, D)),
    Same(owner, text(maps:get(pid, D))),
    Same(size, maps:get(size, D)),
    Same(bytes, Bytes),
    Same(type, maps:get(data_type, D)),
    Same(protection, Protection).

fun_wrong(Id, Facts, D) ->
    "0x" ++ Address = maps:get(address, D),
    same({Id, address}, true, list_to_integer(Address, 16) > 0),
    check({Id, uniq}, Facts, uniq, maps:get(uniq, D)),
    check({Id, references}, Facts, references, maps:get(refc, D)).

check(What, Facts, Key, Value) ->
    case Facts of
        #{Key := Wanted} -> same(What, Wanted, Value);
        _ -> changed
    end.

same(What, Wanted, Wanted) -> count(case What of {_, Key} -> Key; _ -> What end);
same({_, Key} = What, Wanted, Got) when Key =:= messages; Key =:= dictionary ->
    wrong({What, difference(Wanted, Got)});
same(What, Wanted, Got) -> wrong({What, wanted, Wanted, got, Got}).

%% The first element in which they differ.
difference([X | A], [X | B]) -> difference(A, B);
difference([{K, A} | _], [{K, B} | _]) when is_list(A), is_list(B) -> {K, difference(A, B)};
difference([A | _], [B | _]) -> inner(A, B);
difference(A, B) -> inner(A, B).

inner(A, B) when is_tuple(A), tuple_size(A) =:= tuple_size(B) ->
    inner(tuple_to_list(A), tuple_to_list(B));
inner([X | A], [X | B]) -> inner(A, B);
inner([A | _], [B | _]) -> inner(A, B);
inner(A, B) -> {wanted, A, got, B}.

count(What) -> put(counts, maps:update_with(What, fun(N) -> N + 1 end, 1, get(counts))).

wrong(What) -> put(wrong, [What | get(wrong)]).

short(Term) ->
    Text = unicode:characters_to_binary(io_lib:format("~0tp", [Term])),
    binary:part(Text, 0, min(1000, byte_size(Text))).

%% Has the viewer read everything of every process: it would crash, or warn.
all([Dump]) ->
    read(Dump),
    {ok, Rows, Warning} = crashdump_viewer:processes(),
    Warnings = [W || R <- Rows, {ok, _, W} <- [crashdump_viewer:proc_details(pid_to_list(pid_of(R)))], W =/= []],
    io:format("~ts~n", [workload:json(#{processes => length(Rows), warnings => length([Warning | Warnings]) - 1})]),
    halt(0).

pid_of(Row) -> maps:get(pid, to_map(Row)).

%% Everything that the viewer shows of a process, as text; and whether the dump has a warning.
grep([Dump, Pid]) ->
    read(Dump),
    {ok, Details, Warning} = crashdump_viewer:proc_details(Pid),
    #{dict := Dict, stack_dump := Stack} = to_map(Details),
    {ok, Persistent, []} = crashdump_viewer:persistent_terms(),
    io:format("~ts~n", [workload:json(#{warning => length(Warning), dictionary => length(Dict),
                                        stack => length(Stack),
                                        text => short(lists:sort(norm(Dict))),
                                        persistent => short(lists:sort(norm(Persistent)))})]),
    halt(0).
