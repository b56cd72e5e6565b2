%% SPDX-License-Identifier: BSD-2-Clause
%% What a node counts of itself as a whole, and things to count.
-module(total_facts).
-export([apps/0, counters/0, limits/0, queues/0, watch/2, watched/0, busy/1, dirty/3, collect/1,
         talk/2, tables/1]).

%% Applications, and of which of them each process is.
apps() ->
    #{apps => [app(App, Vsn) || {App, _, Vsn} <- application:loaded_applications()],
      processes => [#{pid => text(Pid), app => app_of(Pid)} || Pid <- processes()]}.

app(App, Vsn) ->
    {ok, Modules} = application:get_key(App, modules),
    #{name => App, vsn => list_to_binary(Vsn), modules => Modules}.

app_of(Pid) ->
    case application:get_application(Pid) of
        {ok, App} -> App;
        undefined -> null
    end.

text(Pid) -> list_to_binary(pid_to_list(Pid)).

counters() ->
    {Switches, 0} = erlang:statistics(context_switches),
    {Reductions, _} = erlang:statistics(reductions),
    {Collections, Words, 0} = erlang:statistics(garbage_collection),
    {{input, Input}, {output, Output}} = erlang:statistics(io),
    #{context_switches => Switches, reductions => Reductions, garbage_collections => Collections,
      gc_words_reclaimed => Words, input => Input, output => Output}.

limits() ->
    maps:from_list([{Key, erlang:system_info(Key)}
                    || Key <- [process_count, process_limit, port_count, port_limit, atom_count,
                               atom_limit, ets_count, ets_limit]]).

queues() -> #{lengths => erlang:statistics(run_queue_lengths_all)}.

%% All different lengths from so many ms from now on, for so many ms.
watch(After, For) ->
    Watcher = fun() ->
                      timer:sleep(list_to_integer(After)),
                      watcher(erlang:monotonic_time(millisecond) + list_to_integer(For), [])
              end,
    register(queue_watcher, spawn_opt(Watcher, [{priority, high}])),
    ok.

watcher(End, Seen) ->
    Now = erlang:statistics(run_queue_lengths_all),
    case erlang:monotonic_time(millisecond) < End of
        true -> timer:sleep(20), watcher(End, lists:usort([Now | Seen]));
        false -> receive {From, watched} -> From ! {watched, Seen} end
    end.

watched() ->
    queue_watcher ! {self(), watched},
    receive {watched, Seen} -> Seen end.

%% Processes that always can run.
busy(N) ->
    [spawn(fun spin/0) || _ <- lists:seq(1, list_to_integer(N))],
    ok.

spin() -> spin().

%% Processes that each take a dirty scheduler for so many ms.
dirty(Type, N, Ms) ->
    {module, _} = code:ensure_loaded(erts_debug),
    Function = list_to_existing_atom("dirty_" ++ Type),
    [spawn(fun() -> apply(erts_debug, Function, [wait, list_to_integer(Ms)]) end)
     || _ <- lists:seq(1, list_to_integer(N))],
    ok.

%% Collections of a heap that is too large for a scheduler that is not dirty.
collect(N) ->
    {Pid, Ref} = spawn_monitor(fun() -> collected(list_to_integer(N), lists:seq(1, 500000)) end),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end.

collected(0, List) -> length(List);
collected(N, List) ->
    garbage_collect(),
    collected(N - 1, List).

%% So many messages of so many bytes to a program that sends them back.
talk(N, Size) ->
    Port = open_port({spawn, "cat"}, [binary, stream]),
    Bytes = binary:copy(<<"x">>, list_to_integer(Size)),
    [talked(Port, Bytes) || _ <- lists:seq(1, list_to_integer(N))],
    port_close(Port),
    ok.

talked(Port, Bytes) ->
    port_command(Port, Bytes),
    receive_bytes(Port, byte_size(Bytes)).

receive_bytes(_, 0) -> ok;
receive_bytes(Port, Left) ->
    receive {Port, {data, Data}} -> receive_bytes(Port, Left - byte_size(Data)) end.

tables(N) ->
    Self = self(),
    spawn(fun() ->
                  [ets:new(table, []) || _ <- lists:seq(1, list_to_integer(N))],
                  Self ! made,
                  receive after infinity -> ok end
          end),
    receive made -> ok end.
