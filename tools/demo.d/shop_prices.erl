%% SPDX-License-Identifier: BSD-2-Clause
%% Prices: arithmetic, which is the CPU-bound part of the shop.
-module(shop_prices).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) -> {ok, 1, 0}.

handle_call(_, _From, Seed) -> {reply, ok, Seed, 0}.
handle_cast(_, Seed) -> {noreply, Seed, 0}.

handle_info(timeout, Seed) ->
    Discount = discount(200000, Seed),
    Tax = lists:foldl(fun(Rate, Sum) -> Sum + tax(20000, Rate, 0) end, 0, [7, 19, 21]),
    {noreply, (Seed + Discount + Tax) rem 9973, 1}.

discount(0, X) -> X rem 100;
discount(N, X) -> discount(N - 1, (X * 69069 + 1) band 16#ffffffff).

tax(0, _, Sum) -> Sum;
tax(N, Rate, Sum) -> tax(N - 1, Rate, Sum + (N * Rate) div 100).
