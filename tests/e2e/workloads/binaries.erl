%% SPDX-License-Identifier: BSD-2-Clause
%% Binaries: copying, searching, appending, base64, matching.  The truth: rounds.
-module(binaries).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{binaries, none}].

init(_) -> {binary:copy(<<"the quick brown fox jumps over the lazy dog;">>, 400), 0}.

step({Text, N}) ->
    Copy = binary:copy(Text, 4),
    Parts = binary:split(Copy, <<";">>, [global]),
    Appended = append(Parts, <<>>),
    _ = base64:encode(Text),
    _ = sum(Appended, 0),
    _ = iolist_to_binary([Parts | Parts]),
    {Text, N + 1}.

append([], Acc) -> Acc;
append([Part | Rest], Acc) -> append(Rest, <<Acc/binary, Part/binary, 10>>).

sum(<<X, Rest/binary>>, S) -> sum(Rest, (S + X) band 16#ffff);
sum(<<>>, S) -> S.

report([{_, N}]) -> #{rounds => N}.
