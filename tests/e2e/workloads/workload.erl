%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Runs the workloads of this directory and lets them report the truth about themselves.
%%
%%   erl -noshell -pa DIR -run workload main NAME SECONDS ARG...   one workload, then halt
%%   erl -noshell -pa DIR -run workload main agent                 commands on standard input:
%%       start NAME ARG... | stop NAME | ask MODULE FUNCTION ARG... | facts |
%%       processes | stacks | halt
%%
%% Every answer is one line of JSON with a field "event".  A workload is a module with processes/1
%% (who runs), init/1 and step/1 (what each does, again and again) and report/1 (final states of all
%% its processes -> the truth).  The node ends when its standard input does.
-module(workload).
-export([main/1, worker/4, calibrate/2, clock/0, json/1, enumerate/1, at_rest/1]).

-callback processes(Args :: [string()]) -> [{Name :: atom(), Arg :: term()}].
-callback init(Arg :: term()) -> State :: term().
-callback step(State :: term()) -> State :: term().
-callback report(States :: [term()]) -> map().

%% As lists:enumerate/1, which OTP 24 does not have.
enumerate(List) ->
    lists:zip(lists:seq(1, length(List)), List).

%% Until all of these processes wait, whatever they wait for, and nobody's message changes that; or for 20 s.
at_rest(Pids) -> at_rest(Pids, 400, 0).

at_rest(_, Tries, Seen) when Tries =:= 0; Seen =:= 3 -> ok;
at_rest(Pids, Tries, Seen) ->
    timer:sleep(50),
    case [P || P <- Pids, not lists:member(process_info(P, status), [{status, waiting}, {status, suspended}])] of
        [] -> at_rest(Pids, Tries - 1, Seen + 1);
        _ -> at_rest(Pids, Tries - 1, 0)
    end.

main(Args) ->
    %% Not in the boot process, which must go on to finish the start of the node.
    spawn(fun() ->
                  {Pid, Ref} = spawn_monitor(fun() -> run(Args) end),
                  receive {'DOWN', Ref, process, Pid, _} -> halt(1, [{flush, true}]) end
          end).

