%% SPDX-License-Identifier: BSD-2-Clause
%% Processes that live for a moment.  Argument: processes per second (20000).  The truth: how many.
-module(spawn_storm).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, child/1]).

processes([]) -> processes(["20000"]);
processes([Rate]) -> [{spawn_storm, list_to_integer(Rate)}].

init(Rate) ->
    {Rate, workload:calibrate(fun(N) -> spin(N, 1) end, 10000), workload:clock(), 0}.

step({Rate, Work, Since, Count}) ->
    receive after 1 -> ok end,
    Due = Rate * (workload:clock() - Since) div 1000000000,
    %% After a stall, no more than 50 ms worth at once.
    Now = min(Due, Count + Rate div 20),
    [spawn(?MODULE, child, [Work]) || _ <- lists:seq(Count + 1, Now)],
    {Rate, Work, case Due > Now of true -> workload:clock() - Now * 1000000000 div Rate;
                                   false -> Since end, max(Count, Now)}.

child(Work) -> spin(Work, 1).

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).

report([{_, _, _, Count}]) -> #{spawned => Count}.
