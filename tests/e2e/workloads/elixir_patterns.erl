%% SPDX-License-Identifier: BSD-2-Clause
%%
%% The patterns of call_patterns as Elixir writes them, and terms as its inspect() does; what they
%% match says Elixir itself.  `ask elixir_patterns make SEED NUMBER FILE` is as there, on a node that
%% has Elixir.
-module(elixir_patterns).
-export([make/3]).
-import(chance, [uniform/2, one_of/1, many/3]).

make(Seed, Number, File) ->
    {ok, _} = application:ensure_all_started(elixir),
    put(skipped, 0),
    Made = call_patterns:keep(Seed, Number, File, fun() -> a_case(uniform(1, 4)) end),
    Made#{skipped => get(skipped)}.

%% Elixir does not take all that Erlang does.
a_case(Kind) ->
    {Args, Text, Guarded, Bindings} = case Kind of 1 -> inspected(); 2 -> own(); _ -> written() end,
    try verdict(Args, Text, Bindings) of
        Verdict -> {Verdict, Args, shown(Text, Bindings), Guarded}
    catch
        Class:Reason when Class =:= error; Class =:= throw ->
            put(skipped, get(skipped) + 1),
            get(skipped) < 3 andalso erlang:display({Class, Reason}),
            a_case(Kind)
    end.

shown(Text, Bindings) ->
    lists:foldl(fun({Name, Pid}, T) ->
                        Shown = ["#PID", pid_to_list(Pid)],
                        replace(replace(T, ["^", atom_to_list(Name)], Shown), atom_to_list(Name), Shown)
                end, ["Some.Mod.f", Text], Bindings).

replace(Text, What, With) -> string:replace(unicode:characters_to_list(Text), lists:flatten(What), With, all).

verdict(Args, Text, Bindings) ->
    {Head, When} = case string:split(unicode:characters_to_list(Text), ") when ") of
                       [H, G] -> {H, [" when ", G]};
                       [H] -> {lists:droplast(H), ""}
                   end,
    Source = ["import Bitwise\ncase args do\n  [", tl(Head), "]", When, " -> :matches\n  _ -> :differs\nend"],
    Quoted = 'Elixir.Code':'string_to_quoted!'(unicode:characters_to_binary(Source)),
    Quiet = 'Elixir.Macro':prewalk(Quoted, fun quiet/1), % no warnings
    {Verdict, _} = 'Elixir.Code':eval_quoted(Quiet, [{args, Args} | Bindings]),
    Verdict.

quiet({Form, Meta, Args}) when is_list(Meta) -> {Form, [{generated, true} | Meta], Args};
quiet(Other) -> Other.

%% ---- terms as inspect() writes them ---------------------------------------------------------

inspected() ->
    Term = term(),
    Other = case uniform(1, 4) of
                1 -> term();
                2 -> near(Term);
                _ -> Term
            end,
    {[Other], ["(", inspect(Term), ")"], none, []}.

term() ->
    case uniform(1, 6) of
        1 -> many(fun() -> {key(), call_patterns:term(1)} end, 0, 4);
        2 -> maps:from_list(many(fun() -> {key(), call_patterns:term(1)} end, 0, 4));
        3 -> {key(), many(fun() -> {key(), text()} end, 1, 2)};
        4 -> one_of([text(), string()]);
        5 -> one_of([#{'__struct__' => 'Elixir.Some.Struct', key() => call_patterns:term(1)},
                     'Elixir.Range':new(uniform(-5, 5), uniform(-5, 5), one_of([1, -1, 2])),
                     'Elixir.URI':parse(<<"http://a.b/c">>)]);
        6 -> call_patterns:term(3)
    end.

near([{K, V} | T]) -> [{K, near(V)} | T];
near([H | T]) -> [near(H) | T];
near(N) when is_integer(N) -> N + 1;
near(B) when is_binary(B) -> <<B/binary, 0>>;
near(M) when is_map(M) -> M#{more => 1};
near(T) when is_tuple(T) -> list_to_tuple(lists:droplast(tuple_to_list(erlang:append_element(T, 1))));
near(T) -> T.

key() ->
    one_of([a, b, 'Foo', 'ok?', 'b!', 'odd one', 'a@b', '+', '==', '{}', '%{}', '<<>>', '..', '::', '->', nil, true,
            'do', 'and', '', '1x', 'it\'s "so"', 'a\nb', '\x{e9}t\x{e9}', 'Elixir.My.Mod', 'Elixir', 'Elixir.my',
            '_x', '#{}']).

