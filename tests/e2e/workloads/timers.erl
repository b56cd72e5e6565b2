%% SPDX-License-Identifier: BSD-2-Clause
%% Timers: set many, cancel some, let the others fire.  The truth: timers set.
-module(timers).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{undefined, none} || _ <- lists:seq(1, 40)].

init(_) -> 0.

step(Count) ->
    Refs = [erlang:send_after(1 + X rem 5, self(), tick) || X <- lists:seq(1, 300)],
    cancel(lists:sublist(Refs, 60)),
    drain(240),
    Count + 300.

cancel([Ref | Rest]) ->
    case erlang:cancel_timer(Ref) of
        false -> receive tick -> ok end;
        _ -> ok
    end,
    cancel(Rest);
cancel([]) -> ok.

drain(0) -> ok;
drain(N) -> receive tick -> drain(N - 1) end.

report(Counts) -> #{timers => lists:sum(Counts)}.
