%% SPDX-License-Identifier: BSD-2-Clause
%% A gen_statem whose states are functions; see states.erl.
-module(statem_functions).
-behaviour(gen_statem).
-export([start/1, init/1, callback_mode/0, locked/3, open/3]).

start(Args) -> gen_statem:start(?MODULE, Args, []).
init({State, Data, Actions}) -> {ok, State, Data, Actions}.
callback_mode() -> [state_functions, state_enter].
locked(enter, _, _) -> keep_state_and_data;
locked(_, _, _) -> {keep_state_and_data, [postpone]}.
open(enter, _, _) -> keep_state_and_data;
open(_, _, _) -> keep_state_and_data.
