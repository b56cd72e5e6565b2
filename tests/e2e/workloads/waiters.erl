%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Processes that wait for each other's answers: a chain of three servers with many clients, two that
%% call each other, a child that calls the supervisor that starts it, and requests of other kinds.
%% The truth is who waits for whom.
-module(waiters).
-behaviour(workload).
-behaviour(gen_server).
-export([processes/1, init/1, step/1, report/1, handle_call/3, handle_cast/2, handle_info/2,
         start_child/2, idle/3]).

processes([Clients]) -> [{waiters_keeper, {keep, list_to_integer(Clients)}}].

init({keep, Clients}) ->
    process_flag(trap_exit, true),
    [A, B, C, D1, D2] = [server(N) || N <- [wait_a, wait_b, wait_c, wait_d1, wait_d2]],
    gen_server:cast(C, sleep),
    gen_server:cast(B, {call, C}),
    gen_server:cast(A, {call, B}),
    gen_server:cast(D1, {call, D2}),
    gen_server:cast(D2, {call, D1}),
    Callers = [spawn_link(fun() -> gen_server:call(A, anything, infinity) end)
               || _ <- lists:seq(1, Clients)],
    {ok, Sup} = supervisor:start_link(?MODULE, supervisor),
    Starter = spawn_link(fun() -> supervisor:start_child(Sup, [self()]) end),
    Child = receive {child, Child0} -> Child0 end,
    Silent = spawn_link(fun() -> receive stop -> ok end end),
    Others = [{spawn_link(fun() -> by_hand(Silent) end), Silent},
              {spawn_link(fun() -> io:get_line(Silent, "") end), Silent},
              {spawn_link(fun() -> gen_statem:call(Silent, x, infinity) end), Silent},
              {spawn_link(fun() -> gen_event:sync_notify(Silent, x) end), Silent},
              {spawn_link(fun() -> gen_server:call(Silent, x, 3600000) end), Silent},
              {spawn_link(fun() -> late_answer(Silent) end), Silent}],
    %% These hold a reference or a pid, too, but wait for nobody's answer.
    Idle = [spawn_link(fun() -> idle(monitor(process, Silent), Silent, x) end),
            spawn_link(fun() -> idle(make_ref(), Silent, x) end)],
    workload:at_rest([A, B, C, D1, D2, Sup, Starter, Child, Silent] ++ Callers ++ Idle ++ [P || {P, _} <- Others]),
    Edges = [{P, A} || P <- Callers] ++
        [{A, B}, {B, C}, {D1, D2}, {D2, D1}, {Starter, Sup}, {Sup, Child}, {Child, Sup} | Others],
    #{edges => Edges, all => [A, B, C, D1, D2, Sup, Starter, Child, Silent] ++ Callers ++ Idle
        ++ [P || {P, _} <- Others]};
init(supervisor) ->
    {ok, {{simple_one_for_one, 1, 5},
          [#{id => child, start => {?MODULE, start_child, [whereis(waiters_keeper)]},
             restart => temporary}]}};
init({child, Keeper, Sup}) ->
    Keeper ! {child, self()},
    {ok, supervisor:count_children(Sup)};
init(server) ->
    {ok, idle}.

start_child(Keeper, _) ->
    gen_server:start_link(?MODULE, {child, Keeper, self()}, []).

server(Name) ->
    {ok, Pid} = gen_server:start_link({local, Name}, ?MODULE, server, []),
    Pid.

handle_call(_, _, State) -> {noreply, State}.
handle_cast(sleep, State) -> receive never -> ok end, {noreply, State};
handle_cast({call, Other}, State) -> gen_server:call(Other, hello, infinity), {noreply, State}.
handle_info(_, State) -> {noreply, State}.

by_hand(Other) ->
    Ref = erlang:monitor(process, Other, [{alias, reply_demonitor}]),
    Other ! {request, Ref, self()},
    receive
        {Ref, Answer} -> Answer;
        {'DOWN', Ref, _, _, Why} -> exit(Why)
    end.

late_answer(Other) ->
    Request = gen_server:send_request(Other, x),
    gen_server:receive_response(Request, infinity).

idle(Ref, Pid, X) ->
    receive
        {Ref, Y} -> idle(Ref, Pid, Y);
        {Pid, Y} -> idle(Ref, Pid, {X, Y})
    end.

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{edges := Edges, all := All}]) ->
    [exit(P, kill) || P <- All],
    #{edges => [[list_to_binary(pid_to_list(F)), list_to_binary(pid_to_list(T))]
                || {F, T} <- Edges]}.
