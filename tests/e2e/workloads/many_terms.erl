%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Terms of every type, random but the same for the same seed, kept in the dictionary of a
%% registered process.  `ask many_terms make SEED NUMBER STYLE` makes them and says how many of each
%% type there are in them; STYLE is erlang or elixir, or narrow: as erlang, for a node with
%% +pc latin1.  `ask many_terms check FILE` compares a file, made by another, with what this node
%% itself writes: each line is the flat size and the text of a term.  `texts FILE` writes those texts,
%% `pass` calls taken/1 with each term, by the process that keeps them; `types_of FILE` says how many
%% of each type are in those terms whose numbers (from 0 on) stand in the file.
-module(many_terms).
-export([make/3, check/1, drop/0]).
-export([keeper/3, 'odd function'/1]).
-export([texts/1, pass/0, pass_grown/2, taken/1, types_of/1]).
-import(chance, [uniform/2, one_of/1, many/3]).

make(Seed, Number, Style) ->
    rand:seed(exsss, {1, 2, list_to_integer(Seed)}),
    put(style, list_to_atom(Style)),
    put(magic_refs, 0),
    Style =:= "elixir" andalso application:ensure_all_started(elixir),
    Terms = special() ++ [term(3) || _ <- lists:seq(1, list_to_integer(Number))],
    Self = self(),
    Keeper = spawn(?MODULE, keeper, [Self, Terms, list_to_atom(Style)]),
    receive {ready, Keeper} -> ok end,
    #{types := Types} = Answer = ask(types),
    Answer#{types := Types#{magic_ref => get(magic_refs)}}.

check(File) ->
    ask({check, File}).

texts(File) -> ask({texts, File}).

types_of(File) ->
    {ok, Bytes} = file:read_file(File),
    ask({types, [binary_to_integer(N) || N <- binary:split(Bytes, <<"\n">>, [global, trim])]}).

pass() -> ask(pass).

taken(_) -> ok.

%% Calls of taken/1 with bytes that were appended to (as erl_eval makes them), which move as they grow.
pass_grown(Number, Bits) ->
    {ok, Tokens, _} = erl_scan:string("<<7, 0:" ++ Bits ++ ">>."),
    {ok, Exprs} = erl_parse:parse_exprs(Tokens),
    lists:foreach(fun(_) ->
                      {value, Bin, _} = erl_eval:exprs(Exprs, []),
                      taken(Bin),
                      7 = lists:sum(binary_to_list(Bin))
                  end, lists:seq(1, list_to_integer(Number))),
    #{pid => list_to_binary(pid_to_list(self()))}.

drop() ->
    Ref = monitor(process, many_terms),
    exit(whereis(many_terms), kill),
    receive {'DOWN', Ref, process, _, _} -> #{} end.

ask(What) ->
    Ref = monitor(process, many_terms),
    many_terms ! {self(), What},
    receive
        {many_terms, Answer} -> demonitor(Ref, [flush]), Answer;
        {'DOWN', Ref, process, _, Why} -> error(Why)
    end.

keeper(From, Terms, Style) ->
    register(many_terms, self()),
    put(terms, Terms),
    put(style, Style),
    erlang:garbage_collect(),
    From ! {ready, self()},
    serve().

