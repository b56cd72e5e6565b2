%% SPDX-License-Identifier: BSD-2-Clause
%% Processes, tables, a port, persistent terms, a module and NIF resources that refer to binaries in known ways,
%% until the node ends.
%%
%%   node.ask("bin_holders", "make")    makes them; the truth: of each its id, and what it refers to
%%   node.ask("bin_holders", "all")     process_info(P, binary) of all processes; erlang:memory(binary)
%%   node.ask("bin_holders", "timers")  starts timers for a pid and a name
-module(bin_holders).
-export([make/0, all/0, timers/0, parts/1, whole/1, shared/1, overlapping/0, context/1, mailbox/0, received/0,
         large_heap/0, garbage/1, nested/1, kept/0, asleep/2]).

%% Not from one allocation, so that no two are equal, and the compiler cannot know them.
binary(Size) -> crypto:strong_rand_bytes(Size).

%% A part of a binary, which is not copied.
part(Size, From, Length) ->
    <<_:From/binary, Part:Length/binary, _/binary>> = binary(Size),
    Part.

make() ->
    Names = [parts, whole, shared_a, shared_b, overlapping, context, mailbox, received, large_heap,
             garbage, nested, kept, asleep],
    Shared = [binary(30000) || _ <- lists:seq(1, 5)],
    [begin
         Pid = spawn_opt(fun() -> begin_holding(Name, Shared) end,
                         [{fullsweep_after, 0}, {message_queue_data, off_heap} | options(Name)]),
         register(name(Name), Pid)
     end || Name <- Names],
    [begin
         name(Name) ! {self(), ready},
         receive {ready, Name} -> ok end
     end || Name <- Names],
    [name(mailbox) ! {message, binary(70000)} || _ <- lists:seq(1, 3)],
    name(received) ! {self(), [binary(70000), part(60000, 3, 70)]},
    receive received -> ok end,
    garbage_collect(),
    Tables = [{hash, tables(bin_hash, [])}, {tree, tables(bin_tree, [ordered_set])},
              {catree, tables(bin_catree, [ordered_set, {write_concurrency, true}])},
              {compressed, tables(bin_compressed, [compressed])}],
    Port = open_port({spawn, "sleep 1000"}, [stream, out]),
    catch port_command(Port, binary(1000000), [nosuspend]),
    Terms = persistent_terms(),
    literals(),
    Files = files(),
    garbage_collect(),
    {queue_size, Queued} = erlang:port_info(Port, queue_size),
    #{processes => maps:from_list([{Name, list_to_binary(pid_to_list(whereis(name(Name))))} || Name <- Names]),
      tables => maps:from_list([{K, list_to_binary(ref_to_list(T))} || {K, T} <- Tables]),
      terms => Terms, literals => <<"bin_literals">>, files => Files,
      port => #{id => list_to_binary(erlang:port_to_list(Port)), queued => Queued}}.

%% So that nothing is collected but when it asks for that.
options(Name) when Name =:= garbage; Name =:= received ->
    [{min_heap_size, 1000000}, {min_bin_vheap_size, 10000000}];
options(_) -> [].

name(Name) -> list_to_atom("bin_" ++ atom_to_list(Name)).

tables(Name, Options) ->
    Me = self(),
    spawn(fun() ->
                  Table = ets:new(Name, [public | Options]),
                  [ets:insert(Table, {I, binary(20000)}) || I <- lists:seq(1, 50)],
                  [ets:insert(Table, {{part, I}, [part(60000, 1000 * I, 100)]}) || I <- lists:seq(1, 10)],
                  garbage_collect(),
                  Me ! {table, Table},
                  receive never -> ok end
          end),
    receive {table, Table} -> Table end.

%% In a process that ends, so that nothing else refers to these binaries.
in_process(Fun) ->
    {Pid, Ref} = spawn_monitor(Fun),
    receive {'DOWN', Ref, process, Pid, Reason} -> normal = Reason end.

