%% SPDX-License-Identifier: BSD-2-Clause
%% For the views that add up events: an exact number of things, and what the node itself counts.
%%
%%   node.ask("views", "collect", N)     N minor and N major collections of a process of a name
%%   node.ask("views", "fill", N)        a process that runs out of heap in a function of its own
-module(views).
-export([collect/1, fill/1]).
-export([collector/2, filler/2, filled/2]).

pid(P) -> list_to_binary(pid_to_list(P)).

collect(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {Number0, Words0, 0} = statistics(garbage_collection),
    {P, Ref} = spawn_opt(?MODULE, collector, [N, Self], [monitor, {min_heap_size, 20000}]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    {Number, Words, 0} = statistics(garbage_collection),
    #{pid => pid(P), minor => N, major => N, number => Number - Number0, words => Words - Words0}.

%% Its heap is large enough for all that it does: there is no other collection than those.  It holds
%% a list all the time: with nothing for the old heap a minor collection goes over into a major one.
collector(N, _) ->
    register(views_collector, self()),
    Held = lists:seq(1, 1000),
    erlang:garbage_collect(),
    collect_minor(N),
    collect_major(N),
    1000 = length(Held).

collect_minor(0) -> ok;
collect_minor(N) ->
    _ = lists:seq(1, 100),
    erlang:garbage_collect(self(), [{type, minor}]),
    collect_minor(N - 1).

%% The first major one was that of collector/2.
collect_major(1) -> ok;
collect_major(N) ->
    _ = lists:seq(1, 100),
    erlang:garbage_collect(),
    collect_major(N - 1).

fill(Count) ->
    {P, Ref} = spawn_monitor(?MODULE, filler, [list_to_integer(Count), []]),
    receive {'DOWN', Ref, process, P, normal} -> ok end,
    #{pid => pid(P)}.

filler(0, _) -> ok;
filler(N, _) -> _ = length(filled(5000, [])), filler(N - 1, []).

filled(0, List) -> List;
filled(N, List) -> filled(N - 1, [{N, N, N} | List]).
