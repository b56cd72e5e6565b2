%% SPDX-License-Identifier: BSD-2-Clause
%% A NIF that gets memory of the C library, and keeps it or frees it: leak_nif.c.
%%
%%   node.ask("native_leak", "load", FILE)                loads the NIF, without ".so"
%%   node.ask("native_leak", "bytes")                     so many bytes of each kind so far, and
%%                                                        the time of the node in ns
%%   node.start("native_leak", KIND, SIZE, COUNT, MS)     COUNT blocks every MS milliseconds
%%   node.ask("native_leak", "once", KIND, SIZE, COUNT)   COUNT blocks, now
-module(native_leak).
-behaviour(workload).
-export([load/1, bytes/0, once/3, processes/1, init/1, step/1, report/1, nif/3, nif_bytes/1, getting/3]).

nif(_, _, _) -> erlang:nif_error(not_loaded).
nif_bytes(_) -> erlang:nif_error(not_loaded).

kinds() -> ["leak", "churn", "cache", "calloc", "realloc", "aligned", "mapped", "thread", "tenth", "second",
     "ten_seconds", "trimmed", "halved", "unmapped"].

kind(Kind) -> length(lists:takewhile(fun(K) -> K =/= Kind end, kinds())).

load(File) ->
    ok = erlang:load_nif(File, 0),
    #{}.

bytes() ->
    Bytes = maps:from_list([{list_to_atom(K), nif_bytes(kind(K))} || K <- kinds()]),
    Bytes#{ns => erlang:monotonic_time(nanosecond)}.

once(Kind, Size, Count) ->
    getting(kind(Kind), list_to_integer(Size), list_to_integer(Count)),
    #{}.

processes([Kind, Size, Count, Ms]) ->
    [{undefined, {kind(Kind), list_to_integer(Size), list_to_integer(Count), list_to_integer(Ms)}}].

init(Spec) -> {Spec, workload:clock(), 0}.

%% So many a second, however seldom the node has a CPU.
step({{Kind, Size, Count, Ms} = Spec, Since, Done}) ->
    timer:sleep(Ms),
    Due = (workload:clock() - Since) div (Ms * 1000000),
    Due > Done andalso getting(Kind, Size, Count * (Due - Done)),
    {Spec, Since, max(Due, Done)}.

getting(Kind, Size, Count) ->
    nif(Kind, Size, Count),
    ok.

report(_) -> #{}.
