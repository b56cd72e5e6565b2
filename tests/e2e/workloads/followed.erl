%% SPDX-License-Identifier: BSD-2-Clause
%% A name that goes from one process to the next.
%%
%%   node.ask("followed", "turns", N)   N processes; each is registered as `followed`, gets 3 messages and exits
-module(followed).
-export([turns/1, holder/1]).

pid(P) -> list_to_binary(pid_to_list(P)).

turns(Count) ->
    Holders = [begin
                   {P, Ref} = spawn_monitor(?MODULE, holder, [self()]),
                   P ! before_it_has_the_name,
                   receive {ready, P} -> ok end,
                   [followed ! I || I <- [1, 2, 3]],
                   receive {'DOWN', Ref, process, P, normal} -> ok end,
                   P
               end || _ <- lists:seq(1, list_to_integer(Count))],
    #{holders => [pid(P) || P <- Holders], me => pid(self())}.

holder(From) ->
    receive before_it_has_the_name -> ok end,
    register(followed, self()),
    From ! {ready, self()},
    [receive I -> ok end || I <- [1, 2, 3]],
    ok.
