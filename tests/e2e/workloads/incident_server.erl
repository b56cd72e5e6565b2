%% SPDX-License-Identifier: BSD-2-Clause
%% A gen_server of the workload `incidents`, and a supervisor of one that does not live long.
-module(incident_server).
-behaviour(gen_server).
-export([start_link/2, start_supervisor/0, start_worker/0, start_hidden_supervisor/0,
         start_hidden/0, hidden/0, init/1, handle_call/3, handle_cast/2,
         handle_info/2]).

start_link(Name, State) -> gen_server:start_link({local, Name}, ?MODULE, State, []).

start_supervisor() -> supervisor:start_link({local, incident_sup}, ?MODULE, supervisor).

start_hidden_supervisor() -> supervisor:start_link({local, incident_hidden}, ?MODULE, hidden).

start_hidden() -> {ok, proc_lib:spawn_link(?MODULE, hidden, [])}.

hidden() ->
    incidents:count(hidden),
    receive after 300 -> exit(incident_crash) end.

start_worker() -> gen_server:start_link({local, incident_worker}, ?MODULE, worker, []).

init(hidden) ->
    {ok, {#{intensity => 1000000, period => 3600},
          [#{id => flaky, start => {?MODULE, start_hidden, []}}]}};
init(supervisor) ->
    {ok, {#{intensity => 1000000, period => 1},
          [#{id => worker, start => {?MODULE, start_worker, []}}]}};
init(worker) ->
    incidents:count(restarts),
    erlang:send_after(50, self(), crash),
    {ok, worker};
init(logger) ->
    %% It reads nothing.
    {ok, {port, open_port({spawn_executable, "/bin/sleep"}, [{args, ["60"]}, out])}};
init(State) ->
    {ok, State}.

handle_call({sleep, Ms}, _From, State) ->
    timer:sleep(Ms),
    {reply, ok, State};
handle_call({work, Id}, _From, State) ->
    {Took, ok} = timer:tc(timer, sleep, [case Id rem 20 of 13 -> 200; _ -> 20 end]),
    incidents:note(work, #{id => Id, took => Took}),
    {reply, ok, State};
handle_call({write, Data}, _From, {port, Port} = State) ->
    true = port_command(Port, Data),
    {reply, ok, State};
handle_call({call, Name, Request}, _From, State) ->
    {reply, gen_server:call(Name, Request, infinity), State}.

handle_cast(_, State) -> {noreply, State}.

handle_info(crash, State) -> {stop, {incident_crash, self()}, State}.
