%% SPDX-License-Identifier: BSD-2-Clause
%% Search: an index of words in a map, sorted results, strings.
-module(shop_search).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(TEXT, "a red bicycle with a basket a blue bicycle without one and a green basket").

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) -> {ok, #{}, 0}.

handle_call(_, _From, Index) -> {reply, ok, Index, 2}.
handle_cast(_, Index) -> {noreply, Index, 2}.

handle_info(timeout, _) ->
    Index = lists:foldl(fun index/2, #{}, lists:seq(1, 100)),
    _ = rank(maps:to_list(Index)),
    {noreply, Index, 2}.

index(Document, Index) ->
    lists:foldl(fun(Word, Acc) ->
                        maps:update_with(Word, fun(L) -> [Document | L] end, [Document], Acc)
                end, Index, string:lexemes(?TEXT, " ")).

rank(Found) ->
    lists:sort(fun({_, A}, {_, B}) -> length(A) >= length(B) end, Found).
