%% SPDX-License-Identifier: BSD-2-Clause
%% A process that has a lock of the C library for two minutes, in a dirty NIF; and one that, a
%% second later, waits for it in a normal one.
%%
%%   node.ask("c_locks", "load", DIR)       loads the NIFs of c_locks_nif from there
%%   node.ask("c_locks", "hold", WHICH)     WHICH: 0 a mutex, 1 a rwlock; the pids of both
-module(c_locks).
-export([load/1, hold/1, hold/2, want/2]).

hold(_, _) -> erlang:nif_error(not_loaded).
want(_, _) -> erlang:nif_error(not_loaded).

load(Dir) ->
    ok = erlang:load_nif(filename:join(Dir, "c_locks_nif"), 0),
    #{}.

hold(Which) ->
    N = list_to_integer(Which),
    Holds = spawn(fun() -> register(c_lock_holds, self()), hold(N, 120) end),
    receive after 300 -> ok end,
    Wants = spawn(fun() ->
                          register(c_lock_wants, self()),
                          receive after 1000 -> ok end,
                          want(N, 0)
                  end),
    #{holds => pid(Holds), wants => pid(Wants)}.

pid(P) -> list_to_binary(pid_to_list(P)).
