%% SPDX-License-Identifier: BSD-2-Clause
%% One module is replaced all the time, its old code purged, its memory reused.  Argument: loads per
%% second (500).  Version N of the module has the functions work_N/1 and leaf_N/2; only even
%% versions call them.  So a wrong name shows: an odd number, or two numbers in one stack.
%% The truth: loads, and runs of each version.
-module(reload).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

-define(VERSIONS, 40).

processes([]) -> processes(["500"]);
processes([Rate]) -> [{reload_loader, {loader, list_to_integer(Rate)}}, {reload_runner, runner}].

init({loader, Rate}) ->
    Versions = list_to_tuple([compile_version(N) || N <- lists:seq(1, ?VERSIONS)]),
    {module, reloaded} = code:load_binary(reloaded, "reloaded", element(2, Versions)),
    {loader, Rate, Versions, workload:clock(), 0, 0};
init(runner) ->
    {runner, workload:calibrate(fun(N) -> spin(N, 1) end, 200000), #{}}.

step({loader, Rate, Versions, Since, Tries, Loads}) ->
    Wait = Since + Tries * 1000000000 div Rate - workload:clock(),
    Wait < 1000000 orelse receive after Wait div 1000000 -> ok end,
    %% Never kills the runner: while it is in old code, the next version waits.
    case code:soft_purge(reloaded) of
        true ->
            {module, reloaded} = code:load_binary(reloaded, "reloaded",
                                                  element(Loads rem ?VERSIONS + 1, Versions)),
            {loader, Rate, Versions, Since, Tries + 1, Loads + 1};
        false ->
            {loader, Rate, Versions, Since, Tries + 1, Loads}
    end;
step({runner, Spin, Runs}) ->
    %% A purge waits until every process was scheduled out: one that never rests makes it slow.
    receive after 1 -> ok end,
    case erlang:module_loaded(reloaded) of
        true ->
            case reloaded:run(Spin) of
                idle -> spin(Spin div 20, 1), {runner, Spin, Runs};
                N -> {runner, Spin, maps:update_with(N, fun(K) -> K + 1 end, 1, Runs)}
            end;
        false ->
            {runner, Spin, Runs}
    end.

report([{loader, Rate, _, _, _, Loads}, {runner, _, Runs}]) ->
    code:purge(reloaded),
    code:delete(reloaded),
    code:purge(reloaded),
    #{rate => Rate, loads => Loads, versions => ?VERSIONS, runs => Runs}.

spin(0, X) -> X;
spin(N, X) -> spin(N - 1, (X * 69069 + 1) band 16#ffffffff).

%% The padding moves the functions about from version to version.
compile_version(N) ->
    Run = case N rem 2 of
              0 -> io_lib:format("run(S) -> work_~b(S), ~b.\n", [N, N]);
              1 -> "run(_) -> idle.\n"
          end,
    Pads = lists:seq(1, N rem 7),
    Source = ["-module(reloaded).\n-export([run/1, work/1]).\n",
              [io_lib:format("-export([pad_~b_~b/1]).\n", [N, P]) || P <- Pads],
              Run,
              [io_lib:format("pad_~b_~b(X) -> lists:seq(~b, X).\n", [N, P, P]) || P <- Pads],
              io_lib:format("work(X) -> work_~b(X).\n", [N]),
              io_lib:format("work_~b(S) -> leaf_~b(S, 1), ok.\n", [N, N]),
              io_lib:format("leaf_~b(0, X) -> X;\n", [N]),
              io_lib:format("leaf_~b(N, X) -> leaf_~b(N - 1, (X * 69069 + 1) band 16#ffffffff).\n",
                            [N, N])],
    {ok, reloaded, Binary} = compile:forms(forms(lists:flatten(Source))),
    Binary.

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    forms(Tokens, [], []).

forms([], [], Forms) -> lists:reverse(Forms);
forms([{dot, _} = Dot | Rest], Form, Forms) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    forms(Rest, [], [Parsed | Forms]);
forms([Token | Rest], Form, Forms) -> forms(Rest, [Token | Form], Forms).
