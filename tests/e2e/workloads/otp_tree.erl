%% SPDX-License-Identifier: BSD-2-Clause
%% A supervisor with gen_servers that work: all started through proc_lib, whose entry function says
%% nothing.  The truth: pid, registered name and real initial call of each, as the node has them.
-module(otp_tree).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([start_server/1, handle_call/3, handle_cast/2, handle_info/2]).

processes(_) -> [{otp_tree_driver, driver}].

%% init/1 of three behaviours: this workload, supervisor and gen_server.
init(driver) ->
    {ok, Sup} = supervisor:start_link({local, otp_tree_sup}, ?MODULE, supervisor),
    Servers = [Pid || {_, Pid, _, _} <- supervisor:which_children(Sup)],
    {Servers, [describe(P) || P <- [Sup | Servers]],
     workload:calibrate(fun(N) -> spin(N, 1) end, 200000), 0};
init(supervisor) ->
    {ok, {#{strategy => one_for_one},
          [#{id => K, start => {?MODULE, start_server, [K]}} || K <- [1, 2, 3]]}};
init({server, K}) ->
    {ok, K}.

start_server(1) -> gen_server:start_link({local, otp_tree_server}, ?MODULE, {server, 1}, []);
start_server(K) -> gen_server:start_link(?MODULE, {server, K}, []).

handle_call({work, N}, _, K) -> {reply, spin(N, K), K}.
handle_cast(_, K) -> {noreply, K}.
handle_info(_, K) -> {noreply, K}.

step({Servers, Described, N, Calls}) ->
    [gen_server:call(S, {work, N}) || S <- Servers],
    {Servers, Described, N, Calls + length(Servers)}.

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).

%% The supervisor ended with the process that started it.
report([{_, Described, _, Calls}]) ->
    #{calls => Calls, processes => Described}.

describe(Pid) ->
    [{_, Name}, {_, Dictionary}] = process_info(Pid, [registered_name, dictionary]),
    {_, {M, F, A}} = lists:keyfind('$initial_call', 1, Dictionary),
    #{pid => list_to_binary(pid_to_list(Pid)),
      registered => case Name of [] -> null; _ -> Name end,
      initial_call => iolist_to_binary(io_lib:format("~p:~p/~b", [M, F, A]))}.