%% Their keys, as they are written.
persistent_terms() ->
    in_process(fun() ->
                       persistent_term:put(bin_whole_term, #{all => [binary(40000) || _ <- lists:seq(1, 3)]}),
                       persistent_term:put({bin, parts}, {[part(100000, 10, 80) || _ <- lists:seq(1, 5)]}),
                       persistent_term:put(bin_small_term, {[], <<"on the heap">>})
               end),
    [<<"bin_whole_term">>, <<"{bin,parts}">>].

%% A module with a constant of 3000 bytes, and one that is on the heap.
literals() ->
    in_process(fun() ->
                       Function = fun(Name, Size) ->
                                          Text = lists:duplicate(Size, $a),
                                          Element = {bin_element, 1, {string, 1, Text}, default, default},
                                          {function, 1, Name, 0, [{clause, 1, [], [], [{bin, 1, [Element]}]}]}
                                  end,
                       Forms = [{attribute, 1, module, bin_literals},
                                {attribute, 1, export, [{large, 0}, {small, 0}]},
                                Function(large, 3000), Function(small, 50)],
                       {ok, Module, Code} = compile:forms(Forms),
                       {module, Module} = code:load_binary(Module, "bin_literals", Code)
               end).

%% A process with files that are open, which are NIF resources: by address, size and reference count.
files() ->
    Me = self(),
    Pid = spawn(fun() ->
                        Files = [begin {ok, File} = file:open("/dev/null", [read, raw]), File end
                                 || _ <- lists:seq(1, 4)],
                        garbage_collect(),
                        Me ! {files, self()},
                        receive never -> Files end
                end),
    receive {files, Pid} -> ok end,
    {magic_ref, Resources} = process_info(Pid, magic_ref),
    [[Address, Size, Refc] || {Address, Size, Refc} <- Resources].

begin_holding(Name, Shared) ->
    case Name of
        parts -> ?MODULE:parts([part(100000, 10 * I, 80) || I <- lists:seq(1, 100)]);
        whole -> ?MODULE:whole([binary(50000) || _ <- lists:seq(1, 10)]);
        shared_a -> ?MODULE:shared({shared_a, Shared});
        shared_b -> ?MODULE:shared({shared_b, tl(Shared)});
        overlapping -> ?MODULE:overlapping();
        context -> ?MODULE:context(<<0, (binary(80000))/binary>>);
        mailbox -> ?MODULE:mailbox();
        received -> ?MODULE:received();
        large_heap -> ?MODULE:large_heap();
        garbage -> ?MODULE:garbage([part(60000, 10, 75) || _ <- lists:seq(1, 10)]);
        nested -> ?MODULE:nested(nest([part(10000 + I, I, 100) || I <- lists:seq(1, 52)]));
        kept -> ?MODULE:kept();
        asleep -> ?MODULE:asleep(part(30000, 7, 90), binary(20000))
    end.

ready(Name) ->
    receive {From, ready} -> garbage_collect(), From ! {ready, Name} end,
    receive {never, _} -> ok end.

parts(Parts) -> ready(parts), Parts.
whole(Binaries) -> ready(whole), Binaries.
shared({Name, Binaries}) -> ready(Name), Binaries.

overlapping() ->
    Parts = overlapping(binary(200000)),
    ready(overlapping),
    Parts.

overlapping(<<_:500/binary, A:100/binary, _/binary>> = All) ->
    <<_:550/binary, B:100/binary, _/binary>> = All,
    <<_:1000/binary, C:100/binary, _/binary>> = All,
    [A, B, C].

%% What is left after the first byte is only given to itself, so it stays a match context.
context(<<First, Rest/binary>>) ->
    case First of
        0 -> ready(context);
        _ -> ok
    end,
    context(Rest);
context(<<>>) ->
    ok.

%% Messages are not received.
mailbox() ->
    receive {From, ready} -> garbage_collect(), From ! {ready, mailbox} end,
    receive never -> ok end.

%% What it received is in the message's heap fragment, as it has not collected since.
received() ->
    receive {From, ready} -> garbage_collect(), From ! {ready, received} end,
    receive {Sender, Data} -> Sender ! received end,
    receive {never, _} -> Data end.

%% A part in front of, and one behind, some megabytes of heap.
large_heap() ->
    Data = {part(90000, 1, 70), lists:seq(1, 1000000), part(90000, 2, 90)},
    ready(large_heap),
    Data.

%% 10 parts on its stack; 20 binaries, whole ones and parts, are garbage since its last collection.
garbage(Parts) ->
    receive {From, ready} -> garbage_collect(), From ! {make_garbage(20), garbage} end,
    receive {never, _} -> Parts end.

make_garbage(N) ->
    Sizes = [byte_size(case I rem 2 of 0 -> binary(40000); 1 -> part(40000, 3, 70) end) || I <- lists:seq(1, N)],
    _ = lists:sum(Sizes),
    ready.

%% In terms of each kind that has others in it.
nest([A, B, C, D, E, F | Rest]) ->
    Fun = fun() -> {A, self()} end,
    {Fun, #{b => [B]}, [[C | D], #{{key, E} => {{{F}}}}], maps:from_list([{{I, byte_size(P)}, P} || {I, P} <-
        lists:zip(lists:seq(1, length(Rest)), Rest)])}.

nested(Terms) -> ready(nested), Terms.

%% In its dictionary, some of it on its old heap.
kept() ->
    put(whole, binary(15000)),
    [put({part, I}, [part(25000, I, 65)]) || I <- lists:seq(1, 40)],
    ready(kept).

%% In the arguments of a function that it will call when it wakes up.
asleep(Part, Whole) ->
    receive {From, ready} -> From ! {ready, asleep} end,
    erlang:hibernate(?MODULE, asleep, [Part, Whole]).

all() ->
    #{memory => erlang:memory(binary),
      processes => [#{pid => list_to_binary(pid_to_list(P)),
                      binaries => [[A, S, R] || {A, S, R} <- Binaries]}
                    || P <- processes(), P =/= self(),
                       {binary, [_ | _] = Binaries} <- [process_info(P, binary)]]}.

timers() ->
    Whole = whereis(bin_whole),
    [erlang:send_after(1000000, Whole, late) || _ <- lists:seq(1, 7)],
    [erlang:send_after(1000000, bin_parts, late) || _ <- lists:seq(1, 5)],
    #{}.
