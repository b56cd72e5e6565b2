%% SPDX-License-Identifier: BSD-2-Clause
%% One process divides its CPU time between functions: alpha/2, beta/2 and gamma/2 do the same
%% arithmetic 1 : 2 : 5 times, sorting/1 sorts a list, which is time in lists:sort/1 and below.
%% The process measures its calls; the truth is the median of each loop's share of a round, which
%% neither a wait for a CPU nor a host that is slow for a while changes, and what is left for sorting.
-module(cpu_split).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(LOOPS, 3).
-define(SCALES, 5).
-define(BUCKETS, 1001).  % shares in permille

processes(_) -> [{cpu_split, none}].

%% With room on the heap: collections between the calls are work of nobody's.
init(_) ->
    process_flag(min_heap_size, 200000),
    erlang:garbage_collect(),
    N = workload:calibrate(fun(K) -> alpha(K, 1) end, 1000),
    Lists = [[X * 7919 rem 10007 || X <- lists:seq(1, 30 * size_of(Scale))] || Scale <- lists:seq(1, ?SCALES)],
    {N, list_to_tuple(Lists), counters:new(?SCALES * ?LOOPS * ?BUCKETS, [])}.

%% Rounds differ much in length: all of about a millisecond, they would keep step with samples of 999 Hz
%% for a while, and shares would vary twice as much as those of independent samples do.
size_of(Scale) -> 10 + 30 * Scale.

step({N, Lists, Counts}) ->
    Scale = rand:uniform(?SCALES),
    K = N * size_of(Scale),
    T0 = workload:clock(),
    alpha(K, 1),
    T1 = workload:clock(),
    beta(2 * K, 1),
    T2 = workload:clock(),
    gamma(5 * K, 1),
    T3 = workload:clock(),
    sorting(element(Scale, Lists)),
    T4 = workload:clock(),
    Count = fun(Loop, Time) ->
                    counters:add(Counts, at(Scale, Loop, 1000 * Time div max(1, T4 - T0)), 1)
            end,
    Count(1, T1 - T0),
    Count(2, T2 - T1),
    Count(3, T3 - T2),
    {N, Lists, Counts}.

at(Scale, Loop, Permille) ->
    ((Scale - 1) * ?LOOPS + Loop - 1) * ?BUCKETS + Permille + 1.

report([{_, _, Counts}]) ->
    Sizes = lists:sum([size_of(S) || S <- lists:seq(1, ?SCALES)]),
    Share = fun(Loop) ->
                    Sum = lists:sum([size_of(S) * median(Counts, S, Loop) || S <- lists:seq(1, ?SCALES)]),
                    Sum / Sizes / 1000
            end,
    Loops = #{mfa(alpha, 2) => Share(1), mfa(beta, 2) => Share(2), mfa(gamma, 2) => Share(3)},
    #{self => Loops, total => #{mfa(sorting, 1) => 1 - lists:sum(maps:values(Loops))}}.

median(Counts, Scale, Loop) ->
    Buckets = [counters:get(Counts, at(Scale, Loop, P)) || P <- lists:seq(0, ?BUCKETS - 1)],
    middle(Buckets, lists:sum(Buckets) / 2, 0).

%% Within a bucket, shares are taken to be evenly spread.
middle([Count | Rest], Left, Permille) when Count < Left -> middle(Rest, Left - Count, Permille + 1);
middle([Count | _], Left, Permille) -> Permille + Left / max(1, Count).

mfa(F, A) -> iolist_to_binary(io_lib:format("cpu_split:~s/~b", [F, A])).

alpha(0, X) -> X;
alpha(N, X) -> alpha(N - 1, (X * 69069 + 1) band 16#ffffffff).

beta(0, X) -> X;
beta(N, X) -> beta(N - 1, (X * 69069 + 1) band 16#ffffffff).

gamma(0, X) -> X;
gamma(N, X) -> gamma(N - 1, (X * 69069 + 1) band 16#ffffffff).

sorting(List) -> length(lists:sort(List)).
