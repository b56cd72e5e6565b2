%% SPDX-License-Identifier: BSD-2-Clause
%% Reports: builds large results and throws them away, which is work for the garbage collector.
-module(shop_reports).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) -> {ok, rows(20000), 0}.

handle_call(_, _From, Ledger) -> {reply, ok, Ledger, 4}.
handle_cast(_, Ledger) -> {noreply, Ledger, 4}.

handle_info(timeout, Ledger) ->
    Report = lists:foldl(fun collect/2, [], Ledger),
    _ = summarize(Report),
    {noreply, Ledger, 4}.

collect({Day, Sum}, Report) when Day rem 3 =:= 0 -> [{Day, Sum * 2, [Sum]} | Report];
collect(_, Report) -> Report.

rows(N) -> [{Day, Day * 7 rem 1000} || Day <- lists:seq(1, N)].

summarize(Report) ->
    lists:foldl(fun({_, Sum, _}, All) -> Sum + All end, 0, Report).
