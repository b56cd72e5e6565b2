%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Connections to other nodes, and what the node says of them.  No processes of its own.
-module(dist_zoo).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([connect/1, disconnect/1, remember/1, chat/2, nodes/1, stats/0, fill/1, pending/1, names/0,
         sockets/0]).

processes(_) -> [].
init(_) -> nothing.
step(State) -> State.
report(_) -> #{}.

%% A host without an idle CPU may need longer than one attempt may take (net_setuptime, 7 s).
connect(Name) ->
    lists:any(fun(_) -> net_kernel:connect_node(list_to_atom(Name)) end, lists:seq(1, 5)).

disconnect(Name) ->
    erlang:disconnect_node(list_to_atom(Name)).

%% A pid of a node to which there never was a connection.
remember(Name) ->
    Bytes = list_to_binary(Name),
    Pid = binary_to_term(<<131, 88, 119, (byte_size(Bytes)), Bytes/binary, 99:32, 0:32, 4711:32>>),
    persistent_term:put({?MODULE, Name}, Pid),
    node(Pid).

%% That many calls, so that the counters move.
chat(Name, N) ->
    [rpc:call(list_to_atom(Name), erlang, node, []) || _ <- lists:seq(1, list_to_integer(N))],
    ok.

%% Two processes that send more than the other node, which is stopped, takes.
fill(Name) ->
    Big = binary:copy(<<"b">>, 200000),
    workload:at_rest([spawn(fun() -> flood({nobody, list_to_atom(Name)}, Big) end) || _ <- [1, 2]]).

flood(To, Big) ->
    To ! Big,
    flood(To, Big).

%% A connection that nobody answers.
pending(Name) ->
    spawn(fun() -> {nobody, list_to_atom(Name)} ! hello end),
    timer:sleep(500),
    ok.

names() ->
    case net_adm:names() of
        {ok, Names} -> [#{name => list_to_binary(N), port => P} || {N, P} <- Names];
        {error, _} -> null
    end.

nodes(What) ->
    [atom_to_binary(N, utf8) || N <- lists:sort(erlang:nodes(list_to_atom(What)))].

stats() ->
    {ok, Infos} = net_kernel:nodes_info(),
    #{name => node(), alive => is_alive(), creation => erlang:system_info(creation),
      nodes => [node_stats(N, Info) || {N, Info} <- Infos, state(Info) =:= up],
      suspended => [list_to_binary(pid_to_list(P))
                    || P <- erlang:processes(),
                       {status, suspended} =:= process_info(P, status)]}.

state(Info) ->
    proplists:get_value(state, Info).

node_stats(Node, Info) ->
    %% {connection, Node, conn_id = {Id, Handle}, ...}: the handle is what setnode/3 has returned.
    [Connection] = ets:lookup(sys_dist, Node),
    {ok, In, Out, Pending} = erlang:dist_get_stat(element(3, Connection)),
    {Id, _} = element(3, Connection),
    Port = hd([P || P <- erlang:ports(), dist_port(P, Info)]),
    #{name => Node,
      type => case proplists:get_value(type, Info) of normal -> visible; Type -> Type end,
      state => state(Info), in => In, out => Out,
      pending => case Pending of true -> 1; false -> 0; P -> P end,
      connection_id => Id,
      owner => list_to_binary(pid_to_list(proplists:get_value(owner, Info))),
      controller => list_to_binary(erlang:port_to_list(Port)),
      peer => address(inet:peername(Port)),
      input => element(2, erlang:port_info(Port, input)),
      output => element(2, erlang:port_info(Port, output))}.

%% All that are connected, whatever they are for.
sockets() ->
    [#{local => address(inet:sockname(P)), peer => address(Peer),
       owner => list_to_binary(pid_to_list(element(2, erlang:port_info(P, connected)))),
       received => element(2, hd(element(2, inet:getstat(P, [recv_oct])))),
       output => element(2, erlang:port_info(P, output))}
     || P <- erlang:ports(), {name, "tcp_inet"} =:= erlang:port_info(P, name),
        {ok, _} = Peer <- [inet:peername(P)]].

address({ok, {Ip, Number}}) ->
    iolist_to_binary([inet:ntoa(Ip), $:, integer_to_list(Number)]).

dist_port(Port, Info) ->
    Owner = proplists:get_value(owner, Info),
    {name, "tcp_inet"} =:= erlang:port_info(Port, name) andalso
        {connected, Owner} =:= erlang:port_info(Port, connected).
