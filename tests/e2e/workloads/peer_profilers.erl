%% SPDX-License-Identifier: BSD-2-Clause
%% What people use today: the same work alone, under eprof and under fprof, in turns.
%%
%%   erl -noshell -pa DIR -run peer_profilers main PAIRS
%%
%% Prints one line of JSON: throughput under each profiler as a share of that alone, one by pair.
-module(peer_profilers).
-export([main/1, work/1]).

main([Pairs]) ->
    spawn(fun() -> run(list_to_integer(Pairs)) end).

run(Pairs) ->
    work(50),
    Ratios = [pair() || _ <- lists:seq(1, Pairs)],
    io:put_chars([workload:json(#{event => peers, eprof => [E || {E, _} <- Ratios],
                                  fprof => [F || {_, F} <- Ratios]}), $\n]),
    halt(0, [{flush, true}]).

pair() ->
    Alone = rate(200, fun() -> work(200) end),
    Eprof = rate(20, fun() -> {ok, _} = eprof:profile(fun() -> work(20) end) end),
    eprof:stop(),
    Trace = "/tmp/ebeam-fprof-" ++ os:getpid() ++ ".trace",
    Fprof = rate(5, fun() -> fprof:apply(?MODULE, work, [5], [{file, Trace}]) end),
    fprof:stop(),
    file:delete(Trace),
    {Eprof / Alone, Fprof / Alone}.

rate(Units, Fun) ->
    Began = erlang:monotonic_time(),
    Fun(),
    Units / max(1, erlang:monotonic_time() - Began).

work(0) -> ok;
work(N) -> throughput:unit(), work(N - 1).
