%% SPDX-License-Identifier: BSD-2-Clause
%% A process sends a list of tuples to a peer and waits for it to come back: sending, copying,
%% receiving.  The truth: round trips.  Argument: elements of the list (200).
-module(messages).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, peer/0]).

processes(Args) -> [{messages_client, Args}].

init([]) -> init(["200"]);
init([Length]) ->
    Payload = [{X, X + 1, "text"} || X <- lists:seq(1, list_to_integer(Length))],
    {spawn_link(?MODULE, peer, []), Payload, 0}.

step({Peer, Payload, Trips}) ->
    erlang:send(Peer, {ask, self(), Payload}),
    receive {answer, Peer, Back} -> check(Back, Payload) end,
    {Peer, Payload, Trips + 1}.

check([H | _], [H | _]) -> ok.

report([{Peer, _, Trips}]) ->
    unlink(Peer),
    exit(Peer, kill),
    #{round_trips => Trips}.

peer() ->
    receive
        {ask, From, Payload} ->
            erlang:send(From, {answer, self(), Payload}),
            peer()
    end.
