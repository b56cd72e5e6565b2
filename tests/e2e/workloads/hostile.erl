%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Names and data that would change what a terminal shows, wherever people see them: escape
%% sequences, one-character control sequences, marks that turn the direction of text.
-module(hostile).
-export([start/0, keep/2, wait/2]).

start() ->
    Text = "hostile\x{202e}txt\e[2J\x{9b}31m\x{2066}\x{7}\x{200f}\x{2028}",
    Name = list_to_atom(Text),
    Pid = spawn(?MODULE, keep, [Name, unicode:characters_to_binary(Text)]),
    Pid ! {self(), "hostile\x{9b}", Name, unicode:characters_to_binary(Text)},
    spawn(?MODULE, wait, [Name, Pid]),
    #{pid => list_to_binary(pid_to_list(Pid))}.

keep(Name, Text) ->
    register(Name, self()),
    put('$process_label', Text),
    put(Name, #{Text => Name}),
    ets:new(Name, [named_table, public]),
    ets:insert(Name, {Name, Text, {Text, [Text | Name]}}),
    stay(Name, Text).

stay(Name, Text) ->
    receive never -> Name end,
    {Name, Text}.

wait(Name, Pid) ->
    put('$process_label', {Name, atom_to_binary(Name)}),
    gen_server:call(Pid, {Name, question}, infinity).
