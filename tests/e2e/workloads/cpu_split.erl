%% SPDX-License-Identifier: BSD-2-Clause
%% One process divides its CPU time between functions: alpha/2, beta/2 and gamma/2 do the same
%% arithmetic 1 : 2 : 5 times, sorting/1 sorts a list, which is time in lists:sort/1 and below.
%% Each call is measured by the process itself; the truth is the share of each.
-module(cpu_split).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{cpu_split, none}].

%% With room on the heap: collections between the calls are work of nobody's.
init(_) ->
    process_flag(min_heap_size, 200000),
    erlang:garbage_collect(),
    N = workload:calibrate(fun(K) -> alpha(K, 1) end, 100000),
    List = [X * 7919 rem 10007 || X <- lists:seq(1, 3000)],
    {N, List, #{}}.

%% Rounds differ in length: all of a millisecond, they would keep step with samples of 999 Hz.
step({N, List, Times}) ->
    Scale = rand:uniform(5),
    K = N * (75 + 10 * Scale) div 100,
    Time = fun(F, Fun, Arg, All) ->
                   Key = {F, Scale},
                   All#{Key => workload:measure(Fun, Arg, maps:get(Key, All, {0, 0, 0, 0}))}
           end,
    T1 = Time(alpha, fun(I) -> alpha(I, 1) end, K, Times),
    T2 = Time(beta, fun(I) -> beta(I, 1) end, 2 * K, T1),
    T3 = Time(gamma, fun(I) -> gamma(I, 1) end, 5 * K, T2),
    {N, List, Time(sorting, fun sorting/1, List, T3)}.

report([{_, _, Times}]) ->
    Sum = fun(F) -> lists:sum([workload:robust_sum(T) || {{G, _}, T} <- maps:to_list(Times), G =:= F])
          end,
    All = lists:sum([Sum(F) || F <- [alpha, beta, gamma, sorting]]),
    #{self => maps:from_list([{mfa(F, 2), Sum(F) / All} || F <- [alpha, beta, gamma]]),
      total => #{mfa(sorting, 1) => Sum(sorting) / All}}.

mfa(F, A) -> iolist_to_binary(io_lib:format("cpu_split:~s/~b", [F, A])).

alpha(0, X) -> X;
alpha(N, X) -> alpha(N - 1, (X * 69069 + 1) band 16#ffffffff).

beta(0, X) -> X;
beta(N, X) -> beta(N - 1, (X * 69069 + 1) band 16#ffffffff).

gamma(0, X) -> X;
gamma(N, X) -> gamma(N - 1, (X * 69069 + 1) band 16#ffffffff).

sorting(List) -> length(lists:sort(List)).
