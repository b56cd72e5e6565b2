%% SPDX-License-Identifier: BSD-2-Clause
%% Two processes for each scheduler, without a rest: they spawn, link, register, send, collect, raise,
%% copy, talk to ports and make carriers.  The truth: how often in all, of what nobody else in the node
%% does meanwhile.
-module(bustle).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(CHILDREN, 5).
-define(MESSAGES, 20).

processes(_) ->
    [{undefined, K} || K <- lists:seq(1, 2 * erlang:system_info(schedulers_online))].

init(K) ->
    process_flag(trap_exit, true),
    Port = open_port({spawn, "cat"}, [binary]),
    Table = ets:new(bustle, [public]),
    {list_to_atom("bustle_" ++ integer_to_list(K)), self(), Port, Table, lists:seq(1, 20000), 0}.

step({Name, Self, Port, Table, Kept, Steps}) ->
    [child() || _ <- lists:seq(1, ?CHILDREN)],
    true = register(Name, self()),
    [Name ! {message, N, "text"} || N <- lists:seq(1, ?MESSAGES)],
    [receive {message, N, _} -> ok end || N <- lists:seq(1, ?MESSAGES)],
    true = unregister(Name),
    erlang:garbage_collect(self(), [{type, minor}]),
    erlang:garbage_collect(),
    true = port_command(Port, <<"data">>),
    receive {Port, {data, _}} -> ok end,
    {badarg, _} = {catch_error(fun() -> atom_to_list(Steps) end), Steps},
    ets:insert(Table, {Steps rem 100, Kept}),
    _ = binary:copy(<<0>>, 1000000),
    {Name, Self, Port, Table, Kept, Steps + 1}.

child() ->
    P = spawn_link(fun() -> receive stop -> exit(lists:seq(1, 10)) end end),
    unlink(P),
    P ! stop.

catch_error(Fun) ->
    try Fun() catch error:Reason -> Reason end.

report(States) ->
    [port_close(P) || {_, _, P, _, _, _} <- States, erlang:port_info(P) =/= undefined],
    Steps = lists:sum([N || {_, _, _, _, _, N} <- States]),
    %% Each of these processes was linked to who started it, and unlinks.
    Links = ?CHILDREN * Steps + length(States),
    #{steps => Steps, names => maps:from_list([{list_to_binary(pid_to_list(P)), Name}
                                               || {Name, P, _, _, _, _} <- States]),
      counts => #{process_register => Steps, process_unregister => Steps,
                  process_link => Links, process_unlink => Links}}.
