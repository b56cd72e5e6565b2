%% SPDX-License-Identifier: BSD-2-Clause
%% Blocks go to an external program and come back.  The truth: bytes each way.
-module(ports).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(BLOCK, 4096).

processes(_) -> [{ports_1, none}, {ports_2, none}].

init(_) ->
    Port = open_port({spawn_executable, "/bin/cat"}, [binary, stream, use_stdio]),
    {Port, binary:copy(<<"x">>, ?BLOCK), 0}.

step({Port, Block, Bytes}) ->
    true = erlang:port_command(Port, Block),
    drain(Port, ?BLOCK),
    {Port, Block, Bytes + ?BLOCK}.

drain(_, 0) -> ok;
drain(Port, Left) ->
    receive {Port, {data, Data}} -> drain(Port, Left - byte_size(Data)) end.

report(States) ->
    [port_close(Port) || {Port, _, _} <- States, erlang:port_info(Port) =/= undefined],
    #{bytes => lists:sum([Bytes || {_, _, Bytes} <- States])}.
