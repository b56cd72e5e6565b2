%% SPDX-License-Identifier: BSD-2-Clause
%% Work that all of a node takes part in, so often and so long as the node itself counts.
%%
%%   node.ask("node_wide", "purge", N)     N modules with literals are loaded and purged
%%   node.ask("node_wide", "terms", N)     a persistent term is replaced N times, and erased
%%   node.ask("node_wide", "block", N, MS) schedulers are blocked N times for that long
%%   node.ask("node_wide", "leave", MS)    likewise once, by a process that ends
-module(node_wide).
-export([purge/1, terms/1, block/2, leave/1]).

%% Old code that is there before it is purged is what a purge is about.
purge(Count) ->
    Modules = [compile_module(N) || N <- lists:seq(1, list_to_integer(Count))],
    {Took, Purges} = took(fun() -> [purge_one(M, Binary) || {M, Binary} <- Modules] end),
    rest(),
    #{purges => lists:sum(Purges), took_ns => Took,
      modules => [M || {M, _} <- Modules]}.

purge_one(M, Binary) ->
    {module, M} = code:load_binary(M, atom_to_list(M), Binary),
    Nothing = old(M),
    code:purge(M),
    true = code:delete(M),
    Nothing + old(M) + begin code:purge(M), 0 end.

old(M) ->
    case erlang:check_old_code(M) of
        true -> 1;
        false -> 0
    end.

terms(Count) ->
    N = list_to_integer(Count),
    Key = {?MODULE, [key, 1]},
    persistent_term:put(Key, {first, make_ref()}),
    {Took, _} = took(fun() -> [persistent_term:put(Key, {I, make_ref()}) || I <- lists:seq(1, N)] end),
    true = persistent_term:erase(Key),
    rest(),
    #{areas => N + 1, puts => N + 1, key => <<"{node_wide,[key,1]}">>, took_ns => Took, pid => pid(self())}.

%% What the node was surely blocked for, and what it was at most.
block(Count, Ms) ->
    Times = [block_once(list_to_integer(Ms)) || _ <- lists:seq(1, list_to_integer(Count))],
    #{blocks => length(Times), least_ns => lists:sum([L || {L, _} <- Times]),
      most_ns => lists:sum([M || {_, M} <- Times]),
      longest_ns => lists:max([L || {L, _} <- Times]), pid => pid(self())}.

block_once(Ms) ->
    Before = workload:clock(),
    blocked = erlang:system_flag(multi_scheduling, block),
    From = workload:clock(),
    timer:sleep(Ms),
    Until = workload:clock(),
    enabled = erlang:system_flag(multi_scheduling, unblock),
    {Until - From, workload:clock() - Before}.

leave(Ms) ->
    {P, Ref} = spawn_monitor(fun() ->
                                     blocked = erlang:system_flag(multi_scheduling, block),
                                     From = workload:clock(),
                                     timer:sleep(list_to_integer(Ms)),
                                     exit({blocked, workload:clock() - From})
                             end),
    Least = receive {'DOWN', Ref, process, P, {blocked, Ns}} -> Ns end,
    enabled = erlang:system_info(multi_scheduling),
    #{least_ns => Least, pid => pid(P)}.

%% Until the collector of literal areas has done nothing for a while.
rest() ->
    [Collector] = [P || P <- processes(),
                        {initial_call, {erts_literal_area_collector, start, 0}}
                            =:= process_info(P, initial_call)],
    rest(Collector, undefined).

rest(Collector, Before) ->
    timer:sleep(300),
    case process_info(Collector, [reductions, message_queue_len]) of
        Before -> ok;
        Now -> rest(Collector, Now)
    end.

took(Fun) ->
    From = workload:clock(),
    Result = Fun(),
    {workload:clock() - From, Result}.

pid(P) -> list_to_binary(pid_to_list(P)).

compile_module(N) ->
    M = list_to_atom("literals_" ++ integer_to_list(N)),
    Forms = [{attribute, 1, module, M}, {attribute, 1, export, [{f, 0}]},
             {function, 2, f, 0,
              [{clause, 2, [], [], [erl_parse:abstract({M, "a literal", 1.5})]}]}],
    {ok, M, Binary} = compile:forms(Forms),
    {M, Binary}.
