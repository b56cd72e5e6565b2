%% SPDX-License-Identifier: BSD-2-Clause
%% A customer: looks at articles in the stock's table, buys some (messages to the stock), thinks.
%% Not registered; from OTP 27 on it carries a label.
-module(shop_customer).
-behaviour(gen_server).
-export([start_link/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link(K) -> gen_server:start_link(?MODULE, K, []).

init(K) ->
    case erlang:function_exported(proc_lib, set_label, 1) of
        true -> apply(proc_lib, set_label, [{customer, K}]);
        false -> ok
    end,
    {ok, K * 1000, K}.

handle_call(_, _From, Next) -> {reply, ok, Next, 2}.
handle_cast(_, Next) -> {noreply, Next, 2}.

handle_info(timeout, Next) ->
    Basket = browse(Next, 60, []),
    [shop_stock:take(A) || A <- lists:sublist(Basket, 20)],
    {noreply, Next + 60, 2}.

browse(_, 0, Basket) -> Basket;
browse(Article, N, Basket) ->
    case shop_stock:find(Article) of
        [{{article, A}, Count, _}] when Count > 0 -> browse(Article + 1, N - 1, [A | Basket]);
        _ -> browse(Article + 1, N - 1, Basket)
    end.
