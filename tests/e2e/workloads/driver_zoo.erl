%% SPDX-License-Identifier: BSD-2-Clause
%% Does an exact number of things with ports and their drivers, and says what it did and what the node
%% says of it: ports as "#Port<0.5>", processes as "<0.80.0>".
%%
%%   node.ask("driver_zoo", "load", DIR)           loads the driver zoo_drv from there
%%   node.ask("driver_zoo", "unload")              and unloads it
%%   node.ask("driver_zoo", "spawned", N, BYTES)   N commands of so many bytes to a port that is "cat"
%%   node.ask("driver_zoo", "fd", N, BYTES)        and to a port that writes a file
%%   node.ask("driver_zoo", "tcp", N, BYTES)       N packets from one end of a connection to the other
%%   node.ask("driver_zoo", "udp", N, BYTES)       N datagrams
%%   node.ask("driver_zoo", "controls", N)         N control commands that are refused
%%   node.ask("driver_zoo", "owners", N)           N ports given away, linked, unlinked
%%   node.ask("driver_zoo", "killed", N)           N ports whose owners are killed
%%   node.ask("driver_zoo", "own", N)              N calls of each callback of zoo_drv
%%   node.ask("driver_zoo", "keep", N, BYTES)      ports that stay, used N times
%%   node.ask("driver_zoo", "use", N, BYTES)       and again
%%   node.ask("driver_zoo", "hold")                a port whose driver soon keeps a scheduler for ten minutes
-module(driver_zoo).
-export([load/1, unload/0, spawned/2, fd/2, tcp/2, udp/2, controls/1, owners/1, killed/1, own/1, keep/2,
         use/2, hold/0]).

pid(P) -> list_to_binary(pid_to_list(P)).
port(P) -> list_to_binary(erlang:port_to_list(P)).

in_process(Fun) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> Self ! {done, self(), Fun()} end),
    receive
        {done, P, Result} -> erlang:demonitor(Ref, [flush]), Result#{pid => pid(P)};
        {'DOWN', Ref, process, P, Reason} -> error({died, Reason})
    end.

bytes(P) ->
    {input, In} = erlang:port_info(P, input),
    {output, Out} = erlang:port_info(P, output),
    #{port => port(P), input => In, output => Out}.

load(Dir) ->
    ok = erl_ddll:load_driver(Dir, "zoo_drv"),
    #{}.

unload() ->
    ok = erl_ddll:unload_driver("zoo_drv"),
    #{}.

%% ---- drivers of the VM --------------------------------------------------------------------

spawned(Count, Size) ->
    N = list_to_integer(Count),
    Data = binary:copy(<<"x">>, list_to_integer(Size)),
    in_process(fun() ->
        P = open_port({spawn, "cat"}, [binary]),
        [begin true = command(I, P, Data), collect(P, byte_size(Data)) end || I <- lists:seq(1, N)],
        Truth = bytes(P),
        true = port_close(P),
        Truth
    end).

command(I, P, Data) when I rem 2 =:= 0 -> port_command(P, Data);
command(_, P, Data) -> P ! {self(), {command, Data}}, true.

collect(_, 0) -> ok;
collect(P, Left) -> receive {P, {data, D}} -> collect(P, Left - byte_size(D)) end.

fd(Count, Size) ->
    N = list_to_integer(Count),
    Data = binary:copy(<<"x">>, list_to_integer(Size)),
    Name = "/tmp/driver_zoo." ++ os:getpid(),
    in_process(fun() ->
        {ok, File} = file:open(Name, [raw, write]),
        <<Fd:32/native>> = prim_file:get_handle(File),
        P = open_port({fd, Fd, Fd}, [out, binary]),
        [true = port_command(P, Data) || _ <- lists:seq(1, N)],
        Truth = bytes(P),
        true = port_close(P),
        file:delete(Name),
        Truth
    end).

pair() ->
    {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Number} = inet:port(Listen),
    {ok, Client} = gen_tcp:connect({127, 0, 0, 1}, Number, [binary, {active, false}]),
    {ok, Server} = gen_tcp:accept(Listen),
    {Listen, Client, Server}.

stat(S) ->
    {ok, Stat} = inet:getstat(S),
    maps:merge(bytes(S), maps:from_list(Stat)).

tcp(Count, Size) ->
    N = list_to_integer(Count),
    Length = list_to_integer(Size),
    Data = binary:copy(<<"x">>, Length),
    in_process(fun() ->
        {Listen, Client, Server} = pair(),
        [begin ok = gen_tcp:send(Client, Data), {ok, _} = gen_tcp:recv(Server, Length) end
         || _ <- lists:seq(1, N)],
        inet:setopts(Client, [{active, true}]),
        [begin ok = gen_tcp:send(Server, Data), stream(Client, Length) end || _ <- lists:seq(1, N)],
        Truth = #{client => stat(Client), server => stat(Server), listen => bytes(Listen)},
        [ok = gen_tcp:close(S) || S <- [Client, Server, Listen]],
        Truth
    end).

stream(_, 0) -> ok;
stream(S, Left) -> receive {tcp, S, D} -> stream(S, Left - byte_size(D)) end.

