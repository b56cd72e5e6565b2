%% SPDX-License-Identifier: BSD-2-Clause
%% Threads that are blocked for a time that they measure.
%%
%%   node.ask("blocked", "sleeps", N, US)    N calls of a NIF that sleeps (see lasting), on a normal and on a dirty
%%                                           scheduler: pid and nanoseconds of each
%%   node.ask("blocked", "locked", P, N, US) P processes that take a lock N times each, and hold it for so long:
%%                                           how long each waited for it, and how often
%%   node.ask("blocked", "counted", P, N, US) the same, on an emulator that counts locks: how often it found the
%%                                           lock taken, and how long processes waited
%%   node.ask("blocked", "writers", P, MS)   P processes that write to one table for so long
-module(blocked).
-export([sleeps/2, locked/3, counted/3, counts_locks/0, writers/2]).

-define(SLEEP, 1).

in_processes(Funs) ->
    Self = self(),
    Refs = [begin
                {P, Ref} = spawn_monitor(fun() -> Self ! {self(), Fun()} end),
                {P, Ref}
            end || Fun <- Funs],
    [receive
         {P, Result} ->
             erlang:demonitor(Ref, [flush]),
             {list_to_binary(pid_to_list(P)), Result};
         {'DOWN', Ref, process, P, Reason} ->
             error({died, Reason})
     end || {P, Ref} <- Refs].

repeat(0, _, Sum) -> Sum;
repeat(N, Fun, Sum) -> repeat(N - 1, Fun, Sum + Fun()).

sleeps(Count, Microseconds) ->
    N = list_to_integer(Count),
    Us = list_to_integer(Microseconds),
    Sleep = fun(Nif) ->
                    fun() ->
                            repeat(N, fun() -> {Begin, End} = Nif(Us, ?SLEEP), End - Begin end, 0)
                    end
            end,
    [{Normal, NormalNs}, {Dirty, DirtyNs}] =
        in_processes([Sleep(fun lasting:normal/2), Sleep(fun lasting:dirty_io/2)]),
    #{normal => #{pid => Normal, ns => NormalNs}, dirty => #{pid => Dirty, ns => DirtyNs}}.

locked(Processes, Count, Microseconds) ->
    N = list_to_integer(Count),
    Us = list_to_integer(Microseconds),
    Take = fun() ->
                   Waits = [begin {Begin, Got} = lasting:locked(Us, 0), Got - Begin end
                            || _ <- lists:seq(1, N)],
                   #{ns => lists:sum(Waits), waits => length([W || W <- Waits, W > 100000])}
           end,
    maps:from_list(in_processes([Take || _ <- lists:seq(1, list_to_integer(Processes))])).

counts_locks() -> erlang:system_info(lock_counting) =:= true.

counted(Processes, Count, Microseconds) ->
    erts_debug:lcnt_clear(),
    _ = locked(Processes, Count, Microseconds),
    [_, {locks, Locks}] = erts_debug:lcnt_collect(),
    Counts = [{Collisions, S * 1000000000 + Ns} || {lasting, _, _, Stats} <- Locks,
                                                   {_, {_, Collisions, {S, Ns, _}}, _} <- Stats],
    #{waits => lists:sum([C || {C, _} <- Counts]), ns => lists:sum([Ns || {_, Ns} <- Counts])}.

writers(Processes, Milliseconds) ->
    %% The table stays when they have ended: a lock has its name only while it is there.
    catch ets:delete(blocked_table),
    Table = ets:new(blocked_table, [public, named_table]),
    Rows = [{X rem 10, X, lists:seq(1, 5000)} || X <- lists:seq(1, 3)],
    End = erlang:monotonic_time(millisecond) + list_to_integer(Milliseconds),
    Writer = fun() -> write(Table, Rows, End, 0) end,
    Result = in_processes([Writer || _ <- lists:seq(1, list_to_integer(Processes))]),
    maps:from_list(Result).

write(Table, Rows, End, N) ->
    ets:insert(Table, Rows),
    case erlang:monotonic_time(millisecond) < End of
        true -> write(Table, Rows, End, N + 1);
        false -> N + 1
    end.
