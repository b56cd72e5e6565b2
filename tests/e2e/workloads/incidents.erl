%% SPDX-License-Identifier: BSD-2-Clause
%% Nodes with something wrong, one by name; `healthy` and `busy` have nothing.
-module(incidents).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, pid/1, log/1, process_limit/0]).

processes(["bottleneck"]) -> [{undefined, server} | many(30, {client, incident_server})];
processes(["mailbox"]) -> [{incident_slow, slow}, {undefined, {sender, incident_slow}}];
processes(["binaries"]) -> [{incident_holder, sub_binaries}];
processes(["ets"]) -> [{incident_owner, table}];
processes(["atoms"]) -> [{undefined, {atoms, 0}}];
processes(["fragmentation"]) -> [{undefined, fragments}];
processes(["literals"]) -> [{undefined, {literals, 0}} | many(3000, wait)];
processes(["dirty_pool"]) -> many(16, dirty_cpu);
processes(["long_slice"]) -> [{incident_nif, long} | many(3, work)];
processes(["stuck"]) -> [{undefined, {stuck, N}} || N <- lists:seq(1, erlang:system_info(schedulers))];
processes(["locks"]) -> [{undefined, counters} | many(16, count)];
processes(["deadlock"]) -> [{undefined, deadlock}];
processes(["restarts"]) -> [{undefined, supervisor}];
processes(["gc"]) -> many(2, garbage);
processes(["memory"]) -> many(8, {grow, []});
processes(["run_queue"]) -> many(150, spin);
processes(["limit"]) -> many(750, wait);
processes(["timers"]) -> [{incident_named, wait}, {incident_timers, timers}];
processes(["healthy"]) -> [{undefined, server} | many(3, {client, incident_server}) ++ many(200, wait)];
processes(["busy"]) -> many(2, work) ++ many(10, spawner) ++ many(500, wait).

many(N, What) -> [{undefined, What} || _ <- lists:seq(1, N)].

init(server) ->
    {ok, _} = incident_server:start_link(incident_server, server),
    wait;
init({client, Name}) -> {client, Name};
init(sub_binaries) ->
    {hold, [binary:part(binary:copy(<<N>>, 524288), 0, 80) || N <- lists:seq(1, 300)]};
init(table) -> {insert, ets:new(incident_table, [public, named_table]), 0};
init(fragments) ->
    %% Every eighth lives on, and its carrier with it.
    Pids = [spawn(fun() -> X = lists:seq(1, 1500), receive stop -> X end end) || _ <- lists:seq(1, 20000)],
    [P ! stop || {N, P} <- lists:enumerate(Pids), N rem 8 =/= 0],
    wait;
init({stuck, N}) ->
    erts_debug:set_internal_state(available_internal_state, true),
    spawn_opt(fun() -> timer:sleep(500), erts_debug:set_internal_state(sleep, 600000) end, [{scheduler, N}]),
    wait;
init(long) ->
    erts_debug:set_internal_state(available_internal_state, true),
    long;
init(dirty_cpu) ->
    erts_debug:set_internal_state(available_internal_state, true),
    dirty_cpu;
init(counters) ->
    ets:new(incident_counters, [public, named_table, set]),
    wait;
init(deadlock) ->
    {ok, _} = incident_server:start_link(incident_a, a),
    {ok, _} = incident_server:start_link(incident_b, b),
    spawn(fun() -> gen_server:call(incident_a, {call, incident_b, {call, incident_a, {sleep, 1}}}, infinity) end),
    wait;
init(supervisor) ->
    {ok, _} = incident_server:start_supervisor(),
    wait;
init(garbage) -> {garbage, [{X, [X]} || X <- lists:seq(1, 300000)]};
init(timers) ->
    log(timers, #{own => 250000, pid => pid("incident_timers"),
                  named => 60000, named_pid => pid("incident_named")}),
    [erlang:send_after(3600000, self(), N) || N <- lists:seq(1, 250000)],
    [erlang:start_timer(7200000, incident_named, N) || N <- lists:seq(1, 60000)],
    wait;
init(State) -> State.

step(wait) -> receive after 1000 -> wait end;
step({hold, X}) -> receive after 1000 -> {hold, X} end;
step({client, Name}) ->
    ok = gen_server:call(Name, {sleep, 5}, infinity),
    {client, Name};
step(slow) ->
    receive {job, _} -> timer:sleep(5) after 100 -> ok end,
    slow;
step({sender, Name}) ->
    [Name ! {job, N} || N <- lists:seq(1, 20)],
    timer:sleep(10),
    {sender, Name};
step({insert, T, N}) ->
    [ets:insert(T, {N + K, value}) || K <- lists:seq(1, 20)],
    timer:sleep(5),
    {insert, T, N + 20};
step({atoms, N}) ->
    _ = list_to_atom("incident_" ++ integer_to_list(N)),
    timer:sleep(10),
    {atoms, N + 1};
step({literals, N}) ->
    persistent_term:put(incident_term, {N, make_ref()}),
    timer:sleep(10),
    {literals, N + 1};
step(dirty_cpu) ->
    erts_debug:dirty_cpu(wait, 600000),
    dirty_cpu;
step(long) ->
    timer:sleep(300),
    erts_debug:set_internal_state(sleep, 700),
    long;
step(count) ->
    [ets:update_counter(incident_counters, N rem 4, 1, {N rem 4, 0}) || N <- lists:seq(1, 2000)],
    count;
step({garbage, Live}) ->
    _ = [{X, [X]} || X <- lists:seq(1, 300000)],
    true = erlang:garbage_collect(),
    {garbage, Live};
step({grow, L}) ->
    timer:sleep(20),
    {grow, [lists:seq(1, 5000) | L]};
step(spin) ->
    _ = lists:seq(1, 1000),
    spin;
step(work) ->
    _ = lists:sort([erlang:phash2(X) || X <- lists:seq(1, 2000)]),
    timer:sleep(5),
    work;
step(spawner) ->
    {_, R} = spawn_monitor(fun() -> lists:sum(lists:seq(1, 100)) end),
    receive {'DOWN', R, _, _, _} -> ok end,
    timer:sleep(5),
    spawner.

report(_) -> #{}.

%% What a process says of itself, for log/1 to be asked for.
log(What, Said) -> application:set_env(ebeam_incidents, What, Said).

log(What) ->
    {ok, Said} = application:get_env(ebeam_incidents, list_to_atom(What)),
    Said.

pid(Name) -> list_to_binary(pid_to_list(whereis(list_to_atom(Name)))).

process_limit() -> erlang:system_info(process_limit).