udp(Count, Size) ->
    N = list_to_integer(Count),
    Data = binary:copy(<<"x">>, list_to_integer(Size)),
    in_process(fun() ->
        {ok, A} = gen_udp:open(0, [binary, {active, true}, {ip, {127, 0, 0, 1}}]),
        {ok, B} = gen_udp:open(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
        {ok, To} = inet:port(A),
        [begin ok = gen_udp:send(B, {127, 0, 0, 1}, To, Data),
               receive {udp, A, _, _, Data} -> ok end end || _ <- lists:seq(1, N)],
        Truth = #{receiver => stat(A), sender => stat(B)},
        [ok = gen_udp:close(S) || S <- [A, B]],
        Truth
    end).

controls(Count) ->
    N = list_to_integer(Count),
    in_process(fun() ->
        P = open_port({spawn, "cat"}, [binary]),
        [{'EXIT', {badarg, _}} = (catch erlang:port_control(P, 1000 + I, lists:duplicate(I, 0)))
         || I <- lists:seq(1, N)],
        Truth = bytes(P),
        true = port_close(P),
        Truth#{commands => [1000 + I || I <- lists:seq(1, N)], sizes => lists:seq(1, N)}
    end).

%% ---- owners -------------------------------------------------------------------------------

owners(Count) ->
    N = list_to_integer(Count),
    in_process(fun() ->
        Other = spawn_link(fun() -> other(N) end),
        Ports = [give(Other) || _ <- lists:seq(1, N)],
        Ref = monitor(process, Other),
        receive {'DOWN', Ref, process, Other, _} -> ok end,
        #{other => pid(Other), ports => Ports}
    end).

give(Other) ->
    P = open_port({spawn, "cat"}, [binary]),
    true = port_connect(P, Other),
    true = unlink(P),
    Other ! {take, P, self()},
    receive {taken, P} -> port(P) end.

other(0) -> ok;
other(N) ->
    receive
        {take, P, From} ->
            %% Who gets a port is linked to it.
            true = unlink(P),
            true = link(P),
            {connected, Self} = erlang:port_info(P, connected),
            Self = self(),
            true = port_close(P),
            From ! {taken, P},
            other(N - 1)
    end.

killed(Count) ->
    N = list_to_integer(Count),
    in_process(fun() -> #{victims => [victim() || _ <- lists:seq(1, N)]} end).

victim() ->
    Self = self(),
    {Owner, Ref} = spawn_monitor(fun() ->
        Self ! {mine, open_port({spawn, "cat"}, [binary])},
        receive stop -> ok end
    end),
    P = receive {mine, Port} -> Port end,
    exit(Owner, kill),
    receive {'DOWN', Ref, process, Owner, killed} -> ok end,
    gone(P),
    #{owner => pid(Owner), port => port(P)}.

gone(P) ->
    case erlang:port_info(P) of
        undefined -> ok;
        _ -> timer:sleep(1), gone(P)
    end.

%% ---- ports that stay ----------------------------------------------------------------------

keep(Count, Size) ->
    Self = self(),
    Keeper = spawn(fun() ->
        {_, Client, Server} = pair(),
        Cat = open_port({spawn, "cat"}, [binary]),
        Self ! {self(), kept},
        keeper(Client, Server, Cat)
    end),
    receive {Keeper, kept} -> register(driver_zoo_keeper, Keeper) end,
    use(Count, Size).

use(Count, Size) ->
    driver_zoo_keeper ! {use, self(), list_to_integer(Count), list_to_integer(Size)},
    receive {driver_zoo_keeper, Truth} -> Truth end.

keeper(Client, Server, Cat) ->
    receive {use, From, N, Length} -> ok end,
    Data = binary:copy(<<"x">>, Length),
    [begin
         ok = gen_tcp:send(Client, Data), {ok, _} = gen_tcp:recv(Server, Length),
         ok = gen_tcp:send(Server, <<"ok">>), {ok, _} = gen_tcp:recv(Client, 2),
         true = port_command(Cat, Data), collect(Cat, Length)
     end || _ <- lists:seq(1, N)],
    From ! {driver_zoo_keeper, #{client => stat(Client), server => stat(Server), cat => bytes(Cat)}},
    keeper(Client, Server, Cat).

%% ---- a driver with all callbacks ----------------------------------------------------------

hold() ->
    Self = self(),
    spawn(fun() ->
                  P = open_port({spawn, "zoo_drv"}, []),
                  _ = port_control(P, 9, []),
                  Self ! {held, port(P)},
                  receive never -> ok end
          end),
    receive {held, Port} -> #{port => Port} end.

own(Count) ->
    N = list_to_integer(Count),
    in_process(fun() -> #{ports => [zoo(I) || I <- lists:seq(1, N)]} end).

zoo(I) ->
    P = open_port({spawn, "zoo_drv"}, [binary]),
    Control = fun(Command) -> erlang:port_control(P, Command, lists:duplicate(I, 0)) end,
    Said = fun(What) -> receive {P, {data, What}} -> ok end end,
    Data = binary:copy(<<"d">>, I),
    true = port_command(P, Data),
    Said(Data),
    Control(1), Said(<<"t">>),
    Control(2), Said(<<"a">>),
    [begin Control(3), Control(3), Control(4), Control(4) end || _ <- lists:seq(1, I)],
    {Monitored, Ref} = spawn_monitor(fun() -> Control(5) end),
    receive {'DOWN', Ref, process, Monitored, normal} -> ok end,
    Said(<<"x">>),
    Control(7),
    receive {P, {data, <<"i">>}} -> ok end,
    receive {P, {data, <<"o">>}} -> ok end,
    Control(8),
    97 = erlang:port_call(P, 97, {some, term}),
    Truth = bytes(P),
    Control(6),
    true = port_close(P),
    Truth#{busy => I, monitored => pid(Monitored), controls => 4 * I + 6, size => I,
           call_size => byte_size(term_to_binary({some, term}))}.
