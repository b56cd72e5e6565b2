%% SPDX-License-Identifier: BSD-2-Clause
%% Functions that are called at all kinds of rates, and how often that was.
%%
%%   node.ask("call_rates", "start", LOAD)   processes that call called/1
%%   node.ask("call_rates", "made")          calls so far
-module(call_rates).
-export([start/1, made/0, called/1]).

-define(ALWAYS, 1000000000).

start("bursts_beside_work") ->
    spawn(fun() -> work(-1) end), % for ever
    start("bursts_of_20000");
start("three_callers") ->
    %% 70, 25 and 5 % of the calls, each in bursts of its own.
    prepare(),
    [spawn(fun() -> rand:seed(exsss, N), one_of_three(N) end) || N <- [14000, 5000, 1000]],
    <<"ok">>;
start("three_callers_in_turn") ->
    prepare(),
    spawn(fun() -> three_in_turn() end),
    <<"ok">>;
start("phases") ->
    %% Comparing takes time, and no reductions.
    {Many, Same} = {lists:seq(1, 1000000), lists:seq(1, 1000000)},
    start("rare"),
    spawn(fun() -> phases(Many, Same, 5000, 300000) end),
    <<"ok">>;
start("comparing_beside_work") ->
    {Many, Same} = {lists:seq(1, 100000), lists:seq(1, 100000)},
    start("rare"),
    [spawn(fun() -> work(-1) end) || _ <- [1, 2]],
    spawn(fun() -> phases(Many, Same, 200, 1) end),
    <<"ok">>;
start(Load) ->
    prepare(),
    {Processes, Calls, Work, Sleep, Inside} = load(list_to_existing_atom(Load)),
    [spawn(fun() -> rand:seed(exsss, I), worker(Calls, Work, Sleep, Inside) end)
     || I <- lists:seq(1, Processes)],
    <<"ok">>.

prepare() -> persistent_term:put(?MODULE, counters:new(1, [write_concurrency])).

one_of_three(N) ->
    burst(N, 1400000 div N, 0, persistent_term:get(?MODULE)),
    timer:sleep(rand:uniform(600)),
    one_of_three(N).

three_in_turn() ->
    [burst(N, 200, 0, persistent_term:get(?MODULE)) || N <- [7000, 2500, 500]],
    timer:sleep(100),
    three_in_turn().

made() -> counters:get(persistent_term:get(?MODULE), 1).

%% How many processes; calls in a burst; reductions after each; ms from one burst to the next;
%% reductions of a call.  {exp, Mean}: drawn at random.
load(every_ms) -> {1, 1, 0, 1, 0};
load(every_5us) -> {1, ?ALWAYS, 500, 0, 0};
load(every_us) -> {1, ?ALWAYS, 80, 0, 0};
load(full_speed) -> {1, ?ALWAYS, 0, 0, 0};
load(two_at_full_speed) -> {2, ?ALWAYS, 10, 0, 0};
load(bursts_of_20000) -> {1, 20000, 100, 450, 0};
load(bursts_of_1000) -> {1, 1000, 20, 20, 0};
load(bursts_of_100) -> {1, 100, 20, 10, 0};
load(bursts_of_5) -> {1, 5, 20, 3, 0};
load(fifty_processes) -> {50, 1, 0, 10, 0};
load(twenty_with_bursts) -> {20, 200, 50, 50, 0};
load(rare) -> {1, 1, 0, 50, 0};
load(random) -> {1, 1, 0, {exp, 2}, 0};
load(random_bursts) -> {4, {exp, 300}, 20, {exp, 30}, 0};
load(slow) -> {1, ?ALWAYS, 0, 0, 500000};
load(five_slow) -> {5, 1, 0, 5, 20000};
load(random_work) -> {1, 100, {exp, 300}, {exp, 5}, 0};
load(four_with_bursts) -> {4, 100, 50, 3, 0};
load(much_work) -> {1, 10, 50000, 20, 0};
load(random_all) -> {3, {exp, 50}, {exp, 1000}, {exp, 10}, 100}.

worker(Calls, Work, Sleep, Inside) ->
    burst(drawn(Calls), Work, Inside, persistent_term:get(?MODULE)),
    case drawn(Sleep) of
        0 -> ok;
        Ms -> timer:sleep(Ms)
    end,
    worker(Calls, Work, Sleep, Inside).

burst(0, _, _, _) -> ok;
burst(N, Work, Inside, Made) ->
    counters:add(Made, 1, 1),
    ?MODULE:called(Inside),
    work(drawn(Work)),
    burst(N - 1, Work, Inside, Made).

called(N) -> work(N).

phases(Many, Same, Calls, Work) ->
    Many == Same andalso burst(Calls, 30, 0, persistent_term:get(?MODULE)),
    work(Work),
    phases(Many, Same, Calls, Work).

work(0) -> ok;
work(N) -> work(N - 1).

drawn({exp, Mean}) -> round(-Mean * math:log(rand:uniform()));
drawn(N) -> N.