serve() ->
    receive
        {From, types} ->
            Terms = get(terms),
            From ! {many_terms, #{terms => length(Terms), types => types(Terms, #{})}};
        {From, {texts, File}} ->
            ok = file:write_file(File, [[text(T), $\n] || T <- get(terms)]),
            From ! {many_terms, #{}};
        {From, pass} ->
            lists:foldl(fun pass/2, 1, get(terms)),
            From ! {many_terms, #{pid => list_to_binary(pid_to_list(self()))}};
        {From, {types, Numbers}} ->
            Terms = list_to_tuple(get(terms)),
            From ! {many_terms, types([element(N + 1, Terms) || N <- Numbers], #{})};
        {From, {check, File}} ->
            {ok, Bytes} = file:read_file(File),
            Lines = binary:split(Bytes, <<"\n">>, [global, trim]),
            Counts = compare(get(terms), Lines, #{equal => 0, sizes => 0, wrong => []}),
            From ! {many_terms, Counts}
    end,
    serve().

%% No faster than somebody can write them down.
pass(Term, N) ->
    N rem 50 =:= 0 andalso timer:sleep(20),
    ?MODULE:taken(Term),
    N + 1.

text(Term) ->
    case get(style) of
        elixir ->
            'Elixir.Kernel':inspect(Term, [{limit, infinity}, {printable_limit, infinity},
                                           {inspect_fun, fun inspect/2}]);
        _ ->
            unicode:characters_to_binary(io_lib:format("~0tp", [Term]))
    end.

%% Up to Elixir 1.14 a charlist is 'a', since then it is ~c"a", with other characters escaped.
inspect(Term, Options) ->
    case 'Elixir.Inspect':inspect(Term, Options) of
        <<$', _/binary>> ->
            {Escaped, <<>>} = 'Elixir.Code.Identifier':escape(list_to_binary(Term), $", infinity),
            iolist_to_binary(["~c\"", Escaped, $"]);
        Document -> Document
    end.

compare([Term | Terms], [Line | Lines], Counts) ->
    [Size, Text] = binary:split(Line, <<" ">>),
    Wanted = text(Term),
    SameSize = Size =:= integer_to_binary(erts_debug:flat_size(Term)),
    Counts1 = count(sizes, SameSize, count(equal, Text =:= Wanted, Counts)),
    Counts2 =
        if not SameSize -> wrong({size, Size, erts_debug:flat_size(Term), Wanted}, Counts1);
           Text =/= Wanted -> wrong(difference(Text, Wanted), Counts1);
           true -> Counts1
        end,
    compare(Terms, Lines, Counts2);
compare([], [], Counts) ->
    Counts#{wrong := [unicode:characters_to_binary(io_lib:format("~0tp", [W]))
                      || W <- maps:get(wrong, Counts)]};
compare(Terms, Lines, Counts) ->
    wrong({left_over, length(Terms), Lines}, Counts#{wrong := []}).

count(_, false, Counts) -> Counts;
count(What, true, Counts) -> maps:update_with(What, fun(N) -> N + 1 end, 1, Counts).

difference(Text, Wanted) ->
    At = max(0, binary:longest_common_prefix([Text, Wanted]) - 30),
    Part = fun(B) -> binary:part(B, min(At, byte_size(B)), min(100, byte_size(B) - min(At, byte_size(B)))) end,
    {text, Part(Text), wanted, Part(Wanted)}.

%% The three that are shortest.
wrong(What, #{wrong := Wrong} = Counts) ->
    Sorted = lists:sort([{erts_debug:flat_size(W), W} || W <- [What | Wrong]]),
    Counts#{wrong := [W || {_, W} <- lists:sublist(Sorted, 3)]}.

%% ---- how many of each type -----------------------------------------------------------------

types(Term, Counts) ->
    parts(Term, count(type(Term), true, Counts)).

parts([_ | _] = List, Counts) ->
    case io_lib:printable_unicode_list(List) of
        true -> Counts;
        false -> elements(List, Counts)
    end;
parts(Tuple, Counts) when is_tuple(Tuple) -> lists:foldl(fun types/2, Counts, tuple_to_list(Tuple));
parts(Map, Counts) when is_map(Map) ->
    maps:fold(fun(K, V, C) -> types(V, types(K, C)) end, Counts, Map);
parts(_, Counts) -> Counts.

elements([H | T], Counts) -> elements(T, types(H, Counts));
elements([], Counts) -> Counts;
elements(Tail, Counts) -> types(Tail, Counts).

type([]) -> nil;
type(T) when is_list(T) ->
    case {is_list(catch lists:reverse(T)), io_lib:printable_latin1_list(T),
          io_lib:printable_unicode_list(T)} of
        {false, _, _} -> improper_list;
        {true, true, _} -> latin1_list;
        {true, false, true} -> unicode_list;
        _ -> list
    end;
type(T) when is_integer(T) ->
    case erts_debug:flat_size(T) of 0 -> small; _ -> big end;
type(T) when is_float(T) -> float;
type(T) when is_atom(T) ->
    case lists:all(fun(C) -> C < 128 end, atom_to_list(T)) of true -> ascii_atom; _ -> utf8_atom end;
type(T) when is_binary(T), byte_size(T) =< 64 -> small_binary;
type(T) when is_binary(T) ->
    case binary:referenced_byte_size(T) > byte_size(T) of true -> sub_binary; _ -> refc_binary end;
type(T) when is_bitstring(T) -> bitstring;
type(T) when is_tuple(T) -> tuple;
type(T) when map_size(T) =< 32 -> flat_map;
type(T) when is_map(T) -> hash_map;
type(T) when is_function(T) ->
    case erlang:fun_info(T, type) of {type, local} -> local_fun; _ -> external_fun end;
type(T) when is_pid(T) -> local_or(T, pid, external_pid);
type(T) when is_port(T) -> local_or(T, port, external_port);
type(T) when is_reference(T) ->
    case {local_or(T, ref, external_ref), erts_debug:flat_size(T)} of
        {external_ref, _} -> external_ref;
        {ref, 4} -> alias;
        {ref, _} -> ref
    end;
type(_) -> record.

%% By their words on the heap, as an identifier of this node's earlier life has its name, too.
local_or(T, Local, External) ->
    case erts_debug:flat_size(T) of
        Words when Words =:= 0; Local =:= ref, Words < 5 -> Local;
        _ -> External
    end.

%% ---- terms ---------------------------------------------------------------------------------

term(0) ->
    leaf();
term(Depth) ->
    case uniform(1, 20) of
        N when N =< 3 -> many(fun() -> term(Depth - 1) end, 0, 6);
        4 -> [term(Depth - 1) | many(fun() -> term(Depth - 1) end, 1, 3) ++ leaf()];
        N when N =< 7 -> list_to_tuple(many(fun() -> term(Depth - 1) end, 0, 6));
        N when N =< 9 -> map(Depth, 0, 8);
        10 -> map(Depth, 30, 40);
        11 -> many(fun() -> {atom(), term(Depth - 1)} end, 1, 4);
        12 -> record(Depth);
        _ -> leaf()
    end.

map(Depth, From, To) ->
    maps:from_list(many(fun() -> {leaf(), term(max(0, Depth - 2))} end, From, To)).

%% UTF-8 in a binary is text to ebeam, and numbers to a node with +pc latin1: not in those.
leaf() ->
    Binaries = case get(style) of
                   narrow -> [fun ascii/0, fun sub_ascii/0];
                   _ -> [fun bytes/0, fun text/0, fun sub_bits/0]
               end,
    (one_of([fun small/0, fun big/0, fun real/0, fun atom/0, fun bits/0, fun external_fun/0,
             fun local_fun/0, fun string/0, fun wide/0, fun reference/0, fun pid/0, fun external/0] ++
            Binaries))().

small() ->
    one_of([uniform(-10, 255), uniform(-(1 bsl 59), (1 bsl 59) - 1)]).

big() ->
    Bits = one_of([59, 60, 63, 64, 65, 127, 128, 129, 500, 3000]),
    one_of([1, -1]) * ((1 bsl Bits) + one_of([-1, 0, 1, uniform(0, 1 bsl 50)])).

real() ->
    case uniform(1, 4) of
        1 -> uniform(-1000000, 1000000) / 1;
        2 -> uniform(-1000000, 1000000) / 1000;
        3 -> rand:uniform() * math:pow(10, uniform(-300, 300));
        4 ->
            case <<(rand:uniform(1 bsl 64) - 1):64>> of
                <<F/float>> -> F;
                _ -> -0.0
            end
    end.

atom() ->
    one_of([a, ok, undefined, true, false, nil, '', 'hello world', 'A', 'a@b', 'a-b', a9_, '_x',
            'receive', 'maybe', 'else', 'cond', 'a\nb', 'a\\b', 'a\'b', 'a"b', '\d', '\x{1}', '\x{e9}t',
            '\x{c9}', '\x{65e5}\x{672c}', '\x{f7}', 'Elixir.My.Mod', 'Elixir', 'Elixir.foo',
            'foo?', 'foo!', '+', '=>', '{}', '<<>>', '9', 'a#{b', list_to_atom(string:copies("x", 255))] ++
           ['\x{85}' || get(style) =/= elixir]). % which Elixir has written in another way since 1.15

string() -> many(fun() -> one_of([uniform(32, 126), uniform(97, 122), $\n, $\e, $", $\\, 233]) end, 1, 30).

%% Characters above 255 make a list one of numbers: to ebeam always, to a node with +pc latin1.
wide() ->
    case get(style) of
        erlang -> string();
        _ -> many(fun() -> one_of([uniform(97, 122), 955, 16#65e5, uniform(0, 300)]) end, 1, 10)
    end.

bytes() -> rand:bytes(one_of([0, 1, 7, 8, 9, 63, 64, 65, 66, 300])).

text() ->
    Chars = many(fun() -> one_of([uniform(32, 126), uniform(97, 122), $\n, $", 233, 955, 16#65e5,
                                  16#1f600]) end, 0, 100),
    one_of([unicode:characters_to_binary(Chars), << <<C>> || C <- Chars, C < 256 >>,
            << <<C>> || C <- Chars, C < 128 >>]).

ascii() -> << <<(uniform(0, 127))>> || _ <- lists:seq(1, uniform(0, 100)) >>.

sub_ascii() ->
    Skip = uniform(0, 50), Take = uniform(65, 500),
    binary:part(binary:copy(<<"0123456789abcdef">>, 50), Skip, Take).

bits() ->
    Size = one_of([1, 3, 7, 9, 65, 511, 513, 2001]),
    <<Bits:Size/bitstring, _/bitstring>> = rand:bytes(Size div 8 + 1),
    one_of([Bits, <<Bits/bitstring, 1:1>>]).

sub_bits() ->
    Whole = one_of([binary:copy(<<"0123456789abcdefghijklmnopqrstuvwxyz">>, 20), rand:bytes(500),
                    list_to_binary(lists:duplicate(100, "more text "))]),
    Skip = one_of([0, 8, 16, uniform(0, 1000)]),
    Take = one_of([8, 80, 800, 1600, uniform(0, 2000)]),
    <<_:Skip/bitstring, Bits:Take/bitstring, _/bitstring>> = Whole,
    Bits.

local_fun() ->
    A = uniform(1, 9), B = {A, A}, C = [B],
    case get(style) of
        elixir -> B; % which says in which function it was made
        _ ->
            one_of([fun() -> ok end, fun(X) -> {X, A} end, fun(X, Y) -> {X, Y, A, B, C} end,
                    fun Me(0) -> A; Me(N) -> Me(N - 1) end, fun 'odd function'/1])
    end.

external_fun() ->
    one_of([fun lists:map/2, fun erlang:self/0, fun ?MODULE:'odd function'/1,
            fun 'Elixir.My.Mod':run/3, fun 'no such':'one@all'/0]).

'odd function'(X) -> X.

reference() ->
    case uniform(1, 8) of
        1 -> monitor(process, self(), [{alias, explicit_unalias}]);
        2 -> magic(ets:new(t, []));
        3 -> magic(atomics:new(1, []));
        4 -> magic(zlib:open()); % a resource of a NIF
        5 -> alias();
        _ -> make_ref()
    end.

magic(Ref) ->
    put(magic_refs, get(magic_refs) + 1),
    Ref.

pid() ->
    one_of([self(), whereis(init), spawn(fun() -> ok end), hd(erlang:ports()),
            list_to_pid("<0." ++ integer_to_list(uniform(1, 30000)) ++ ".0>")]).

%% Of another node, or of this one before it was restarted.
external() ->
    Node = one_of(['other@host', 'more@127.0.0.1', node()]),
    Name = atom_to_binary(Node),
    Atom = <<119, (byte_size(Name)), Name/binary>>,
    Creation = 16#1234567 + uniform(0, 3),
    Number = fun(Max) -> uniform(0, Max) end,
    binary_to_term(one_of([
        <<131, 88, Atom/binary, (Number(30000)):32, (Number(5)):32, Creation:32>>,
        <<131, 89, Atom/binary, (Number(1 bsl 27)):32, Creation:32>>,
        <<131, 120, Atom/binary, (Number(1 bsl 40)):64, Creation:32>>,
        <<131, 90, 3:16, Atom/binary, Creation:32, (Number(1 bsl 17)):32,
          (Number(1 bsl 31)):32, (Number(1 bsl 31)):32>>,
        <<131, 90, 5:16, Atom/binary, Creation:32, (Number(1 bsl 17)):32, (Number(1 bsl 31)):32,
          (Number(1 bsl 31)):32, (Number(1 bsl 31)):32, (Number(1 bsl 31)):32>>])).

%% Native records, OTP 29.
record(Depth) ->
    case get(style) =/= elixir andalso erlang:function_exported(records, create, 4) of
        true ->
            Fields = lists:ukeysort(1, many(fun() -> {atom(), term(Depth - 1)} end, 0, 4)),
            Shuffled = [F || {_, F} <- lists:sort([{rand:uniform(), F} || F <- Fields])],
            records:create(one_of([many_terms, 'a b']), atom(), Shuffled,
                           #{is_exported => one_of([true, false])});
        false ->
            {record, Depth}
    end.

%% What chance would not make.
special() ->
    erlang:function_exported(records, create, 4) orelse code:ensure_loaded(records),
    Deep = lists:foldl(fun(_, T) -> {T, [T0 || T0 <- [x]]} end, [], lists:seq(1, 900)),
    Literal = {literal, [1, "two", <<"three">>], #{four => 4}},
    persistent_term:put(many_terms, Literal),
    Appended = lists:foldl(fun(N, B) -> <<B/binary, N:16>> end, <<>>, lists:seq(1, 200)),
    Shared = lists:seq(1, 100),
    [{}, [], #{}, <<>>, {{}}, Deep, Literal, persistent_term:get(many_terms), Appended,
     <<Appended/binary, 0>>, [Shared, Shared, {Shared}],
     lists:seq(1, 20000), string:copies("long text ", 2000), binary:copy(<<"long text ">>, 5000),
     binary:copy(<<0, 1, 255>>, 5000), list_to_tuple(lists:seq(1, 5000)),
     maps:from_list([{N, {N}} || N <- lists:seq(1, 32)]),
     maps:from_list([{N, {N}} || N <- lists:seq(1, 33)]),
     maps:from_list([{{key, N}, integer_to_binary(N)} || N <- lists:seq(1, 20000)]),
     maps:without(lists:seq(10, 300), maps:from_list([{N, N} || N <- lists:seq(1, 320)])),
     lists:foldl(fun(_, M) -> #{key => M} end, #{}, lists:seq(1, 500)),
     1.0e16, 9007199254740992.0, 4503599627370496.5, 5.0e-324, 1.7976931348623157e308,
     #{'__struct__' => 'Elixir.RuntimeError', '__exception__' => true, message => <<"m">>},
     ?MODULE:module_info(compile), erlang:system_info(system_version), init:get_arguments()].
