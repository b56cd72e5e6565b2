%% SPDX-License-Identifier: BSD-2-Clause
%% One process divides its CPU time between functions: alpha/2, beta/2 and gamma/2 do the same
%% arithmetic 1 : 2 : 5 times, sorting/1 sorts a list, which is time in lists:sort/1 and below.
%% The truth is what the node counts of its CPU time, which no wait for a CPU is part of.  It counts whole
%% milliseconds: as calls begin anywhere within one, the sum of thousands is right.
-module(cpu_split).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(SCALES, 5).

processes(_) -> [{cpu_split, none}].

%% With room on the heap: collections between the calls are work of nobody's.  But never with more than 128 k words
%% of it in use: those would be collected by a dirty scheduler, while the other spins, which the node counts too.
init(_) ->
    process_flag(min_heap_size, 100000),
    erlang:garbage_collect(),
    N = workload:calibrate(fun(K) -> alpha(K, 1) end, 1000),
    Lists = [[X * 7919 rem 10007 || X <- lists:seq(1, 15 * size_of(Scale))] || Scale <- lists:seq(1, ?SCALES)],
    {N, list_to_tuple(Lists), {0, 0, 0, 0}}.

%% Rounds differ much in length, so that they do not keep step with samples; and take a thousand times what it
%% takes to ask for the CPU time.
size_of(Scale) -> 40 + 120 * Scale.

step({N, Lists, {Alpha, Beta, Gamma, Sorting}}) ->
    Scale = rand:uniform(?SCALES),
    K = N * size_of(Scale),
    T0 = cpu_ms(),
    alpha(K, 1),
    T1 = cpu_ms(),
    beta(2 * K, 1),
    T2 = cpu_ms(),
    gamma(5 * K, 1),
    T3 = cpu_ms(),
    sorting(element(Scale, Lists)),
    T4 = cpu_ms(),
    {N, Lists, {Alpha + T1 - T0, Beta + T2 - T1, Gamma + T3 - T2, Sorting + T4 - T3}}.

cpu_ms() -> element(1, statistics(runtime)).

report([{_, _, {Alpha, Beta, Gamma, Sorting}}]) ->
    All = max(1, Alpha + Beta + Gamma + Sorting),
    #{self => #{mfa(alpha, 2) => Alpha / All, mfa(beta, 2) => Beta / All, mfa(gamma, 2) => Gamma / All},
      total => #{mfa(sorting, 1) => Sorting / All}}.

mfa(F, A) -> iolist_to_binary(io_lib:format("cpu_split:~s/~b", [F, A])).

alpha(0, X) -> X;
alpha(N, X) -> alpha(N - 1, (X * 69069 + 1) band 16#ffffffff).

beta(0, X) -> X;
beta(N, X) -> beta(N - 1, (X * 69069 + 1) band 16#ffffffff).

gamma(0, X) -> X;
gamma(N, X) -> gamma(N - 1, (X * 69069 + 1) band 16#ffffffff).

sorting(List) -> length(lists:sort(List)) + length(lists:sort(List)) + length(lists:sort(List)).
