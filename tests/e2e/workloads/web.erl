%% SPDX-License-Identifier: BSD-2-Clause
%% A busy node as web servers are: one process per scheduler takes requests without ever resting; each
%% is a process of its own that asks a server twelve times, collects its garbage now and then, works
%% for a third of a millisecond and is gone: for each core some 50,000 messages, 2,000 spawns and
%% 8,000 collections a second.  The truth: rounds (requests), which over elapsed_ns are the
%% throughput, and what they did.
-module(web).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(QUESTIONS, 12).
-define(WORK, 42).

processes(_) ->
    [{undefined, K} || K <- lists:seq(1, erlang:system_info(schedulers_online))].

init(_) ->
    Self = self(),
    persistent_term:put(?MODULE, {binary:copy(<<"again and ">>, 50),
                                  [{N, integer_to_binary(N)} || N <- lists:seq(1, 400)]}),
    {spawn_link(fun() -> monitor(process, Self), server(0) end), 0}.

step({Server, Rounds}) ->
    {_, Ref} = spawn_monitor(fun() -> request(Server) end),
    receive {'DOWN', Ref, process, _, normal} -> {Server, Rounds + 1} end.

request(Server) ->
    [ask(Server, N) || N <- lists:seq(1, ?QUESTIONS)],
    work(?WORK),
    erlang:garbage_collect().

ask(Server, N) ->
    Server ! {self(), {question, N}},
    receive {Server, _} -> ok end.

server(N) ->
    receive
        {'DOWN', _, process, _, _} -> N;
        {From, Question} -> From ! {self(), {answer, Question}}, server(N + 1)
    end.

%% What servers do between messages, without much garbage: hashes and comparing of what is kept.
work(0) -> ok;
work(N) ->
    {Text, Term} = persistent_term:get(?MODULE),
    _ = erlang:crc32(erlang:md5(Text)),
    _ = erlang:phash2(Term),
    true = Term =:= Term,
    work(N - 1).

report(States) ->
    Rounds = lists:sum([N || {_, N} <- States]),
    #{rounds => Rounds, messages => Rounds * (2 * ?QUESTIONS + 1), spawns => Rounds,
      collections => Rounds * 4}.
