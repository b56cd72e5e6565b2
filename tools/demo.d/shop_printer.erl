%% SPDX-License-Identifier: BSD-2-Clause
%% The printer: labels go to an external program, by way of a port, and come back.
-module(shop_printer).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) ->
    Port = open_port({spawn_executable, "/bin/cat"}, [binary, stream]),
    {ok, {Port, 1}, 0}.

handle_call(_, _From, State) -> {reply, ok, State, 1}.
handle_cast(_, State) -> {noreply, State, 1}.

handle_info({Port, {data, _Printed}}, {Port, N}) ->
    {noreply, {Port, N}, 1};
handle_info(timeout, {Port, N}) ->
    send_label(Port, N),
    {noreply, {Port, N + 1}, 1}.

send_label(Port, N) ->
    port_command(Port, io_lib:format("Order ~6..0b~nTo: customer ~b~n~s~n",
                                     [N, N rem 100, lists:duplicate(1000, $-)])).
