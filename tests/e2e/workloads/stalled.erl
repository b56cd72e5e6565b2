%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Processes that wait, each for something else: for a busy socket, for a busy pipe to a program, for
%% the one that suspended it, for answers with and without a timeout, in turns for many answers, and in a
%% hand-written receive with a monitor at hand.  Each notes when it began to wait; the truth is that.
-module(stalled).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, now_ms/0, began/0]).

processes([]) -> [{stalled_keeper, keep}].

init(keep) ->
    process_flag(trap_exit, true),
    ets:new(stalled, [named_table, public]),
    Silent = keep(stalled_silent, fun() -> receive stop -> ok end end),
    Echo = keep(stalled_echo, fun echo/0),
    {ok, Listen} = gen_tcp:listen(0, [{active, false}, {ip, {127, 0, 0, 1}}, {recbuf, 4096}]),
    {ok, Port} = inet:port(Listen),
    {ok, Accepted, Socket} = connect(Listen, Port),
    Sleep = open_port({spawn_executable, os:find_executable("sleep")}, [{args, ["300"]}, stream, binary]),
    {os_pid, OsPid} = erlang:port_info(Sleep, os_pid),
    Victim = keep(stalled_victim, fun() -> receive stop -> ok end end),
    workload:at_rest([Victim]),
    Sender = keep(stalled_sender, fun() -> fill(fun() -> gen_tcp:send(Socket, binary:copy(<<"x">>, 65536)) end) end),
    Writer = keep(stalled_writer, fun() -> fill(fun() -> port_command(Sleep, binary:copy(<<"x">>, 65536)) end) end),
    All = [Silent, Echo, Victim, Sender, Writer,
           keep(stalled_suspender, fun() -> begin_wait(), erlang:suspend_process(Victim),
                                         receive stop -> ok end end),
           keep(stalled_timed, fun() -> call(Silent, 3600000) end),
           keep(stalled_untimed, fun() -> call(Silent, infinity) end),
           keep(stalled_turns, fun() -> turn(Echo) end),
           keep(stalled_monitor, fun() -> hand(monitor(process, Silent)) end)],
    timer:sleep(500),
    #{all => All, sockets => [Listen, Accepted, Socket], sleep => Sleep, os_pid => OsPid,
      peer => Port, socket => Socket, ready => now_ms()}.

keep(Name, Fun) ->
    spawn_link(fun() -> register(Name, self()), Fun() end).

connect(Listen, Port) ->
    Self = self(),
    spawn_link(fun() ->
                       {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port,
                                                 [binary, {active, false}, {sndbuf, 4096}, {high_watermark, 4096}]),
                       ok = gen_tcp:controlling_process(S, Self),
                       Self ! {socket, S}
               end),
    {ok, Accepted} = gen_tcp:accept(Listen),
    receive {socket, S} -> {ok, Accepted, S} end.

now_ms() -> erlang:monotonic_time(millisecond).

begin_wait() ->
    {registered_name, Name} = process_info(self(), registered_name),
    ets:insert(stalled, {Name, now_ms()}).

%% The last that it noted is when it began to wait.
fill(Write) ->
    begin_wait(),
    Write(),
    fill(Write).

call(Server, Timeout) ->
    begin_wait(),
    gen_server:call(Server, x, Timeout).

%% Waits of 150 ms, one after the other; the longest is kept.
turn(Echo) ->
    Began = now_ms(),
    gen_server:call(Echo, x, infinity),
    Took = now_ms() - Began,
    ets:insert(stalled, {longest, max(Took, case ets:lookup(stalled, longest) of [{_, L}] -> L; [] -> 0 end)}),
    turn(Echo).

%% As stalled_NAME -> when, and the longest of all turns.
began() -> maps:from_list(ets:tab2list(stalled)).

echo() ->
    receive {'$gen_call', From, x} -> timer:sleep(150), gen_server:reply(From, x) end,
    echo().

hand(Ref) ->
    receive {Ref, x} -> hand(Ref); {'DOWN', Ref, _, _, _} -> ok end.

step(State) ->
    receive {stop, _} = Stop -> self() ! Stop after infinity -> ok end,
    State.

report([#{all := All, sockets := Sockets, sleep := Sleep, os_pid := OsPid, peer := Peer, socket := Socket,
          ready := Ready}]) ->
    Ports = #{sleep => list_to_binary(erlang:port_to_list(Sleep)),
              socket => list_to_binary(erlang:port_to_list(Socket))},
    [exit(P, kill) || P <- All],
    [catch port_close(S) || S <- Sockets],
    os:cmd("kill " ++ integer_to_list(OsPid)),
    #{ready => Ready, os_pid => OsPid, ports => Ports,
      peer => iolist_to_binary(io_lib:format("127.0.0.1:~b", [Peer]))}.
