%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Tables of every kind and with every option, owned by processes on every scheduler; what
%% ets:info/1,2 says of all tables of the node; and, for load, tables that come and go.
%%
%%   start ets_tables keep | start ets_tables churn N
%%   ask ets_tables facts | ask ets_tables objects NAME | ask ets_tables compressed NAME
%%   ask ets_tables fixed_by NAME
-module(ets_tables).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, facts/0, objects/1, compressed/1, fixed_by/1]).

processes(["keep"]) -> [{ets_keeper, keep}];
processes(["churn", N]) -> [{undefined, churn} || _ <- lists:seq(1, list_to_integer(N))].

init(keep) ->
    Heir = spawn_link(fun() -> receive stop -> ok end end),
    lists:foreach(fun({Name, Options, Fill}) -> fill(ets:new(Name, Options), Fill) end,
                  kinds(Heir)),
    ets:delete(ets:new(ets_deleted, [named_table])),
    fixed(),
    split(),
    Self = self(),
    Owners = [spawn_opt(fun() -> owner(Self, S) end, [link, {scheduler, S}])
              || S <- lists:seq(1, erlang:system_info(schedulers)), _ <- [1, 2]],
    [receive {made, P} -> ok end || P <- Owners],
    {keep, Heir, Owners};
init(churn) ->
    {churn, 0}.

%% Name, options, and how it is filled.
kinds(Heir) ->
    [{list_to_atom(lists:concat([ets_, Type, "_", Access, "_", Read, "_", Write, "_", Counters])),
      [Type, Access, named_table, {read_concurrency, Read}, {write_concurrency, Write},
       {decentralized_counters, Counters}], 20}
     || Type <- [set, bag, duplicate_bag, ordered_set], Access <- [public, protected, private],
        Read <- [false, true], Write <- write_concurrency(), Counters <- [false, true]]
        ++ [{ets_empty, [named_table], 0},
            {ets_unnamed, [], 3},
            {ets_twice, [], 1}, {ets_twice, [], 2},
            {'ets odd "name" å\x{3b1}', [named_table], 1},
            {'Elixir.Ets.Alias', [named_table], 5},
            {ets_heir, [named_table, {heir, Heir, {some, <<"data">>}}], 2},
            {ets_keypos, [named_table, {keypos, 3}], keypos},
            {ets_terms, [named_table, ordered_set], terms},
            {ets_large, [named_table, public], 50000},
            {ets_large_ordered, [named_table, public, ordered_set], 20000},
            {ets_large_bag, [named_table, public, bag], 5000},
            {ets_shrunk, [named_table, public], shrunk}]
        ++ [{list_to_atom(lists:concat([ets_compressed_, Type])),
             [Type, named_table, compressed], compressed}
            || Type <- [set, bag, duplicate_bag, ordered_set]].

write_concurrency() -> [false, true] ++ [auto || erlang:system_info(otp_release) >= "25"].

fill(T, terms) ->
    [ets:insert(T, {K, V}) || {K, V} <- workload:enumerate(terms())];
fill(T, compressed) ->
    [ets:insert(T, {{key, K}, V, K, atom}) || {K, V} <- workload:enumerate(terms())];
fill(T, keypos) ->
    [ets:insert(T, {x, "text", {key, I}, I * 1.5}) || I <- lists:seq(1, 30)];
fill(T, shrunk) ->
    fill(T, 30000),
    [ets:delete(T, I) || I <- lists:seq(1, 29990)];
fill(T, N) ->
    [ets:insert(T, {I, {value, integer_to_binary(I)}, [I, I rem 7]}) || I <- lists:seq(1, N)].

terms() ->
    [a, 'odd atom', 0, -1, 1 bsl 59, -(1 bsl 59), 1 bsl 70, -(1 bsl 200), 1.5, -0.0, 1.0e300, [],
     "text", [1 | 2], [a, "b", <<"c">>], {}, {nested, {deep, [{tuple}]}}, <<>>, <<"short">>,
     binary:copy(<<"long enough to be off the heap ">>, 10), <<5:3>>, #{}, #{a => 1, "b" => [2]},
     maps:from_list([{I, I * I} || I <- lists:seq(1, 40)]), [lists:seq(1, 20)], true, [<<"x">>],
     {<<0, 1, 255>>, 'Elixir.Enum'}, lists:duplicate(300, 7)].

