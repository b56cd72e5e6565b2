%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Ports of every kind that a node has, quiet once they are there, and what the node says of its
%% ports.
-module(port_zoo).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([ports/0, many/1, numbers/0]).

-define(PORT_DATA, {some, "data", [1, 2, 3]}).

processes([]) ->
    [{port_zoo, all}, {port_zoo_friend, friend}].

init(friend) ->
    idle;
init(all) ->
    process_flag(trap_exit, true),
    Ports = spawned() ++ tcp() ++ udp() ++ [local(), full_pipe()] ++ files(),
    timer:sleep(300),
    tie(hd(Ports)),
    Ports.

step(State) ->
    timer:sleep(20),
    State.

report(_) ->
    #{}.

%% ---- the ports ----------------------------------------------------------------------------

spawned() ->
    Cat = open_port({spawn, "cat"}, [binary, {parallelism, true}]),
    true = port_command(Cat, <<"twelve bytes">>),
    receive {Cat, {data, <<"twelve bytes">>}} -> ok end,
    Lines = open_port({spawn_executable, "/bin/sh"},
                      [{args, ["-c", "printf unfinished; exec sleep 1000"]}, {line, 200}, use_stdio,
                       exit_status]),
    Long = open_port({spawn, "sleep 1000 " ++ lists:duplicate(300, $0)}, [in]),
    register(a_registered_port, Lines),
    [Cat, Lines, Long].

%% A connection with data that nobody reads, in both directions; one that is idle; closed ones.
tcp() ->
    {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}, {backlog, 7},
                                      {recbuf, 8192}, {sndbuf, 8192}]),
    {ok, Number} = inet:port(Listen),
    Connect = fun(Options) ->
                      {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Number,
                                                [binary, {active, false} | Options]),
                      S
              end,
    Client = Connect([]),
    {ok, Server} = gen_tcp:accept(Listen),
    ok = gen_tcp:send(Client, lists:duplicate(1234, $x)),
    %% More than the kernel takes: the rest stays in the port, which is busy then.
    Full = Connect([{sndbuf, 8192}, {send_timeout, 50}, {high_watermark, 20000},
                    {low_watermark, 10000}, {delay_send, false}]),
    {ok, Unread} = gen_tcp:accept(Listen),
    fill(Full, 200),
    %% The timeout has made it free again: over the high watermark for good.
    spawn_link(fun() -> inet:setopts(Full, [{send_timeout, infinity}]),
                        gen_tcp:send(Full, binary:copy(<<"m">>, 10000)) end),
    Waiting = Connect([]), % not accepted
    Six = case gen_tcp:listen(0, [inet6, {ip, {0, 0, 0, 0, 0, 0, 0, 1}}]) of
              {ok, L6} -> [L6];
              {error, _} -> []
          end,
    Half = Connect([]),
    {ok, Peer} = gen_tcp:accept(Listen),
    {ok, Peer2} = gen_tcp:accept(Listen),
    ok = gen_tcp:close(Peer2),
    [Listen, Client, Server, Full, Unread, Waiting, Half, Peer | Six].

fill(_, 0) ->
    ok;
fill(Socket, N) ->
    case gen_tcp:send(Socket, binary:copy(<<"y">>, 4000)) of
        ok -> fill(Socket, N - 1);
        {error, timeout} -> ok
    end.

udp() ->
    {ok, A} = gen_udp:open(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, B} = gen_udp:open(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Number} = inet:port(B),
    ok = gen_udp:send(A, {127, 0, 0, 1}, Number, <<"datagram">>),
    [A, B].

local() ->
    Path = "/tmp/ebeam-e2e-" ++ os:getpid() ++ ".sock",
    {ok, L} = gen_tcp:listen(0, [{ifaddr, {local, Path}}]),
    file:delete(Path),
    L.

