%% SPDX-License-Identifier: BSD-2-Clause
%% Processes in exact numbers, of known initial calls, parents and ends.
%%
%%   node.ask("process_lives", "lives", N)     N workers, N that crash, N of proc_lib, N that stay; one parent
%%   node.ask("process_lives", "restarts", N)  a supervisor whose only child crashes N times
%%   node.ask("process_lives", "pile", N)      N that stay, in a second or two; one parent: lives_pile
%%   node.ask("process_lives", "stop")         ends those that stay
-module(process_lives).
-behaviour(supervisor).
-export([lives/1, restarts/1, pile/1, stop/0]).
-export([worker/1, crasher/1, of_proc_lib/1, stays/0, init/1, child/1, handle_call/3, handle_cast/2]).

%% With what is before it longer than 100 characters, of which the last ones matter.
-define(WHY, {a_call_of_a_server_that_did_not_answer_in_time, in_a_function_with_a_long_name, the_reason}).

pid(P) -> list_to_binary(pid_to_list(P)).

%% Runs a fun in a process with a name and waits for what it returns.
in_process(Name, Fun) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> register(Name, self()), Self ! {done, self(), Fun()} end),
    receive
        {done, P, Result} -> receive {'DOWN', Ref, process, P, _} -> {P, Result} end;
        {'DOWN', Ref, process, P, Reason} -> error({died, Reason})
    end.

lives(Count) ->
    N = list_to_integer(Count),
    logger:set_primary_config(level, none),
    {Parent, Stay} = in_process(lives_parent, fun() -> start_all(N) end),
    persistent_term:put(process_lives, Stay),
    logger:set_primary_config(level, notice),
    #{parent => pid(Parent), stay => [pid(P) || P <- Stay]}.

start_all(N) ->
    Numbers = lists:seq(1, N),
    Ended = [spawn_monitor(?MODULE, worker, [I]) || I <- Numbers] ++
        [spawn_monitor(?MODULE, crasher, [I]) || I <- Numbers] ++
        [begin
             P = proc_lib:spawn(?MODULE, of_proc_lib, [self()]),
             Ref = monitor(process, P),
             P ! go,
             {P, Ref}
         end || _ <- Numbers],
    [receive {'DOWN', Ref, process, P, _} -> ok end || {P, Ref} <- Ended],
    [spawn(?MODULE, stays, []) || _ <- Numbers].

pile(Count) ->
    {_, Stay} = in_process(lives_pile, fun() ->
        [begin
             I rem 100 =:= 0 andalso timer:sleep(1),
             spawn(?MODULE, stays, [])
         end || I <- lists:seq(1, list_to_integer(Count))]
    end),
    persistent_term:put(process_lives, Stay),
    #{}.

worker(I) -> receive after 20 -> I end.
crasher(I) -> exit({crashed, self(), make_ref(), I, [-I, I * 1.5]}).
of_proc_lib(_) -> receive go -> exit({shutdown, self()}) end.
stays() -> receive stop -> ok end.

stop() ->
    [begin
         Ref = monitor(process, P),
         P ! stop,
         receive {'DOWN', Ref, process, P, _} -> ok end
     end || P <- persistent_term:get(process_lives)],
    persistent_term:erase(process_lives),
    #{}.

%% ---- restarts -----------------------------------------------------------------------------

restarts(Count) ->
    N = list_to_integer(Count),
    logger:set_primary_config(level, none),
    {_, Sup} = in_process(lives_starter, fun() ->
        process_flag(trap_exit, true),
        {ok, Sup} = supervisor:start_link({local, lives_supervisor}, ?MODULE, sup),
        [crash() || _ <- lists:seq(1, N)],
        Ref = monitor(process, Sup),
        exit(Sup, shutdown),
        receive {'DOWN', Ref, process, Sup, _} -> ok end,
        Sup
    end),
    logger:set_primary_config(level, notice),
    #{supervisor => pid(Sup)}.

%% Waits until there is another one.
crash() ->
    Old = whereis(lives_child),
    gen_server:cast(lives_child, crash),
    await(Old).

await(Old) ->
    case whereis(lives_child) of
        Old -> timer:sleep(1), await(Old);
        undefined -> timer:sleep(1), await(Old);
        _ -> ok
    end.

init(sup) ->
    {ok, {#{intensity => 100000, period => 1},
          [#{id => child, start => {?MODULE, child, [child]}}]}};
init(child) ->
    {ok, none}.

child(Arg) -> gen_server:start_link({local, lives_child}, ?MODULE, Arg, []).
handle_call(_, _, S) -> {reply, ok, S}.
handle_cast(crash, S) -> exit({made_to_crash, self(), ?WHY}), {noreply, S}.
