%% SPDX-License-Identifier: BSD-2-Clause
%% Messages in exact numbers between known processes, and mailboxes of a known length.
%%
%%   node.ask("message_flows", "start")      the processes: wait until they are told to go
%%   node.ask("message_flows", "flow", N)    the Ith sender sends I * N messages of 10 * I words to the sink, which
%%                                           does not read them, and N to the server, which does
%%   node.ask("message_flows", "remote", N, NODE)  N messages to a name of that node by the first sender
%%   node.ask("message_flows", "stop")
-module(message_flows).
-export([start/0, flow/1, remote/2, stop/0, sender/0, sink/0, server/1]).

pid(P) -> list_to_binary(pid_to_list(P)).

start() ->
    Sink = spawn(?MODULE, sink, []),
    register(flow_sink, Sink),
    Server = spawn(?MODULE, server, [0]),
    register(flow_server, Server),
    Senders = [spawn(?MODULE, sender, []) || _ <- [1, 2, 3]],
    persistent_term:put(message_flows, {Sink, Server, Senders}),
    #{sink => pid(Sink), server => pid(Server), senders => [pid(S) || S <- Senders], me => pid(self())}.

flow(Count) ->
    N = list_to_integer(Count),
    {Sink, Server, Senders} = persistent_term:get(message_flows),
    Sizes = [begin
                 S ! {go, self(), I * N, N, lists:seq(1, 5 * I)},
                 receive {sent, S, Size} -> Size end
             end || {I, S} <- lists:zip([1, 2, 3], Senders)],
    Server ! {count, self()},
    Got = receive {count, C} -> C end,
    {message_queue_len, Length} = process_info(Sink, message_queue_len),
    #{sizes => Sizes, sink_len => Length, got => Got, me => pid(self())}.

remote(Count, Node) ->
    N = list_to_integer(Count),
    Other = list_to_atom(Node),
    true = net_kernel:connect_node(Other),
    {_, _, [First | _]} = persistent_term:get(message_flows),
    First ! {away, self(), N, Other},
    receive {sent, First} -> ok end,
    #{count => N}.

stop() ->
    {Sink, Server, Senders} = persistent_term:get(message_flows),
    [begin
         Ref = monitor(process, P),
         exit(P, kill),
         receive {'DOWN', Ref, process, P, _} -> ok end
     end || P <- [Sink, Server | Senders]],
    persistent_term:erase(message_flows),
    #{}.

sender() ->
    receive
        {go, From, ToSink, ToServer, Term} ->
            [flow_sink ! Term || _ <- lists:seq(1, ToSink)],
            [flow_server ! Term || _ <- lists:seq(1, ToServer)],
            From ! {sent, self(), erts_debug:flat_size(Term)},
            sender();
        {away, From, N, Node} ->
            [{nobody_there, Node} ! I || I <- lists:seq(1, N)],
            From ! {sent, self()},
            sender()
    end.

sink() -> receive never -> ok end.

server(N) ->
    receive
        {count, From} -> From ! {count, N}, server(N);
        _ -> server(N + 1)
    end.
