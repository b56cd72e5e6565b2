%% SPDX-License-Identifier: BSD-2-Clause
%% What is made by chance, the same for the same seed of rand.
-module(chance).
-export([uniform/2, one_of/1, many/3]).

uniform(From, To) -> From + rand:uniform(To - From + 1) - 1.
one_of(List) -> lists:nth(rand:uniform(length(List)), List).
many(Fun, From, To) -> [Fun() || _ <- lists:seq(1, uniform(From, To))].
