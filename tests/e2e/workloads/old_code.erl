%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Modules that are loaded twice, or deleted, with processes in their old code and in their new one:
%% on top of the stack, deep in it, in a tail call, only by way of a fun.  The truth is what
%% check_process_code/2 says.
-module(old_code).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes([]) -> [{old_code_keeper, keep}].

init(keep) ->
    [load(M, 1) || M <- [old_one, old_two, old_gone, old_unused]],
    Self = self(),
    Wait = fun() -> Self ! ready, receive stop -> ok end end,
    First = [spawn_link(old_one, wait, [Self]),
             spawn_link(old_two, wait, [Self]),
             spawn_link(old_one, outer, [Wait]),
             spawn_link(old_one, outer, [fun() -> old_two:outer(Wait) end]),
             spawn_link(old_one, outer, [fun() -> old_one:outer(Wait) end]),
             spawn_link(old_one, tail, [Wait]),
             spawn_link(old_gone, outer, [Wait]),
             spawn_link(old_gone, wait, [Self]),
             spawn_link(fun() -> F = old_one:make(1), Self ! ready, receive stop -> F() end end)],
    [receive ready -> ok end || _ <- First],
    [load(M, 2) || M <- [old_one, old_two, old_unused]],
    true = code:delete(old_gone),
    Second = [spawn_link(old_one, wait, [Self]), spawn_link(old_two, outer, [Wait])],
    [receive ready -> ok end || _ <- Second],
    #{all => First ++ Second}.

load(Name, Version) ->
    Lines = ["-module(" ++ atom_to_list(Name) ++ ").",
             "-export([wait/1, outer/1, tail/1, make/1]).",
             "wait(S) -> S ! ready, receive stop -> " ++ integer_to_list(Version) ++ " end.",
             "outer(F) -> [F()].",
             "tail(F) -> F().",
             "make(X) -> fun() -> X + " ++ integer_to_list(Version) ++ " end."],
    Forms = [begin {ok, T, _} = erl_scan:string(L), {ok, F} = erl_parse:parse_form(T), F end
             || L <- Lines],
    {ok, Name, Binary} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "made", Binary).

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{all := All}]) ->
    Old = lists:sort([M || {M, _} <- code:all_loaded(), erlang:check_old_code(M)] ++ [old_gone]),
    Uses = [[pid(P), M] || P <- erlang:processes(), P =/= self(), M <- lists:usort(Old),
                           erlang:check_process_code(P, M)],
    [exit(P, kill) || P <- All],
    #{modules => lists:usort(Old), uses => Uses}.

pid(P) -> list_to_binary(pid_to_list(P)).
