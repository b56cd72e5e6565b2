%% SPDX-License-Identifier: BSD-2-Clause
%% Things that last long, one after the other in a process of its own, and for how long they did: at
%% least from begin to end, at most from before to after, in nanoseconds of the system's clock.
%%
%%   node.ask("lasting", "load", DIR)             loads the NIFs of lasting_nif from there
%%   node.ask("lasting", "nifs", N, US)           N calls of each of them, of so many microseconds
%%   node.ask("lasting", "short", N, US)          N calls in one slice, if they are short enough for that
%%   node.ask("lasting", "collections", N)        N large collections
%%   node.ask("lasting", "ports", N, MS)          N callbacks of zoo_drv (see driver_zoo), of so many milliseconds
%%   node.ask("lasting", "slices", N)             N slices of 25 ms or more in each of four kinds of code,
%%                                                and as many of 8 ms
%%   node.ask("lasting", "compare", N)            N slices in each of two comparisons, which follow a
%%                                                wait that was deeper on the stack
-module(lasting).
-export([load/1, nifs/2, short/2, collections/1, ports/2, slices/1, compare/1]).
-export([normal/2, dirty_cpu/2, dirty_io/2, locked/2]).

-define(SPIN, 0).
-define(SLEEP, 1).
-define(CONSUME, 2).

normal(_, _) -> erlang:nif_error(not_loaded).
dirty_cpu(_, _) -> erlang:nif_error(not_loaded).
dirty_io(_, _) -> erlang:nif_error(not_loaded).
locked(_, _) -> erlang:nif_error(not_loaded).

load(Dir) ->
    ok = erlang:load_nif(filename:join(Dir, "lasting_nif"), 0),
    #{}.

now_ns() -> os:system_time(nanosecond).

in_process(Fun) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> Self ! {done, self(), Fun()} end),
    receive
        {done, P, Result} ->
            erlang:demonitor(Ref, [flush]),
            #{pid => list_to_binary(pid_to_list(P)), calls => Result};
        {'DOWN', Ref, process, P, Reason} -> error({died, Reason})
    end.

pause() -> receive after 5 -> ok end.

%% ---- NIFs ---------------------------------------------------------------------------------

nifs(Count, Us) ->
    N = list_to_integer(Count),
    Time = list_to_integer(Us),
    in_process(fun() -> lists:append([each(Time) || _ <- lists:seq(1, N)]) end).

each(Us) ->
    [call(normal, fun normal/2, Us, ?SPIN), call(normal, fun normal/2, Us, ?SLEEP),
     call(normal, fun normal/2, Us, ?CONSUME), call(dirty_cpu, fun dirty_cpu/2, Us, ?SPIN),
     call(dirty_io, fun dirty_io/2, Us, ?SLEEP)].

call(Name, Fun, Us, How) ->
    pause(),
    Before = now_ns(),
    {Begin, End} = Fun(Us, How),
    After = now_ns(),
    #{function => Name, how => How, before => Before, 'begin' => Begin, 'end' => End, 'after' => After}.

%% Nothing else happens between one call and the next.
short(Count, Us) ->
    N = list_to_integer(Count),
    Time = list_to_integer(Us),
    in_process(fun() -> [short_calls(Time, 20) || _ <- lists:seq(1, N)] end).

short_calls(Us, N) ->
    pause(),
    Before = now_ns(),
    Longest = short_calls(Us, N, 0),
    #{before => Before, 'after' => now_ns(), longest => Longest}.

short_calls(_, 0, Longest) -> Longest;
short_calls(Us, N, Longest) ->
    {Begin, End} = normal(Us, ?SPIN),
    short_calls(Us, N - 1, max(Longest, End - Begin)).

%% ---- collections --------------------------------------------------------------------------

%% What erlang:trace/3 says of them, too: kind, begin and end.
collections(Count) ->
    N = list_to_integer(Count),
    Self = self(),
    {P, Ref} = spawn_monitor(fun() -> receive go -> ok end, Self ! {done, collect(N, large())} end),
    erlang:trace(P, true, [garbage_collection, monotonic_timestamp]),
    P ! go,
    Calls = receive {done, C} -> C; {'DOWN', Ref, process, P, Why} -> error({died, Why}) end,
    #{pid => list_to_binary(pid_to_list(P)), calls => Calls, traced => traced(P)}.

large() -> [{I, [I]} || I <- lists:seq(1, 1500000)].

