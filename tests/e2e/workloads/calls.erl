%% SPDX-License-Identifier: BSD-2-Clause
%% Calls of a server, whose replies go to aliases, in exact numbers; the node's own trace says which
%% messages were sent, and which came.
%%
%%   node.ask("calls", "run", N)  N calls of different sizes by a client of each kind: one whose
%%                                messages are kept on its heap, one that keeps them off heap, one
%%                                that sends to aliases of its own; then N that do not wait for the
%%                                reply, which comes when nobody wants it any more
-module(calls).
-behaviour(gen_server).
-export([run/1, init/1, handle_call/3, handle_cast/2]).

pid(P) -> list_to_binary(pid_to_list(P)).
text(T) -> unicode:characters_to_binary(io_lib:format("~0tp", [T])).

init(_) -> {ok, none}.

handle_call({give, N}, _From, State) -> {reply, {given, lists:seq(1, N)}, State};
handle_call({late, N}, From, State) -> {noreply, [{From, {given, lists:seq(1, N)}} | late(State)]}.

handle_cast(answer, State) -> [gen_server:reply(F, R) || {F, R} <- late(State)], {noreply, none}.

late(none) -> [];
late(L) -> L.

client(call, Server, N) -> [{given, _} = gen_server:call(Server, {give, I}) || I <- lists:seq(1, N)];
client(own, _, N) ->
    [begin
         A = alias(),
         A ! {own, lists:seq(1, I)},
         receive {own, _} -> unalias(A) end
     end || I <- lists:seq(1, N)];
client(late, Server, N) ->
    [{'EXIT', {timeout, _}} = (catch gen_server:call(Server, {late, I}, 0)) || I <- lists:seq(1, N)].

%% A client does it all when it is told, and stays.
spawn_client(Kind, Options, Server, N) ->
    spawn_opt(fun() ->
                  receive {go, From} -> client(Kind, Server, N), From ! {done, self()} end,
                  receive stop -> ok end
              end, [link | Options]).

collect(Seen) ->
    receive
        {get, From} -> From ! {seen, lists:reverse(Seen)};
        Trace -> collect([Trace | Seen])
    end.

run(Count) ->
    N = list_to_integer(Count),
    {ok, Server} = gen_server:start(?MODULE, [], []),
    Clients = [spawn_client(K, O, Server, N)
               || {K, O} <- [{call, []}, {call, [{message_queue_data, off_heap}]}, {own, []}, {late, []}]],
    Tracer = spawn_opt(fun() -> collect([]) end, [link, {message_queue_data, off_heap}]),
    Traced = [Server | Clients],
    [erlang:trace(P, true, [send, 'receive', {tracer, Tracer}]) || P <- Traced],
    [begin C ! {go, self()}, receive {done, C} -> ok end end || C <- Clients],
    gen_server:cast(Server, answer),
    %% Both have done what was sent before: the replies that came too late are gone.
    sys:get_state(Server),
    {messages, []} = process_info(lists:last(Clients), messages),
    [receive {trace_delivered, P, R} -> ok end || P <- Traced, R <- [erlang:trace_delivered(P)]],
    [erlang:trace(P, false, [all]) || P <- Traced],
    Tracer ! {get, self()},
    Seen = receive {seen, S} -> S end,
    [C ! stop || C <- Clients],
    exit(Server, kill), % without a message of its own
    #{server => pid(Server), clients => [pid(C) || C <- Clients], others => [pid(self()), pid(Tracer)],
      count => N,
      sent => [#{pid => pid(P), to => to(To, pid), alias => to(To, alias), size => erts_debug:flat_size(M)}
               || {trace, P, send, M, To} <- Seen],
      received => [#{pid => pid(P), size => erts_debug:flat_size(M)}
                   || {trace, P, 'receive', M} <- Seen, not is_from(self(), M)]}.

%% Of the coordinator: it says go, and asks what the server's state is; or of nobody: the end of a
%% receive that waits no longer is traced as well.
is_from(_, timeout) -> true;
is_from(P, {go, P}) -> true;
is_from(_, {'$gen_cast', _}) -> true;
is_from(P, {system, {P, _}, _}) -> true;
is_from(_, _) -> false.

to(To, pid) when is_pid(To) -> pid(To);
to(To, alias) when is_reference(To) -> text(To);
to(_, _) -> null.
