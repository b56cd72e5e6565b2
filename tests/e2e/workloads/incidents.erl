%% SPDX-License-Identifier: BSD-2-Clause
%% Nodes with something wrong, one by name; `healthy` and `busy` have nothing.  What they say of themselves: truth/1.
-module(incidents).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, pid/1, deprecated/1, note/2, count/1,
         truth/1, load_all/0, process_limit/0, tick/0]).

processes([What]) ->
    %% Owned by who asks, who lives longer than all of them.
    ets:info(incident_log) =:= undefined andalso ets:new(incident_log, [public, named_table, ordered_set]),
    who(What).

who("bottleneck") -> [{undefined, server} | many(30, {client, incident_server})];
who("mailbox") -> [{incident_slow, slow}, {undefined, {sender, incident_slow}}];
who("binaries") -> [{incident_holder, sub_binaries}];
who("ets") -> [{incident_owner, table}];
who("atoms") -> [{undefined, {paced, 100, 0, fun atom/1}}];
who("fragmentation") -> [{undefined, fragments}];
who("literals") -> [{incident_churn, {literals, 0}} | many(3000, wait)];
who("dirty_pool") -> many(16, dirty_cpu);
who("long_slice") -> [{incident_nif, long} | many(3, work)];
who("stuck") -> [{undefined, {stuck, N}} || N <- lists:seq(1, erlang:system_info(schedulers))];
who("locks") -> [{undefined, counters} | many(16, count)];
who("half_stuck") -> [{undefined, {stuck, 1}}, {undefined, ticking}];
who("deadlock") -> [{undefined, deadlock}];
who("restarts") -> [{undefined, supervisor}];
who("hidden") -> [{undefined, hidden}];
who("leaks_processes") -> [{incident_leaker, {paced, 500, 0, fun leak/1}}];
who("backlog") -> [{incident_backlog, {backlog, 0}}, {undefined, {paced, 20, 0, fun add_to_backlog/1}}];
who("dirty_part") -> many(4, dirty_part);
who("slow_server") -> [{undefined, server} | many(30, worker)];
who("callers") -> [{undefined, {paced, 200, 0, fun call/1}}];
who("logger") -> [{undefined, logger} | many(20, log)];
who("gc") -> many(2, garbage);
who("memory") -> many(8, {grow, []});
who("run_queue") -> many(150, spin);
who("limit") -> many(750, wait);
who("timers") -> [{incident_named, wait}, {incident_timers, timers}];
who("healthy") -> [{undefined, server} | many(3, {client, incident_server}) ++ many(200, wait)];
who("busy") -> many(2, work) ++ many(10, spawner) ++ many(500, wait).

many(N, What) -> [{undefined, What} || _ <- lists:seq(1, N)].

init(server) ->
    {ok, _} = incident_server:start_link(incident_server, server),
    wait;
init({client, Name}) -> {client, Name};
init(sub_binaries) ->
    {hold, [binary:part(binary:copy(<<N>>, 524288), 0, 80) || N <- lists:seq(1, 300)]};
init(table) ->
    ets:new(incident_table, [public, named_table]),
    [insert(-N, lists:seq(1, 50)) || N <- lists:seq(1, 30000)],
    init({paced, 4000, 0, fun insert/1});
init({paced, PerSecond, 0, Fun}) -> {paced, PerSecond, 0, Fun, workload:clock()};
init(fragments) ->
    %% Every eighth lives on, and its carrier with it.
    Pids = [spawn(fun() -> X = lists:seq(1, 1500), receive stop -> X end end) || _ <- lists:seq(1, 20000)],
    [P ! stop || {N, P} <- workload:enumerate(Pids), N rem 8 =/= 0],
    wait;
init({stuck, N}) ->
    erts_debug:set_internal_state(available_internal_state, true),
    spawn_opt(fun() -> timer:sleep(500), erts_debug:set_internal_state(sleep, 600000) end, [{scheduler, N}]),
    wait;
init(ticking) ->
    [spawn_opt(fun tick/0, [{scheduler, 1}, link]) || _ <- lists:seq(1, 60)],
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
    %% What crashes is logged by nobody.
    ok = logger:set_primary_config(level, none),
    {ok, _} = incident_server:start_supervisor(),
    wait;
init(hidden) ->
    ok = logger:set_primary_config(level, none),
    {ok, _} = incident_server:start_hidden_supervisor(),
    wait;
init({backlog, _}) ->
    [self() ! {job, N} || N <- lists:seq(1, 50000)],
    backlog;
init(dirty_part) ->
    erts_debug:set_internal_state(available_internal_state, true),
    dirty_part;
init(garbage) -> {garbage, [{X, [X]} || X <- lists:seq(1, 300000)]};
init(timers) ->
    [erlang:send_after(3600000, self(), N) || N <- lists:seq(1, 250000)],
    [erlang:start_timer(7200000, incident_named, N) || N <- lists:seq(1, 60000)],
    wait;