collect(0, Large) -> true = length(Large) > 0, [];
collect(N, Large) ->
    Before = now_ns(),
    true = erlang:garbage_collect(),
    After = now_ns(),
    pause(),
    [#{before => Before, 'after' => After} | collect(N - 1, Large)].

traced(P) ->
    receive
        {trace_ts, P, Start, _, T1} when Start =:= gc_minor_start; Start =:= gc_major_start ->
            receive
                {trace_ts, P, End, _, T2} when End =:= gc_minor_end; End =:= gc_major_end ->
                    [#{kind => End, 'begin' => system(T1), 'end' => system(T2)} | traced(P)]
            end
    after 200 -> []
    end.

system(T) -> erlang:convert_time_unit(T + erlang:time_offset(), native, nanosecond).

%% ---- ports --------------------------------------------------------------------------------

ports(Count, Ms) ->
    N = list_to_integer(Count),
    Data = binary:copy(<<0>>, list_to_integer(Ms)),
    Truth = in_process(fun() ->
        P = open_port({spawn, "zoo_drv  and more"}, []),
        Calls = [callback(P, Data) || _ <- lists:seq(1, N)],
        {list_to_binary(erlang:port_to_list(P)), Calls}
    end),
    #{calls := {Port, Calls}} = Truth,
    Truth#{port => Port, calls => Calls}.

%% The port may be at it for a moment after it has told.
callback(P, Data) ->
    Before = now_ns(),
    _ = port_control(P, 10, Data),
    Text = receive {P, {data, T}} -> T end,
    [Begin, End] = [list_to_integer(X) || X <- string:lexemes(Text, " ")],
    receive after 20 -> ok end,
    #{before => Before, 'begin' => Begin, 'end' => End, 'after' => now_ns()}.

%% ---- time slices --------------------------------------------------------------------------

-define(LONG_MS, 25).

%% A BIF that waits, one that computes, C code that is no BIF, a NIF; and a short one.
slices(Count) ->
    N = list_to_integer(Count),
    erts_debug:set_internal_state(available_internal_state, true),
    List = lists:seq(1, 200000),
    Tuple = list_to_tuple(lists:duplicate(1000000, {a})),
    Us = lists:min([element(1, timer:tc(erts_debug, flat_size, [Tuple])) || _ <- lists:seq(1, 5)]),
    Terms = {List, binary_to_term(term_to_binary(List)), Tuple, ?LONG_MS * 1000 div max(Us, 1) + 2},
    in_process(fun() -> lists:append([rounds(Terms) || _ <- lists:seq(1, N)]) end).

%% One call of flat_size/1 lasts long enough: what it walks is the same tuple, so many times.
rounds({A, B, Tuple, Times}) ->
    Large = lists:duplicate(Times, Tuple),
    [slice(set_internal_state, fun() -> erts_debug:set_internal_state(sleep, ?LONG_MS) end),
     slice(flat_size, fun() -> true = erts_debug:flat_size(Large) > 0 end),
     slice(compare, fun() -> compare(A, B, until(?LONG_MS)) end),
     slice(normal, fun() -> normal(?LONG_MS * 1000, ?SPIN) end),
     slice(none, fun() -> normal(8000, ?SPIN) end)].

%% A slice begins and ends as the process waits.
slice(Name, Fun) ->
    Before = now_ns(),
    pause(),
    Begin = now_ns(),
    _ = Fun(),
    End = now_ns(),
    pause(),
    #{function => Name, before => Before, 'begin' => Begin, 'end' => End, 'after' => now_ns()}.

until(Ms) -> erlang:monotonic_time(millisecond) + Ms + 1.

%% Comparing terms costs no reductions.
compare(A, B, Until) ->
    true = A =:= B, true = A =:= B, true = A =:= B, true = A =:= B,
    case erlang:monotonic_time(millisecond) of
        T when T < Until -> compare(A, B, Until);
        _ -> ok
    end.

%% Process.stop is that of the wait all the time: neither comparison stores where the stack is.
compare(Count) ->
    in_process(fun() ->
        {A, B} = {twins(24), twins(24)},
        _ = [{in_body(nap(), A, B), in_guard(nap(), A, B)} || _ <- lists:seq(1, list_to_integer(Count))],
        #{}
    end).

twins(0) -> [];
twins(N) -> T = twins(N - 1), {T, T}.

nap() -> {deeper(), ok}.

deeper() -> {deepest(), ok}.

deepest() -> receive nothing -> ok after 20 -> ok end.

in_body(_, A, B) -> Same = A == B, {Same, ok}.

in_guard(_, A, B) -> if A == B -> {held(A), ok}; true -> false end.

held(A) -> A.
