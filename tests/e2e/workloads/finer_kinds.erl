%% SPDX-License-Identifier: BSD-2-Clause
%% Processes that each do one kind of work of the VM: collections of one type, regular expressions,
%% the external term format, binaries, a lock that two of them want.  The truth: rounds of each.
-module(finer_kinds).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(["locks"]) -> [{writer_a, lock}, {writer_b, lock}];
processes(["libraries"]) -> [{K, K} || K <- [hash, compress]];
processes(_) -> [{K, K} || K <- [full, minor, regexp, term_format, binary]].

init(lock) ->
    %% Of no use without the other: who comes first makes the table.
    catch ets:new(?MODULE, [named_table, public, set]),
    {lock, 0, lists:seq(1, 200)};
init(regexp) ->
    {ok, Pattern} = re:compile("(a|aa)+b"),
    {regexp, 0, {Pattern, binary:copy(<<"a">>, 18)}};
init(binary) ->
    {binary, 0, binary:copy(<<"some text, and more;">>, 1000)};
init(What) when What =:= hash; What =:= compress ->
    {What, 0, crypto:strong_rand_bytes(100000)};
init(What) ->
    {What, 0, [{X, {"name", [X, X + 1]}} || X <- lists:seq(1, 20000)]}.

step({What, N, Data}) ->
    work(What, Data),
    {What, N + 1, Data}.

work(full, _) ->
    true = erlang:garbage_collect();
work(minor, _) ->
    List = lists:seq(1, 20000),
    true = erlang:garbage_collect(self(), [{type, minor}]),
    true = length(List) > 0;
work(regexp, {Pattern, Text}) ->
    _ = re:run(Text, Pattern, [{capture, none}]);
work(term_format, Data) ->
    true = is_list(binary_to_term(term_to_binary(Data)));
work(binary, Text) ->
    [_ | _] = binary:matches(Text, <<"more">>),
    true = is_binary(list_to_binary(binary_to_list(Text)));
work(hash, Data) ->
    <<_:256>> = crypto:hash(sha256, Data);
work(compress, Data) ->
    <<_/binary>> = zlib:compress(Data);
work(lock, Data) ->
    %% The table goes with the one that made it.
    catch [ets:insert(?MODULE, {same, Data}) || _ <- lists:seq(1, 200)].

report(States) -> maps:from_list([{What, N} || {What, N, _} <- States]).
