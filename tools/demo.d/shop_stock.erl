%% SPDX-License-Identifier: BSD-2-Clause
%% The stock: an ETS table that customers read, and that this process counts through now and then.
-module(shop_stock).
-behaviour(gen_server).
-export([start_link/0, find/1, take/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(ARTICLES, 5000).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

find(Article) -> ets:lookup(?MODULE, {article, Article rem ?ARTICLES}).

take(Article) -> gen_server:call(?MODULE, {take, Article rem ?ARTICLES}).

init([]) ->
    ets:new(?MODULE, [named_table, set, protected]),
    [ets:insert(?MODULE, {{article, A}, 1000, describe(A)}) || A <- lists:seq(0, ?ARTICLES - 1)],
    {ok, 0, 50}.

describe(A) -> [{name, "article " ++ integer_to_list(A)}, {colours, [red, green, blue]},
                {weights, [A, A * 2, A * 3]}].

handle_call({take, Article}, _From, Taken) ->
    Left = ets:update_counter(?MODULE, {article, Article}, {2, -1, 0, 1000}),
    {reply, {ok, Left}, Taken + 1, 50}.

handle_cast(_, Taken) -> {noreply, Taken, 50}.

handle_info(timeout, Taken) ->
    _ = ets:foldl(fun({_, Count, _}, Sum) -> Sum + Count end, 0, ?MODULE),
    {noreply, Taken, 50}.
