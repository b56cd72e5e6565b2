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
    {N, List, maps:from_list([{K, {0, 0, 0, 0}} || K <- [alpha, beta, gamma, sorting]])}.

step({N, List, Times}) ->
    #{alpha := A, beta := B, gamma := C, sorting := S} = Times,
    {N, List, #{alpha => workload:measure(fun(K) -> alpha(K, 1) end, N, A),
                beta => workload:measure(fun(K) -> beta(K, 1) end, 2 * N, B),
                gamma => workload:measure(fun(K) -> gamma(K, 1) end, 5 * N, C),
                sorting => workload:measure(fun sorting/1, List, S)}}.

report([{_, _, Times}]) ->
    Sums = maps:map(fun(_, T) -> workload:robust_sum(T) end, Times),
    All = lists:sum(maps:values(Sums)),
    #{self => maps:from_list([{mfa(F, 2), maps:get(F, Sums) / All} || F <- [alpha, beta, gamma]]),
      total => #{mfa(sorting, 1) => maps:get(sorting, Sums) / All}}.

mfa(F, A) -> iolist_to_binary(io_lib:format("cpu_split:~s/~b", [F, A])).

alpha(0, X) -> X;
alpha(N, X) -> alpha(N - 1, (X * 69069 + 1) band 16#ffffffff).

beta(0, X) -> X;
beta(N, X) -> beta(N - 1, (X * 69069 + 1) band 16#ffffffff).

gamma(0, X) -> X;
gamma(N, X) -> gamma(N - 1, (X * 69069 + 1) band 16#ffffffff).

sorting(List) -> length(lists:sort(List)).
