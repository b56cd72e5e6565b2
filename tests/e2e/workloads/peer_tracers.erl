%% SPDX-License-Identifier: BSD-2-Clause
%% Calls of one function, and the tracers that people use inside of a node, for comparing what they
%% cost:
%%   node.ask("peer_tracers", "begin_trace", TOOL, WHAT)   what it watches: calls, returns, rejected
%%   node.ask("peer_tracers", "calls", N)                  at full speed, until all is reported of them
%%   node.ask("peer_tracers", "pace", N)                   so many a second from now on
%%   node.ask("peer_tracers", "end_trace")
%% As a workload it calls the function at full speed; the truth: rounds of CALLS calls.
%%
%% What a tool prints goes to a group leader that writes to /dev/null.
-module(peer_tracers).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).
-export([has/1, begin_trace/2, end_trace/0, calls/1, pace/1, queue/0, work/2]).

-define(CALLS, 1000).
-define(MANY, 1000000000).

%% About what a small handler does: some reductions and a term of its own.
work(Key, N) ->
    {Key, lists:sum([N, N + 1, N + 2, N + 3])}.

terms(N) -> {order, N, [{item, <<"book">>, 2}, {item, <<"pen">>, 10}], #{paid => true}}.

call_times(0) -> ok;
call_times(N) ->
    ?MODULE:work(some_key, N),
    call_times(N - 1).

%% ---- as a workload ------------------------------------------------------------------------

processes(_) -> [{undefined, none}].

init(_) -> 0.

step(Rounds) ->
    call_times(?CALLS),
    Rounds + 1.

report([Rounds]) -> #{rounds => Rounds}.

%% ---- calls --------------------------------------------------------------------------------

calls(Times) ->
    N = list_to_integer(Times),
    Self = self(),
    %% A process of its own, so that its heap is small.
    spawn(fun() ->
                  Arg = terms(N),
                  Began = erlang:monotonic_time(nanosecond),
                  repeat(N, Arg),
                  Self ! {took, erlang:monotonic_time(nanosecond) - Began}
          end),
    Ns = receive {took, Took} -> Took end,
    until_reported(),
    Ns.

repeat(0, _) -> ok;
repeat(N, Arg) ->
    ?MODULE:work(Arg, N),
    repeat(N - 1, Arg).

%% Until nobody has anything left to print.
until_reported() ->
    receive after 20 -> ok end,
    case queue() of
        0 -> ok;
        _ -> until_reported()
    end.

%% Messages that wait anywhere else.
queue() ->
    lists:sum([N || P <- processes() -- [self()],
                    {_, N} <- [process_info(P, message_queue_len)]]).

%% By the clock, 10 ms at a time.
pace(PerSecond) ->
    Each = list_to_integer(PerSecond) div 100,
    spawn(fun() -> paced(Each, terms(Each), erlang:monotonic_time(millisecond)) end),
    <<"ok">>.

paced(Each, Arg, At) ->
    repeat(Each, Arg),
    Next = At + 10,
    receive after max(0, Next - erlang:monotonic_time(millisecond)) -> ok end,
    paced(Each, Arg, Next).

%% ---- tracers ------------------------------------------------------------------------------

has(Tool) ->
    code:which(module(list_to_atom(Tool))) =/= non_existing.

module(dbg_port) -> dbg;
module(recon) -> recon_trace;
module(Tool) -> Tool.

%% Who begins it has no other group leader, and lives until it ends.
begin_trace(Tool, What) ->
    Self = self(),
    Holder = spawn_link(fun() ->
                           {ok, Null} = file:open("/dev/null", [write]),
                           group_leader(Null, self()),
                           State = begun(list_to_atom(Tool), list_to_atom(What)),
                           Self ! {self(), begun},
                           receive stop -> ended(list_to_atom(Tool), State) end,
                           Self ! {self(), ended}
                   end),
    register(peer_tracer, Holder),
    receive {Holder, begun} -> <<"ok">> end.

end_trace() ->
    Holder = whereis(peer_tracer),
    Ref = monitor(process, Holder),
    Holder ! stop,
    receive {Holder, ended} -> ok end,
    receive {'DOWN', Ref, process, _, _} -> <<"ok">> end.

%% As people would, with limits that the calls do not reach; "limited": that are soon reached.
begun(dbg, What) ->
    {ok, _} = dbg:tracer(process, {fun dbg:dhandler/2, standard_io}),
    by_dbg(What);
begun(dbg_port, What) ->
    {ok, _} = dbg:tracer(port, dbg:trace_port(file, "/dev/null")),
    by_dbg(What);
begun(recon, limited) ->
    1 = recon_trace:calls({?MODULE, work, 2}, {100, 1000}, [{scope, local}]);
begun(recon, What) ->
    1 = recon_trace:calls({?MODULE, work, spec(What)}, {?MANY, 1000}, [{scope, local}]);
begun(redbug, limited) ->
    {Name, _, _} = redbug:start(pattern(calls), [{msgs, 100}]),
    Name;
begun(redbug, What) ->
    {Name, _, 1} = redbug:start(pattern(What), [{msgs, ?MANY}, {max_queue, ?MANY},
                                                {time, 3600000}]),
    Name.

by_dbg(What) ->
    {ok, _} = dbg:p(all, [c]),
    {ok, _} = dbg:tpl(?MODULE, work, spec(What)).

spec(returns) -> [{['_', '_'], [], [{return_trace}]}];
spec(rejected) -> [{[never, '_'], [], []}];
spec(_) -> [{['_', '_'], [], []}].

pattern(calls) -> "peer_tracers:work/2";
pattern(returns) -> "peer_tracers:work/2 -> return";
pattern(rejected) -> "peer_tracers:work(never, _)".

ended(recon, _) ->
    recon_trace:clear();
ended(redbug, Name) ->
    redbug:stop(),
    Ref = monitor(process, Name), % it ends when it has printed
    receive {'DOWN', Ref, process, _, _} -> ok end;
ended(_, _) ->
    dbg:ctp(),
    dbg:stop().