%% A table that processes are looking through.
fixed() ->
    T = ets:new(ets_fixed, [named_table, public]),
    fill(T, 100),
    ets:safe_fixtable(T, true),
    Self = self(),
    [begin
         spawn_link(fun() ->
                            [ets:safe_fixtable(T, true) || _ <- lists:seq(1, I)],
                            Self ! fixed,
                            receive stop -> ok end
                    end),
         receive fixed -> ok end
     end || I <- lists:seq(1, 10)],
    [ets:delete(T, I) || I <- lists:seq(1, 50)].

%% One that contention would have split into many; with one scheduler there is none.
split() ->
    T = ets:new(ets_split, [named_table, ordered_set, public, {write_concurrency, true}]),
    Id = ets:whereis(T),
    erts_debug:set_internal_state(available_internal_state, true),
    catch erts_debug:set_internal_state(ets_force_split, {Id, true}),
    fill(T, 500),
    catch erts_debug:set_internal_state(ets_force_split, {Id, false}),
    erts_debug:set_internal_state(available_internal_state, false).

owner(Parent, Scheduler) ->
    T = ets:new(ets_owned, [public, set, {write_concurrency, true},
                            {decentralized_counters, true}]),
    fill(T, Scheduler * 10),
    O = ets:new(ets_owned_ordered, [public, ordered_set, {write_concurrency, true}]),
    fill(O, Scheduler * 10),
    Parent ! {made, self()},
    receive stop -> ok end.

step({keep, _, _} = State) ->
    timer:sleep(20),
    State;
step({churn, N}) ->
    Type = element(N rem 4 + 1, {set, bag, duplicate_bag, ordered_set}),
    Tables = [ets:new(ets_churn, [Type, public, {write_concurrency, N rem 3 =:= 0}])
              || _ <- lists:seq(1, 10)],
    [ets:insert(T, {I, <<"some">>}) || T <- Tables, I <- lists:seq(1, 20)],
    [ets:delete(T) || T <- Tables],
    {churn, N + 1}.

report([{keep, Heir, Owners}]) ->
    [begin unlink(P), exit(P, kill) end || P <- [Heir | Owners]],
    #{};
report(States) ->
    #{tables => 10 * lists:sum([N || {churn, N} <- States])}.

%% ---- what the node says ----------------------------------------------------------------------

facts() ->
    [fact(T, Info) || T <- ets:all(), Info <- [ets:info(T)], is_list(Info)].

fact(T, Info) ->
    I = maps:from_list(Info),
    #{id => text(maps:get(id, I)),
      name => maps:get(name, I),
      type => maps:get(type, I),
      protection => maps:get(protection, I),
      owner => text(maps:get(owner, I)),
      owner_name => case process_info(maps:get(owner, I), registered_name) of
                        {_, Name} -> Name;
                        _ -> null
                    end,
      size => maps:get(size, I),
      memory => maps:get(memory, I),
      bytes => 8 * maps:get(memory, I),
      keypos => maps:get(keypos, I),
      heir => case maps:get(heir, I) of none -> null; Pid -> text(Pid) end,
      compressed => maps:get(compressed, I),
      named_table => maps:get(named_table, I),
      read_concurrency => maps:get(read_concurrency, I),
      write_concurrency => case maps:get(write_concurrency, I) of
                               Atom when is_atom(Atom) -> Atom;
                               Other -> text(Other)
                           end,
      decentralized_counters => maps:get(decentralized_counters, I),
      fixed => ets:info(T, fixed)}.

%% Of a table that all may read.
objects(Name) ->
    [text(O) || O <- ets:tab2list(list_to_atom(Name))].

%% The same, with "..." for what a compressed table holds in external format.
compressed(Name) ->
    Table = list_to_atom(Name),
    [begin
         Key = element(ets:info(Table, keypos), O),
         Texts = [case E =:= Key orelse is_immediate(E) of true -> text(E); false -> "..." end
                  || E <- tuple_to_list(O)],
         iolist_to_binary(["{", lists:join(",", Texts), "}"])
     end || O <- ets:tab2list(Table)].

is_immediate(E) when is_integer(E) -> E >= -(1 bsl 59) andalso E < 1 bsl 59;
is_immediate(E) -> is_atom(E) orelse E =:= [].

fixed_by(Name) ->
    case ets:info(list_to_atom(Name), safe_fixed_monotonic_time) of
        {_, Processes} -> maps:from_list([{text(P), N} || {P, N} <- Processes]);
        false -> #{}
    end.

text(Term) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Term])).
