%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Patterns of calls and arguments, random but the same for the same seed, and what this node says
%% about them.  `ask call_patterns make SEED NUMBER FILE` keeps the arguments in the dictionary of a
%% registered process, one list for each line that it writes into FILE: the verdict and the pattern.
-module(call_patterns).
-export([make/3, drop/0, keeper/2]).
-export([keep/4, one_case/0, term/1]).
-export([plain/1]).
-import(chance, [uniform/2, one_of/1, many/3]).

make(Seed, Number, File) ->
    keep(Seed, Number, File, fun a_case/0).

%% Cases of another language, too: Make() says verdict, arguments, the text, and `none` without guard.
keep(Seed, Number, File, Make) ->
    rand:seed(exsss, {5, 6, list_to_integer(Seed)}),
    Cases = [Make() || _ <- lists:seq(1, list_to_integer(Number))],
    Self = self(),
    Keeper = spawn(?MODULE, keeper, [Self, [Args || {_, Args, _, _} <- Cases]]),
    receive {ready, Keeper} -> ok end,
    ok = file:write_file(File, [unicode:characters_to_binary([atom_to_list(V), "\t", Text, "\n"])
                                || {V, _, Text, _} <- Cases]),
    Count = fun(V) -> length([x || {W, _, _, _} <- Cases, W =:= V]) end,
    #{matches => Count(matches), differs => Count(differs),
      guarded => length([x || {matches, _, _, Guard} <- Cases, Guard =/= none])}.

%% erl_eval refuses a few that the compiler takes: sizes in binaries that are no numbers.
a_case() ->
    {Args, Head, Guard} = one_case(),
    try verdict(Args, Head, Guard) of
        Verdict -> {Verdict, Args, text(Head, Guard), Guard}
    catch
        error:illegal_bin_pattern -> a_case()
    end.

drop() ->
    Ref = monitor(process, call_patterns),
    exit(whereis(call_patterns), kill),
    receive {'DOWN', Ref, process, _, _} -> #{} end.

keeper(From, Calls) ->
    register(call_patterns, self()),
    put(calls, Calls),
    erlang:garbage_collect(),
    From ! {ready, self()},
    receive never -> ok end.

plain(X) -> X.