text() ->
    one_of([unicode:characters_to_binary(string()), rand:bytes(uniform(0, 5)), <<"a\\#{b}">>, <<5:3>>, <<1, 2:7>>]).

string() ->
    many(fun() -> one_of([uniform(32, 126), uniform(0, 31), $", $', $\\, $#, ${, 127, 233, 955, 16#1f600]) end, 0, 6).

inspect(Term) ->
    'Elixir.Kernel':inspect(Term, [{limit, infinity}, {printable_limit, infinity}, {structs, true}]).

%% ---- what only Elixir has --------------------------------------------------------------------

own() ->
    Head = one_of(["%x{}", "%_{}", "%x{a: _}", "%Some.Struct{}", "x..y", "x..y//1", "1..3", "3..-1", "\"a\" <> x",
                   "[x, y] ++ _", "'a' ++ x", "{x, y}", "x", "x", "x", "x", "%{a: x} = y", "[x | y]"]),
    Known = [V || V <- ["x", "y"], string:find(Head, V) =/= nomatch],
    Guard = case Known =/= [] andalso uniform(1, 3) > 1 of
                true ->
                    Tests = many(fun() -> own_test(one_of(Known)) end, 1, 2),
                    [" when ", lists:join(one_of([" and ", " or ", " when "]), Tests)];
                false -> ""
            end,
    Args = [own_term(), own_term()],
    {Args, ["(", Head, ", _)", Guard], case Guard of "" -> none; _ -> guarded end, []}.

own_test(X) ->
    [one_of(["", "", "not "]),
     one_of([["not ", X, " not in [true, 1]"], ["not not ", X, " in [true]"], ["(not ", X, ") in [true]"],
             ["not ", X, " in [true, 1] not in [true]"], ["is_struct(", X, ")"],
             ["is_struct(", X, ", Some.Struct)"], ["is_struct(", X, ", 7)"],
             ["is_exception(", X, ")"], ["is_exception(", X, ", Some.Error)"], [X, " in -3..3"], [X, " not in 4..-2"],
             [X, " in [1, 2.0, :a, nil, \"ab\"]"], [X, " in []"], ["is_nil(", X, ")"], [X, ".a === 1"],
             [X, ".a.b != nil"], ["elem(", X, ", 0) == :ok"],
             ["elem(", X, ", -1) == 1"], ["is_map_key(", X, ", :a)"], [X, " + 1 in 1..2"], [X, " < 2 == true"],
             ["rem(", X, ", 2) === 0"], ["(", X, " &&& 1) === 1"], [X, " in ?a..?c"]])].

own_term() ->
    one_of([uniform(-5, 5), uniform(-5, 5), float(uniform(0, 3)), $b, nil, a, true, <<"ab">>, <<"a">>, "ab", [],
            {ok, 1}, {ok}, {}, #{'__struct__' => 'Elixir.Some.Struct', a => uniform(0, 2)}, #{'__struct__' => 7},
            #{'__struct__' => 7, a => 1},
            #{'__struct__' => 'Elixir.Some.Error', '__exception__' => true, a => #{b => 1}},
            #{'__struct__' => 'Elixir.Some.Other', more => one_of([false, 1])}, #{a => 1},
            #{a => #{b => nil}}, 'Elixir.Range':new(1, 3, one_of([1, 2])), 'Elixir.Range':new(3, -1, -1),
            'Elixir.Range':new(1, uniform(1, 3), 1)]).

%% ---- patterns and guards --------------------------------------------------------------------

written() ->
    {Args, {Head, Pids}, Guard} = call_patterns:one_case(),
    Bindings = [{list_to_atom(lower(Name)), Pid} || {Name, Pid} <- maps:to_list(Pids)],
    put(pinned, [Name || {Name, _} <- Bindings]),
    [{tuple, _, Patterns}] = parsed(["{", lists:join(", ", Head), "}"]),
    Text = ["(", comma([p(P) || P <- Patterns]), ")"],
    case Guard of
        none -> {Args, Text, none, Bindings};
        _ ->
            [{'if', _, [{clause, _, [], Guards, _}]}] = parsed(["if ", Guard, " -> ok end"]),
            put(pinned, []),
            Tests = [lists:join(" and ", [["(", p(T), ")"] || T <- All]) || All <- Guards],
            {Args, [Text, " when ", lists:join(" when ", Tests)], guarded, Bindings}
    end.

parsed(Text) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list([Text, "."])),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    Exprs.

comma(Texts) -> lists:join(one_of([", ", ","]), Texts).

lower(Name) -> string:lowercase(Name).

p({atom, _, A}) -> inspect(A);
p({integer, _, N}) -> integer(N);
p({char, _, C}) when C > 32, C < 127 -> character(C);
p({char, _, C}) -> integer_to_list(C);
p({float, _, F}) -> inspect(F);
p({string, _, S}) -> charlist(S);
p({nil, _}) -> "[]";
p({var, _, '_'}) -> "_";
p({var, _, V}) ->
    Name = lower(atom_to_list(V)),
    [["^" || lists:member(list_to_atom(Name), get(pinned))], Name];
p({cons, _, _, _} = List) -> list(List, []);
p({tuple, _, Es}) -> tuple(Es);
p({map, _, Fields}) -> map([{K, V} || {map_field_exact, _, K, V} <- Fields]);
p({bin, _, Es}) -> binary(Es);
p({match, _, A, B}) -> [p(A), " = ", p(B)];
p({op, _, '++', {string, _, S}, T}) -> [charlist(S), " ++ ", p(T)];
p({op, _, '-', {Kind, _, _} = A}) when Kind =:= integer; Kind =:= float; Kind =:= char -> ["-", p(A)];
p({op, _, Op, A}) -> one_operand(Op, p(A));
p({op, _, '=:=', A, B}) -> same(A, B);
p({op, _, Op, A, B}) -> operator(Op, ["(", p(A), ")"], ["(", p(B), ")"]);
p({call, _, {remote, _, {atom, _, erlang}, {atom, _, F}}, As}) ->
    [":erlang.", atom_to_list(F), "(", comma([p(A) || A <- As]), ")"];
p({call, _, {atom, _, F}, As}) -> call(F, As).

integer(N) when N >= 1000 ->
    one_of([integer_to_list(N), ["0x", integer_to_list(N, 16)], ["0o", integer_to_list(N, 8)],
            ["0b", integer_to_list(N, 2)],
            [integer_to_list(N div 1000), "_", string:right(integer_to_list(N rem 1000), 3, $0)]]);
integer(N) -> integer_to_list(N).

character(C) when C >= $a, C =< $z; C >= $A, C =< $Z; C >= $0, C =< $9 -> [$?, C];
character(C) -> one_of([["?\\", C], case C of $\\ -> "?\\\\"; _ -> [$?, C] end]).

charlist([]) -> one_of(["''", "~c\"\"", "[]"]);
charlist(S) ->
    Binary = unicode:characters_to_binary(S),
    case 'Elixir.String':'printable?'(Binary) of
        true -> one_of(['Elixir.Kernel':inspect(S, [{charlists, as_charlists}]), ["~c", inspect(Binary)]]);
        false -> inspect(S)
    end.

list({cons, _, H, T}, Items) -> list(T, [H | Items]);
list({nil, _}, Items) -> ["[", items(lists:reverse(Items)), "]"];
list({string, _, S}, Items) -> list({nil, 0}, [{integer, 0, C} || C <- lists:reverse(S)] ++ Items);
list(Tail, Items) -> ["[", comma([p(I) || I <- lists:reverse(Items)]), " | ", p(Tail), "]"].

%% Pairs of keys at the end may be keywords.
items(Items) ->
    {Pairs, Others} = lists:splitwith(fun is_pair/1, lists:reverse(Items)),
    case Pairs =/= [] andalso uniform(1, 3) > 1 of
        true ->
            comma([p(I) || I <- lists:reverse(Others)] ++ [pair(K, V) || {tuple, _, [K, V]} <- lists:reverse(Pairs)]);
        false -> comma([p(I) || I <- Items])
    end.

is_pair({tuple, _, [{atom, _, _}, _]}) -> true;
is_pair(_) -> false.

pair({atom, _, A}, V) -> ['Elixir.Macro':inspect_atom(key, A), " ", p(V)].

tuple([]) -> "{}";
tuple(Es) ->
    case lists:last(Es) of
        {cons, _, _, {nil, _}} = List when length(Es) > 1 ->
            {cons, _, Pair, _} = List,
            case is_pair(Pair) of
                true -> ["{", comma([p(E) || E <- lists:droplast(Es)] ++ [items([Pair])]), "}"];
                false -> ["{", comma([p(E) || E <- Es]), "}"]
            end;
        _ -> ["{", comma([p(E) || E <- Es]), "}"]
    end.

map(Fields) ->
    {Atoms, Others} = lists:partition(fun({{atom, _, _}, _}) -> uniform(1, 3) > 1; (_) -> false end, Fields),
    ["%{", comma([[p(K), " => ", p(V)] || {K, V} <- Others] ++ [pair(K, V) || {K, V} <- Atoms]), "}"].

%% ---- binaries -------------------------------------------------------------------------------

binary(Es) ->
    case lists:all(fun is_text/1, Es) of
        true -> inspect(<< <<(bytes(E))/binary>> || E <- Es>>);
        false ->
            case {Es, uniform(1, 2)} of
                {[Text, {bin_element, _, {var, _, _} = V, default, [Type]}], 1} when Type =:= binary; Type =:= bytes ->
                    case is_text(Text) of
                        true -> [inspect(bytes(Text)), " <> ", p(V)];
                        false -> ["<<", comma([segment(E) || E <- Es]), ">>"]
                    end;
                _ -> ["<<", comma([segment(E) || E <- Es]), ">>"]
            end
    end.

is_text({bin_element, _, {string, _, _}, default, _}) -> true;
is_text(_) -> false.

bytes({bin_element, _, {string, _, S}, _, default}) -> list_to_binary(S);
bytes({bin_element, _, {string, _, S}, _, [utf8]}) -> unicode:characters_to_binary(S).

segment(E) ->
    case is_text(E) of
        true -> inspect(bytes(E));
        false -> value(E)
    end.

value({bin_element, _, V, Size, Types}) ->
    Parts = [its_size(Size) || Size =/= default] ++ [type(T) || T <- case Types of default -> []; _ -> Types end],
    Text = p(V),
    case Parts of
        [] -> Text;
        [First | Rest] -> [Text, "::", lists:join("-", one_of([[First | Rest], lists:reverse(Parts)]))]
    end.

its_size({integer, _, N}) -> one_of([integer_to_list(N), ["size(", integer_to_list(N), ")"]]);
its_size(V) -> ["size(", p(V), ")"].

type({unit, N}) -> ["unit(", integer_to_list(N), ")"];
type(T) -> atom_to_list(T).

%% ---- guards ---------------------------------------------------------------------------------

one_operand('not', A) -> ["not (", A, ")"];
one_operand('bnot', A) -> [one_of(["bnot(", "Bitwise.bnot(", "~~~("]), A, ")"];
one_operand(Op, A) -> [atom_to_list(Op), "(", A, ")"].

same(A, {atom, _, nil}) -> ["is_nil(", p(A), ")"];
same(A, {Kind, _, _} = B) when Kind =:= integer; Kind =:= atom; Kind =:= string ->
    one_of([["(", p(A), ") === ", p(B)], [p(A), " in [", p(B), "]"], ["not (", p(A), " not in [:other, ", p(B), "])"]]);
same(A, B) -> operator('=:=', ["(", p(A), ")"], ["(", p(B), ")"]).

operator(Op, A, B) ->
    case Op of
        '=/=' -> [A, " !== ", B];
        '=:=' -> [A, " === ", B];
        '/=' -> [A, " != ", B];
        '=<' -> [A, " <= ", B];
        'andalso' -> [A, " and ", B];
        'orelse' -> [A, " or ", B];
        'div' -> ["div(", A, ", ", B, ")"];
        'rem' -> ["Kernel.rem(", A, ", ", B, ")"];
        'band' -> one_of([[A, " &&& ", B], ["band(", A, ", ", B, ")"]]);
        'bor' -> one_of([[A, " ||| ", B], ["Bitwise.bor(", A, ", ", B, ")"]]);
        'bxor' -> ["bxor(", A, ", ", B, ")"];
        'bsl' -> one_of([[A, " <<< ", B], ["bsl(", A, ", ", B, ")"]]);
        'bsr' -> one_of([[A, " >>> ", B], ["bsr(", A, ", ", B, ")"]]);
        _ when Op =:= 'and'; Op =:= 'or'; Op =:= 'xor' -> ["false and :no_such(", A, ")"]; % Elixir has none: refused
        _ -> [A, " ", atom_to_list(Op), " ", B]
    end.

call(element, [{integer, _, I}, T]) when I > 0 -> ["elem(", p(T), ", ", integer_to_list(I - 1), ")"];
call(is_map_key, [K, M]) -> ["is_map_key(", p(M), ", ", p(K), ")"];
call(map_get, [{atom, _, K}, {var, _, _} = M]) when K =:= a; K =:= b; K =:= ok; K =:= error ->
    [p(M), ".", atom_to_list(K)];
call(F, As) when F =:= element; F =:= map_get; F =:= size; F =:= float; F =:= is_record ->
    [":erlang.", atom_to_list(F), "(", comma([p(A) || A <- As]), ")"];
call(F, As) -> [one_of(["", "Kernel."]), atom_to_list(F), "(", comma([p(A) || A <- As]), ")"].