%% A process that does not read: the pipe fills up, then the queue of the port.
full_pipe() ->
    Port = open_port({spawn_executable, "/bin/sleep"}, [{args, ["1000"]}, binary]),
    true = port_command(Port, binary:copy(<<"z">>, 300000), [nosuspend]),
    Waiting = [begin
                   Pid = spawn_link(fun() -> port_command(Port, <<"more">>) end),
                   timer:sleep(50),
                   Pid
               end || _ <- [1, 2]],
    persistent_term:put(?MODULE, {Port, Waiting}),
    Port.

files() ->
    {ok, Dir} = file:get_cwd(),
    [open_port({spawn_executable, "/bin/sleep"}, [{args, ["1000"]}, nouse_stdio, {cd, Dir}, out])].

tie(Port) ->
    [spawn(fun() -> link(Port), timer:sleep(infinity) end) || _ <- lists:seq(1, 20)],
    [spawn(fun() -> monitor(port, Port), timer:sleep(infinity) end) || _ <- lists:seq(1, 5)],
    true = erlang:port_set_data(Port, ?PORT_DATA),
    timer:sleep(50).

%% That many more, some of them closed again.
many(N) ->
    Self = self(),
    spawn(fun() ->
                  Ports = [element(2, gen_udp:open(0)) || _ <- lists:seq(1, list_to_integer(N))],
                  [gen_udp:close(P) || {I, P} <- workload:enumerate(Ports), I rem 7 =:= 3],
                  Self ! opened,
                  timer:sleep(infinity)
          end),
    receive opened -> ok end,
    length(erlang:ports()).

%% ---- what the node says -------------------------------------------------------------------

numbers() ->
    [port_text(P) || P <- erlang:ports()].

ports() ->
    [port(P) || P <- erlang:ports()].

port(Port) ->
    Items = [id, name, connected, input, output, os_pid, queue_size, memory, locking, parallelism],
    Facts = maps:from_list([{I, value(erlang:port_info(Port, I))} || I <- Items]),
    {_, Links} = erlang:port_info(Port, links),
    {_, Monitors} = erlang:port_info(Port, monitors),
    {_, MonitoredBy} = erlang:port_info(Port, monitored_by),
    Facts#{port => port_text(Port),
           registered_name => case erlang:port_info(Port, registered_name) of
                                  [] -> null;
                                  {_, Name} -> Name
                              end,
           links => [value({links, P}) || P <- lists:sort(Links)],
           monitors => [value({monitors, P}) || {process, P} <- lists:sort(Monitors)],
           monitored_by => [value({monitored_by, P}) || P <- lists:sort(MonitoredBy)],
           suspended => suspended(Port),
           socket => socket(Port)}.

value({_, undefined}) -> null;
value({_, Pid}) when is_pid(Pid) -> list_to_binary(pid_to_list(Pid));
value({name, Text}) -> unicode:characters_to_binary(Text);
value({_, Value}) -> Value.

port_text(Port) -> list_to_binary(erlang:port_to_list(Port)).

%% Processes that were suspended in port_command/2 and wait to go on: first come, first served.
suspended(Port) ->
    case persistent_term:get(?MODULE, none) of
        {Port, Pids} -> [list_to_binary(pid_to_list(P)) || P <- Pids,
                         {status, suspended} =:= process_info(P, status)];
        _ -> []
    end.

socket(Port) ->
    case {erlang:port_info(Port, name), catch inet:getfd(Port)} of
        {{name, Name}, {ok, Fd}} when Name =:= "tcp_inet"; Name =:= "udp_inet" ->
            {ok, Status} = prim_inet:getstatus(Port),
            #{fd => Fd, status => Status, local => address(catch inet:sockname(Port)),
              peer => address(catch inet:peername(Port)), stat => stat(Port)};
        _ ->
            null
    end.

stat(Port) ->
    {ok, Stat} = inet:getstat(Port),
    maps:from_list(Stat).

address({ok, {local, Path}}) -> unicode:characters_to_binary(Path);
address({ok, {Ip, Number}}) when is_tuple(Ip) ->
    Text = inet:ntoa(Ip),
    iolist_to_binary(case tuple_size(Ip) of
                         4 -> [Text, $:, integer_to_list(Number)];
                         8 -> [$[, Text, "]:", integer_to_list(Number)]
                     end);
address(_) -> null.