one_case() ->
    put(variables, []),
    put(stand_for, #{}),
    put(pids, #{}),
    Args = many(fun() -> term(3) end, 1, 3),
    Head = [pattern(A, 4) || A <- Args],
    %% Not all that were thought of are in it.
    Words = re:split(unicode:characters_to_binary(lists:join(" ", Head)), "[^A-Za-z0-9_]", [unicode]),
    put(variables, [V || V <- get(variables), lists:member(list_to_binary(V), Words)]),
    Guard = guard(Args, Head, uniform(1, 8)),
    {Args, {Head, get(pids)}, Guard}.

%% Of many that fail some are tried again.
guard(Args, Head, Tries) ->
    case get(variables) of
        [] -> none;
        _ ->
            Guard = lists:join("; ", many(fun() -> lists:join(", ", many(fun() -> test(3) end, 1, 2)) end, 1, 2)),
            case Tries > 0 andalso catch verdict(Args, {Head, get(pids)}, Guard) of
                differs -> guard(Args, Head, Tries - 1);
                _ -> one_of([Guard, Guard, none])
            end
    end.

%% A pid is <0.80.0> in a pattern, and a variable that has a value to erl_eval.
text({Head, Pids}, Guard) -> replace(source(Head, Guard), Pids, fun(Pid) -> pid_to_list(Pid) end).

source(Head, none) -> ["m:f(", lists:join(", ", Head), ")"];
source(Head, Guard) -> [source(Head, none), " when ", Guard].

replace(Text, Pids, Fun) ->
    maps:fold(fun(Name, Pid, T) -> string:replace(T, Name, Fun(Pid), all) end,
              unicode:characters_to_binary(Text), Pids).

verdict(Args, {Head, Pids}, Guard) ->
    When = case Guard of none -> ""; _ -> [" when ", Guard] end,
    Text = unicode:characters_to_list(["case Args of [", lists:join(", ", Head), "]", When,
                                       " -> matches; _ -> differs end."]),
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    Bindings = maps:fold(fun(Name, Pid, B) -> erl_eval:add_binding(list_to_atom(Name), Pid, B) end,
                         erl_eval:add_binding('Args', Args, erl_eval:new_bindings()), Pids),
    {value, Verdict, _} = erl_eval:exprs(Exprs, Bindings),
    Verdict.

%% ---- terms ---------------------------------------------------------------------------------

term(0) ->
    leaf();
term(Depth) ->
    case uniform(1, 12) of
        N when N =< 2 -> many(fun() -> term(Depth - 1) end, 0, 4);
        3 -> [term(Depth - 1) | leaf()];
        N when N =< 6 -> list_to_tuple(many(fun() -> term(Depth - 1) end, 0, 4));
        7 -> maps:from_list(many(fun() -> {key(), term(Depth - 1)} end, 0, 6));
        8 when Depth =:= 3 -> maps:from_list(many(fun() -> {key(), leaf()} end, 30, 60));
        _ -> leaf()
    end.

key() -> one_of([atom(), small(), real(), text(), string(), {atom(), small()}]).

leaf() ->
    (one_of([fun small/0, fun small/0, fun big/0, fun real/0, fun real/0, fun atom/0, fun atom/0, fun string/0,
             fun text/0, fun bytes/0, fun bits/0, fun function/0, fun identifier/0, fun pid/0]))().

small() ->
    one_of([uniform(-3, 5), uniform(-3, 5), uniform(0, 300), uniform(-(1 bsl 59), (1 bsl 59) - 1)]).

big() ->
    Bits = one_of([53, 59, 60, 63, 64, 65, 127, 128, 500]),
    one_of([1, -1]) * ((1 bsl Bits) + one_of([-1, 0, 1, uniform(0, 1 bsl 50)])).

real() ->
    one_of([0.0, -0.0, 1.0, 2.0, -1.0, 1.5, float(uniform(-3, 300)), float(big()), float(1 bsl 53), 1.0e300,
            uniform(-1000000, 1000000) / 1000, float(uniform(-(1 bsl 59), 1 bsl 59))]).

atom() -> one_of([a, b, ok, error, undefined, true, false, '', 'hello world', 'A', 'a\'b', '\x{e9}t',
                  '\x{65e5}\x{672c}', 'Elixir.My.Mod', foo, zz]).

string() -> many(fun() -> one_of([uniform(97, 99), $\n, $", $\\, 233, 955]) end, 0, 4).

text() -> unicode:characters_to_binary(string()).

bytes() -> rand:bytes(one_of([1, 2, 8, 9, 65, 300])).

bits() ->
    Size = one_of([1, 7, 16, 21, 70]),
    <<_:3, Bits:Size/bitstring, _/bitstring>> = rand:bytes(40),
    Bits.

function() ->
    A = uniform(1, 3), B = {A},
    one_of([fun() -> ok end, fun(X) -> {X, A} end, fun(X, Y) -> {X, Y, A, B} end, fun lists:map/2,
            fun erlang:self/0, fun ?MODULE:plain/1]).

identifier() -> one_of([make_ref(), alias(), atomics:new(1, []), hd(erlang:ports()) | external()]).

external() ->
    Name = atom_to_binary(one_of(['other@host', 'more@127.0.0.1'])),
    Atom = <<119, (byte_size(Name)), Name/binary>>,
    [binary_to_term(T) ||
        T <- [<<131, 88, Atom/binary, (uniform(0, 3)):32, 0:32, 7:32>>,
              <<131, 89, Atom/binary, (uniform(0, 3)):32, 7:32>>,
              <<131, 90, 3:16, Atom/binary, 7:32, (uniform(0, 3)):32, 1:32, 2:32>>]].

pid() -> one_of([self(), whereis(init), list_to_pid("<0." ++ integer_to_list(uniform(1, 30000)) ++ ".0>")]).

%% ---- patterns of terms ----------------------------------------------------------------------

%% Mostly one that matches.
pattern(Term, Depth) ->
    case uniform(1, 24) of
        N when N =< 2 -> "_";
        N when N =< 8 -> stands_for(Term, variable());
        9 when Depth > 0, not is_bitstring(Term) -> [pattern(Term, Depth - 1), " = ", pattern(Term, Depth - 1)];
        10 -> structure(term(1), Depth);
        11 when is_number(Term) -> structure(near(Term), Depth);
        _ -> structure(Term, Depth)
    end.

variable() ->
    Known = get(variables),
    case uniform(1, 5) of
        1 when Known =/= [] -> one_of(Known);
        _ ->
            New = "V" ++ integer_to_list(length(Known)),
            put(variables, Known ++ [New]),
            New
    end.

stands_for(Term, Variable) ->
    put(stand_for, maps:merge(#{Variable => Term}, get(stand_for))),
    Variable.

%% A variable whose term makes sense there, if there is one.
variable_that(Test) ->
    Map = get(stand_for),
    case [V || V <- get(variables), is_map_key(V, Map), Test(map_get(V, Map))] of
        [] -> one_of(get(variables));
        Good -> one_of(Good)
    end.

near(N) when is_integer(N) -> one_of([N + 1, N - 1, -N, N bxor (1 bsl uniform(0, 70))]);
near(F) -> one_of([-F, trunc(F), round(F) + 1]).

structure(Term, Depth) ->
    case constant(Term) of
        {ok, Text} when Depth =< 0 -> Text;
        _ when Depth =< 0 -> "_";
        Constant -> parts(Term, Depth - 1, Constant)
    end.

parts([], _, {ok, Text}) -> Text;
parts(Term, Depth, Constant) when is_list(Term) ->
    case {Constant, uniform(1, 3)} of
        {{ok, Text}, 1} -> Text;
        _ -> list(Term, Depth)
    end;
parts(Term, Depth, _) when is_tuple(Term) ->
    ["{", lists:join(", ", [pattern(E, Depth) || E <- tuple_to_list(Term)]), "}"];
parts(Map, Depth, _) when is_map(Map) ->
    Pairs = [[Text, " := ", pattern(V, Depth)] ||
                {K, V} <- maps:to_list(Map), uniform(1, 2) =:= 1, {ok, Text} <- [constant(K)]],
    ["#{", lists:join(",", lists:sublist(Pairs, 5)), "}"];
parts(Bits, _, _) when is_bitstring(Bits) -> binary_pattern(Bits);
parts(_, _, {ok, Text}) -> Text;
parts(_, _, none) -> one_of(["_", variable()]).

list(Term, Depth) ->
    {Items, Tail} = split(Term, uniform(1, 6), []),
    Text = lists:join(", ", [pattern(I, Depth) || I <- Items]),
    Prefix = case lists:all(fun(C) -> is_integer(C) andalso C >= 97 andalso C < 123 end, Items) of
                 true -> uniform(1, 2);
                 false -> 0
             end,
    case {Prefix, Tail} of
        {1, _} -> ["\"", Items, "\" ++ ", one_of(["_", variable()])];
        {_, []} -> ["[", Text, "]"];
        _ -> ["[", Text, " | ", pattern(Tail, Depth), "]"]
    end.

split([H | T], N, Items) when N > 0 -> split(T, N - 1, [H | Items]);
split(Tail, _, Items) -> {lists:reverse(Items), Tail}.

binary_pattern(Bits) ->
    Size = bit_size(Bits),
    Rest = one_of(["_/bitstring", "_/bits", "_/binary", [variable(), "/bitstring"], [variable(), "/bytes"]]),
    case uniform(1, 9) of
        1 when Size rem 8 =:= 0 -> element(2, constant(Bits));
        2 -> ["<<", Rest, ">>"];
        3 when Size >= 8 ->
            <<C, _/bitstring>> = Bits,
            ["<<", integer_to_list(C), ", ", Rest, ">>"];
        4 ->
            Take = uniform(0, Size),
            Sign = one_of(["", "/signed", "/little", "/little-signed", "/big-unsigned", "/integer"]),
            ["<<", variable(), ":", integer_to_list(Take), Sign, ", ", Rest, ">>"];
        5 when Size >= 32 ->
            ["<<", variable(), ":32/float, ", variable(), ":", integer_to_list(uniform(0, 2)), "/binary, ", Rest, ">>"];
        6 when Size >= 64 -> ["<<", variable(), one_of(["/float, ", "/float-little, "]), Rest, ">>"];
        7 when Size >= 8 ->
            <<C, _/bitstring>> = Bits,
            Was = get(variables),
            New = "S" ++ integer_to_list(length(Was)),
            put(variables, Was ++ [New]),
            ["<<", New, ", ", variable(), ":", New, one_of(["", "/bits", "/binary"]), ", ",
             case C > 10 of true -> "_/bits"; false -> Rest end, ">>"];
        8 when Size >= 16 ->
            <<N:16, _/bitstring>> = Bits,
            ["<<", integer_to_list(N + one_of([0, 0, 1])), ":16, ", Rest, ">>"];
        _ -> ["<<_:", integer_to_list(uniform(0, Size)), ", ", Rest, ">>"]
    end.

%% ---- constants ------------------------------------------------------------------------------

constant(N) when is_integer(N), N < 0 ->
    {ok, ["-" | element(2, constant(-N))]};
constant(N) when is_integer(N) ->
    {ok, case uniform(1, 5) of
             1 -> ["16#", string:lowercase(integer_to_list(N, 16))];
             2 when N >= 32, N < 127 -> ["$", escaped(N)];
             3 when N >= 1000 -> [integer_to_list(N div 1000), "_", string:right(integer_to_list(N rem 1000), 3, $0)];
             4 -> ["36#", integer_to_list(N, 36)];
             _ -> integer_to_list(N)
         end};
constant(Pid) when is_pid(Pid), node(Pid) =:= node() ->
    Pids = get(pids),
    Name = "Pid" ++ integer_to_list(maps:size(Pids)) ++ "x",
    put(pids, Pids#{Name => Pid}),
    {ok, Name};
constant(T) when is_pid(T); is_port(T); is_reference(T); is_function(T); is_map(T) -> none;
constant(T) when is_binary(T) -> {ok, io_lib:format("~0tp", [T])};
constant(T) when is_bitstring(T) -> none;
constant(T) when is_list(T) ->
    case io_lib:printable_unicode_list(T) of
        true -> {ok, io_lib:format("~0tp", [T])};
        false -> constants(T, [], "[", "]")
    end;
constant(T) when is_tuple(T) -> constants(tuple_to_list(T), [], "{", "}");
constant(T) -> {ok, io_lib:format("~0tp", [T])}.

escaped(C) when C =:= $\\; C =:= $ ; C =:= $"; C =:= $' -> [$\\, C];
escaped(C) -> [C].

constants([], Texts, Open, Close) ->
    {ok, [Open, lists:join(",", lists:reverse(Texts)), Close]};
constants([H | T], Texts, Open, Close) ->
    case constant(H) of
        {ok, Text} -> constants(T, [Text | Texts], Open, Close);
        none -> none
    end;
constants(Tail, Texts, Open, Close) ->
    case constant(Tail) of
        {ok, Text} -> constants([], [[hd(Texts), "|", Text] | tl(Texts)], Open, Close);
        none -> none
    end.

%% ---- guards ---------------------------------------------------------------------------------

test(Depth) ->
    case uniform(1, 12) of
        N when N =< 4 -> [value(Depth), comparison(), value(Depth)];
        N when N =< 7 -> type_test();
        8 when Depth > 0 -> ["(", test(Depth - 1), one_of([" andalso ", " orelse "]), test(Depth - 1), ")"];
        9 when Depth > 0 -> ["(", test(Depth - 1), ")", one_of([" and ", " or ", " xor "]), "(", test(Depth - 1), ")"];
        10 when Depth > 0 -> ["not (", test(Depth - 1), ")"];
        11 -> ["is_map_key(", some_constant(), ", ", variable_that(fun is_map/1), ")"];
        _ -> [one_of(get(variables)), comparison(), some_constant()]
    end.

comparison() -> one_of([" == ", " /= ", " =:= ", " =/= ", " < ", " =< ", " > ", " >= "]).

type_test() ->
    V = one_of(get(variables)),
    case uniform(1, 5) of
        1 -> ["is_function(", V, ", ", integer_to_list(uniform(0, 2)), ")"];
        2 -> ["is_record(", V, ", ", one_of(["ok", "a", "error"]), one_of([", 1", ", 2", ", 3"]), ")"];
        _ ->
            [one_of(["is_atom", "is_binary", "is_bitstring", "is_boolean", "is_float", "is_function", "is_integer",
                     "is_list", "is_map", "is_number", "is_pid", "is_port", "is_reference", "is_tuple",
                     "erlang:is_list"]), "(", V, ")"]
    end.

some_constant() ->
    case constant(one_of([small(), big(), real(), atom(), string(), text(), {atom(), small()}, pid(), []])) of
        {ok, Text} -> Text;
        none -> "0"
    end.

number() -> element(2, constant(one_of([small(), small(), big(), real()]))).

value(0) -> one_of([one_of(get(variables)), variable_that(fun is_number/1), number(), some_constant()]);
value(Depth) ->
    V = one_of([one_of(get(variables)), variable_that(fun is_number/1)]),
    case uniform(1, 14) of
        N when N =< 3 -> V;
        4 -> some_constant();
        N when N =< 7 ->
            ["(", value(Depth - 1), one_of([" + ", " - ", " * ", " / "]), value(Depth - 1),
             one_of(["", [" + ", number()], [" * ", V], [" - 1"]]), ")"];
        8 ->
            Whole = variable_that(fun is_integer/1),
            ["(", Whole, one_of([" div ", " rem ", " band ", " bor ", " bxor "]),
             one_of([integer_to_list(uniform(-9, 999)), value(Depth - 1)]), ")"];
        9 -> ["(", variable_that(fun is_integer/1), one_of([" bsl ", " bsr "]), integer_to_list(uniform(-70, 70)), ")"];
        10 -> ["(", one_of(["- ", "+ ", "bnot "]), value(Depth - 1), ")"];
        11 -> ["{", value(Depth - 1), ", ", value(Depth - 1), "}"];
        12 -> ["[", value(Depth - 1), " | ", value(Depth - 1), "]"];
        13 -> two(Depth);
        14 ->
            {Name, Test} =
                one_of([{"length", fun is_list/1}, {"size", fun is_tuple/1}, {"size", fun is_bitstring/1},
                        {"tuple_size", fun is_tuple/1}, {"map_size", fun is_map/1}, {"byte_size", fun is_bitstring/1},
                        {"bit_size", fun is_bitstring/1}, {"hd", fun is_list/1}, {"tl", fun is_list/1},
                        {"abs", fun is_number/1}, {"round", fun is_number/1}, {"trunc", fun is_number/1},
                        {"float", fun is_number/1}, {"floor", fun is_number/1}, {"ceil", fun is_number/1},
                        {"node", fun is_pid/1}, {"node", fun is_reference/1}]),
            [Name, "(", one_of([V, variable_that(Test), variable_that(Test), variable_that(Test)]), ")"]
    end.

two(Depth) ->
    case uniform(1, 4) of
        1 -> ["element(", integer_to_list(uniform(0, 3)), ", ", variable_that(fun is_tuple/1), ")"];
        2 ->
            V = variable_that(fun(T) -> is_map(T) andalso map_size(T) > 0 end),
            Key = case get(stand_for) of
                      #{V := M} when is_map(M), map_size(M) > 0 -> constant(hd(maps:keys(M)));
                      _ -> none
                  end,
            ["map_get(", case Key of {ok, Text} -> Text; none -> some_constant() end, ", ", V, ")"];
        3 ->
            ["binary_part(", variable_that(fun is_binary/1), ", ", integer_to_list(uniform(0, 3)), ", ",
             integer_to_list(uniform(-2, 3)), ")"];
        4 -> ["element(", value(Depth - 1), ", ", variable_that(fun is_tuple/1), ")"]
    end.