init(logger) ->
    {ok, _} = incident_server:start_link(incident_logger, logger),
    wait;
init(State) -> State.

step(wait) -> receive after 1000 -> wait end;
step({hold, X}) -> receive after 1000 -> {hold, X} end;
step({client, Name}) ->
    ok = gen_server:call(Name, {sleep, 5}, infinity),
    {client, Name};
step(worker) ->
    ok = gen_server:call(incident_server, {work, count(asked)}, infinity),
    worker;
step(log) ->
    ok = gen_server:call(incident_logger, {write, binary:copy(<<"x">>, 16384)}, infinity),
    log;
step(slow) ->
    receive {job, _} -> timer:sleep(5) after 100 -> ok end,
    slow;
step({sender, Name}) ->
    [Name ! {job, N} || N <- lists:seq(1, 20)],
    timer:sleep(10),
    {sender, Name};
%% So many a second, however seldom the node has a CPU.
step({paced, PerSecond, N, Fun, Since}) ->
    timer:sleep(5),
    Due = (workload:clock() - Since) * PerSecond div 1000000000,
    [Fun(K) || K <- lists:seq(N, Due - 1)],
    {paced, PerSecond, max(N, Due), Fun, Since};
step({literals, N}) ->
    persistent_term:put(incident_term, {N, make_ref()}),
    timer:sleep(10),
    {literals, N + 1};
step(dirty_cpu) ->
    erts_debug:dirty_cpu(wait, 600000),
    dirty_cpu;
step(backlog) -> receive never -> backlog end;
%% All of them for 0.9 of 1.5 s.
step(dirty_part) ->
    case erlang:system_time(millisecond) rem 1500 of
        Ms when Ms < 900 -> erts_debug:dirty_cpu(wait, 20);
        Ms -> timer:sleep(1500 - Ms)
    end,
    dirty_part;
step(long) ->
    timer:sleep(300),
    {Took, _} = timer:tc(erts_debug, set_internal_state, [sleep, 700]),
    note(long, #{took => Took}),
    long;
step(count) ->
    [ets:update_counter(incident_counters, N rem 4, 1, {N rem 4, 0}) || N <- lists:seq(1, 2000)],
    count;
step({garbage, Live}) ->
    _ = [{X, [X]} || X <- lists:seq(1, 300000)],
    count(collections),
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

%% Long after its scheduler is stuck.
tick() -> receive after 3000 -> tick() end.

leak(_) -> spawn(fun() -> receive never -> ok end end).

add_to_backlog(N) ->
    incident_backlog ! {job, N}.

insert(N) -> insert(N, value).
insert(N, Value) -> ets:insert(incident_table, {N, Value}).

atom(N) -> list_to_atom("incident_" ++ integer_to_list(N)).

%% One of five by old_caller/1; no call is a tail call, so that all are on the stack.
call(N) when N rem 5 =:= 0 -> {old, old_caller(N)};
call(N) -> {new, new_caller(N)}.
new_caller(N) -> {new, deprecated(N)}.
old_caller(N) -> {old, deprecated(N)}.

deprecated(N) ->
    count(calls),
    {N, old}.

%% ---- the node's own log --------------------------------------------------------------------

note(What, Event) -> ets:insert(incident_log, {{What, erlang:unique_integer([monotonic])}, Event}).

count(What) -> ets:update_counter(incident_log, What, 1, {What, 0}).

truth("leaks_processes") -> erlang:system_info(process_count);
truth("backlog") -> element(2, process_info(whereis(incident_backlog), message_queue_len));
truth("ets") -> #{objects => ets:info(incident_table, size), words => ets:info(incident_table, memory)};
truth("atoms") -> erlang:system_info(atom_count);
truth(What) ->
    Key = list_to_atom(What),
    #{count => case ets:lookup(incident_log, Key) of [{_, N}] -> N; [] -> 0 end,
      events => [E || [E] <- ets:match(incident_log, {{Key, '_'}, '$1'})]}.

pid(Name) -> list_to_binary(pid_to_list(whereis(list_to_atom(Name)))).

%% As a node does that starts: for some seconds, a few at a time.
load_all() ->
    Before = erlang:system_info(atom_count),
    Modules = lists:append([Ms || A <- [compiler, stdlib, kernel, syntax_tools, mnesia, ssl, xmerl, inets],
                                  application:load(A) =/= not_found,
                                  {ok, Ms} <- [application:get_key(A, modules)]]),
    Until = erlang:monotonic_time(millisecond),
    [begin
         code:ensure_loaded(M),
         timer:sleep(max(0, Until + N * 10 - erlang:monotonic_time(millisecond)))
     end || {N, M} <- workload:enumerate(lists:sublist(Modules, 350))],
    [Before, erlang:system_info(atom_count)].

process_limit() -> erlang:system_info(process_limit).
