%% SPDX-License-Identifier: BSD-2-Clause
%% An exact number of each thing that the functions of the VM do.
-module(sites).
-export([work/1]).

%% Answers what was done: "ask sites work N".
work(Text) ->
    N = list_to_integer(Text),
    Names = [list_to_atom("place_" ++ integer_to_list(I)) || I <- lists:seq(1, N)],
    _ = [begin true = register(Name, self()), true = unregister(Name) end || Name <- Names],
    _ = [begin
             {Pid, Ref} = spawn_monitor(fun() -> exit({done, I}) end),
             receive {'DOWN', Ref, process, Pid, {done, I}} -> ok end
         end || I <- lists:seq(1, N)],
    Echo = spawn_link(fun echo/0),
    _ = [begin Echo ! {self(), I}, receive I -> ok end end || I <- lists:seq(1, N)],
    unlink(Echo),
    exit(Echo, kill),
    _ = [begin link(P), unlink(P), exit(P, kill) end
         || P <- [spawn(fun echo/0) || _ <- lists:seq(1, N)]],
    _ = [begin erlang:garbage_collect(), lists:seq(1, 5000) end || _ <- lists:seq(1, N)],
    Port = open_port({spawn, "cat"}, [binary]),
    _ = [begin true = port_command(Port, <<"x">>), receive {Port, {data, _}} -> ok end end
         || _ <- lists:seq(1, N)],
    port_close(Port),
    _ = [use_port() || _ <- lists:seq(1, N)],
    _ = [file:read_file_info("/") || _ <- lists:seq(1, N)],
    _ = [begin {ok, F} = file:open("/dev/null", [write, raw]), ok = file:write(F, <<"x">>),
               ok = file:close(F) end || _ <- lists:seq(1, N)],
    #{registers => N, spawns => 3 * N + 1, links => N, exits => N, sends => 2 * N, port_outputs => N}.

echo() ->
    receive {From, I} -> From ! I, echo() end.

%% What is seldom done with ports; a driver that has no control callback refuses, after all.
use_port() ->
    Port = open_port({spawn, "cat"}, []),
    unlink(Port),
    link(Port),
    catch port_control(Port, 1, <<>>),
    Other = spawn(fun echo/0),
    true = port_connect(Port, Other),
    unlink(Port),
    Ref = monitor(port, Port),
    exit(Other, kill),
    receive {'DOWN', Ref, port, Port, _} -> ok end.