run(["agent"]) ->
    emit(#{event => ready, os_pid => list_to_integer(os:getpid())}),
    agent(#{});
run([Name, Seconds | Args]) ->
    Running = start(list_to_atom(Name), Args),
    timer:sleep(list_to_integer(Seconds) * 1000),
    emit(#{event => truth, name => list_to_atom(Name), truth => stop(Running)}),
    halt(0, [{flush, true}]).

agent(Running) ->
    case io:get_line("") of
        %% A binary once Elixir has started: it changes the options of standard input.
        Line when is_list(Line); is_binary(Line) ->
            Words = string:lexemes(string:trim(unicode:characters_to_list(Line)), " "),
            agent(try command(Words, Running)
                  catch Class:Reason:Stack ->
                          emit(#{event => error, reason => text({Class, Reason, Stack})}),
                          Running
                  end);
        _ ->
            halt(0)
    end.

command(["start", Name | Args], Running) ->
    Module = list_to_atom(Name),
    Started = start(Module, Args),
    emit(#{event => started, name => Module,
           pids => [pid_text(P) || P <- element(2, Started)]}),
    Running#{Module => Started};
command(["stop", Name], Running) ->
    Module = list_to_atom(Name),
    {Started, Rest} = maps:take(Module, Running),
    emit(#{event => truth, name => Module, truth => stop(Started)}),
    Rest;
command(["ask", Module, Function | Args], Running) ->
    emit(#{event => answer,
           answer => apply(list_to_atom(Module), list_to_atom(Function), Args)}),
    Running;
command(["facts"], Running) ->
    emit((facts())#{event => facts}),
    Running;
command(["processes"], Running) ->
    emit(#{event => processes, processes => [process(P) || P <- erlang:processes()]}),
    Running;
command(["stacks"], Running) ->
    emit(#{event => stacks, stacks => stacks:all()}),
    Running;
command(["halt"], _) ->
    halt(0).

%% ---- workers ------------------------------------------------------------------------------

start(Module, Args) ->
    {module, Module} = code:ensure_loaded(Module),
    Self = self(),
    Pids = [spawn_link(?MODULE, worker, [Self, Module, Name, Arg])
            || {Name, Arg} <- Module:processes(Args)],
    [receive {ready, P} -> ok end || P <- Pids],
    [P ! go || P <- Pids],
    {Module, Pids, clock()}.

stop({Module, Pids, Since}) ->
    Elapsed = clock() - Since,
    Refs = [monitor(process, P) || P <- Pids],
    [P ! {stop, self()} || P <- Pids],
    States = [receive {done, P, State} -> State end || P <- Pids],
    %% Their names are free again only when they are gone.
    [receive {'DOWN', R, process, _, _} -> ok end || R <- Refs],
    (Module:report(States))#{elapsed_ns => Elapsed}.

worker(Parent, Module, Name, Arg) ->
    Name =:= undefined orelse register(Name, self()),
    State = Module:init(Arg),
    Parent ! {ready, self()},
    receive go -> ok end,
    loop(Module, State).

loop(Module, State) ->
    receive
        {stop, From} ->
            unlink(From),
            From ! {done, self(), State}
    after 0 ->
            loop(Module, Module:step(State))
    end.

%% ---- measuring ----------------------------------------------------------------------------

clock() ->
    erlang:monotonic_time(nanosecond).

%% The argument with which Fun takes about that long.
calibrate(Fun, Nanoseconds) ->
    calibrate(Fun, Nanoseconds, 1000).

calibrate(Fun, Nanoseconds, N) ->
    case lists:min([element(1, measure(Fun, N)) || _ <- lists:seq(1, 5)]) of
        Took when Took * 4 < Nanoseconds -> calibrate(Fun, Nanoseconds, N * 4);
        Took -> max(1, N * Nanoseconds div max(1, Took))
    end.

%% Own time of one call, and its result.
measure(Fun, Arg) ->
    T = clock(),
    Result = Fun(Arg),
    {clock() - T, Result}.

%% ---- what the node says of itself ---------------------------------------------------------

facts() ->
    {Uptime, _} = statistics(wall_clock),
    #{name => node(),
      os_pid => list_to_integer(os:getpid()),
      otp => list_to_binary(erlang:system_info(otp_release)),
      erts => list_to_binary(erlang:system_info(version)),
      flavor => try erlang:system_info(emu_flavor) catch _:_ -> emu end,
      schedulers => erlang:system_info(schedulers),
      dirty_cpu_schedulers => erlang:system_info(dirty_cpu_schedulers),
      dirty_io_schedulers => erlang:system_info(dirty_io_schedulers),
      process_count => erlang:system_info(process_count),
      port_count => erlang:system_info(port_count),
      atom_count => erlang:system_info(atom_count),
      uptime_s => Uptime div 1000}.

process(Pid) ->
    case process_info(Pid, [registered_name, initial_call, dictionary]) of
        undefined ->
            #{pid => pid_text(Pid), alive => false};
        [{_, Registered}, {_, {M, F, A}}, {_, Dictionary}] ->
            #{pid => pid_text(Pid), alive => true,
              registered => case Registered of [] -> null; _ -> Registered end,
              spawned_as => mfa(M, F, A),
              initial_call => case lists:keyfind('$initial_call', 1, Dictionary) of
                                  {_, {Mi, Fi, Ai}} -> mfa(Mi, Fi, Ai);
                                  _ -> mfa(M, F, A)
                              end,
              label => case lists:keyfind('$process_label', 1, Dictionary) of
                           {_, Label} -> text(Label);
                           false -> null
                       end}
    end.

mfa(M, F, A) when is_list(A) -> mfa(M, F, length(A));
mfa(M, F, A) -> unicode:characters_to_binary(io_lib:format("~tp:~tp/~w", [M, F, A])).

pid_text(Pid) -> list_to_binary(pid_to_list(Pid)).

text(Term) -> unicode:characters_to_binary(io_lib:format("~0tp", [Term])).

%% ---- JSON ---------------------------------------------------------------------------------

emit(Map) ->
    io:put_chars([json(Map), $\n]).

json(Map) when is_map(Map) ->
    [${, lists:join($,, [[json_key(K), $:, json(V)] || {K, V} <- maps:to_list(Map)]), $}];
json(List) when is_list(List) -> [$[, lists:join($,, [json(V) || V <- List]), $]];
json(Int) when is_integer(Int) -> integer_to_list(Int);
json(Float) when is_float(Float) -> io_lib:format("~.6f", [Float]);
json(true) -> "true";
json(false) -> "false";
json(null) -> "null";
json(Atom) when is_atom(Atom) -> json(atom_to_binary(Atom, utf8));
json(Text) when is_binary(Text) -> [$", [escape(C) || C <- unicode:characters_to_list(Text)], $"].

json_key(Int) when is_integer(Int) -> json(integer_to_binary(Int));
json_key(Key) -> json(Key).

escape($") -> "\\\"";
escape($\\) -> "\\\\";
escape(C) when C < 32; C > 126 -> [io_lib:format("\\u~4.16.0b", [U]) || U <- utf16(C)];
escape(C) -> C.

utf16(C) when C < 16#10000 -> [C];
utf16(C) -> [16#d800 + ((C - 16#10000) bsr 10), 16#dc00 + ((C - 16#10000) band 16#3ff)].
