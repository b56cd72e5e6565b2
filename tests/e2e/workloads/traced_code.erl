%% SPDX-License-Identifier: BSD-2-Clause
%% Code that is loaded anew while its calls are traced; calls are counted by who makes them.
-module(traced_code).
-export([load/2, load_slowly/2, without/1, swap/1, call/2, around/1, fill/2, burst/1, stop/0, to_nif/0, nif/1]).

-define(HOT, traced_hot).

%% ?HOT, each time a bit longer, so that it is at another place.
load(Version, OnLoadMs) ->
    {module, ?HOT} = load_text(?HOT, hot_text(Version, OnLoadMs) ++ "f(N) -> {" ++ Version ++ ", N}. "),
    <<"ok">>.

%% Returns before it is current.
load_slowly(Version, OnLoadMs) ->
    spawn(fun() -> load(Version, OnLoadMs) end),
    <<"ok">>.

%% The function that was traced is not there, and its old code is gone.
without(Version) ->
    {module, ?HOT} = load_text(?HOT, hot_text(Version, "0")),
    code:purge(?HOT),
    <<"ok">>.

%% Code that comes back to where it was two loads before, its functions in another order each time.
swap(Loads) ->
    Head = "-module(" ++ atom_to_list(?HOT) ++ "). -compile([export_all, nowarn_export_all]). ",
    Codes = {compile_text(?HOT, Head ++ "f(N) -> {f, N}. g(N) -> {g, N}. "),
             compile_text(?HOT, Head ++ "g(N) -> {g, N}. f(N) -> {f, N}. ")},
    [begin
         load_code(?HOT, element(1 + N div 2 rem 2, Codes)),
         [{{f, K}, {g, other}} = {?HOT:f(K), ?HOT:g(other)} || K <- [1, 2, 3]],
         N rem 3 =:= 0 andalso timer:sleep(5)
     end || N <- lists:seq(1, list_to_integer(Loads))],
    <<"ok">>.

hot_text(Version, OnLoadMs) ->
    "-module(" ++ atom_to_list(?HOT) ++ "). -compile([export_all, nowarn_export_all]). "
        "-on_load(start/0). start() -> receive after " ++ OnLoadMs ++ " -> ok end. "
        "around(N) -> X = ?MODULE:f(N), {around, X}. "
        "pad() -> [" ++ lists:join(", ", ["{" ++ Version ++ ", " ++ integer_to_list(N) ++ ", self()}"
                                         || N <- lists:seq(1, list_to_integer(Version) rem 7)])
        ++ "]. ".

load_text(Module, Text) ->
    load_code(Module, compile_text(Module, Text)).

load_code(Module, Code) ->
    code:purge(Module),
    code:load_binary(Module, "none", Code).

compile_text(Module, Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(string:replace(Text, "?MODULE",
                                                                   atom_to_list(Module), all))),
    {ok, Module, Code} = compile:forms(forms(Tokens, []), [binary]),
    Code.

forms([], _) -> [];
forms([{dot, _} = Dot | More], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse(Form, [Dot])),
    [Parsed | forms(More, [])];
forms([Token | More], Form) -> forms(More, [Token | Form]).

%% So many calls, by the export and by code of the same load, by a process of its own.
call(From, To) ->
    by_process(fun() -> [?HOT:around(N)
                         || N <- lists:seq(list_to_integer(From), list_to_integer(To))]
               end).

around(N) -> {again, ?HOT:f(list_to_integer(N))}.

by_process(Fun) ->
    {P, R} = spawn_monitor(fun() -> exit({said, Fun()}) end),
    receive
        {'DOWN', R, process, P, {said, Said}} -> #{pid => text(P), said => [text(S) || S <- Said]}
    end.

%% Other modules where code was: how many calls of them were made.
fill(Modules, Calls) ->
    Said = [begin
                M = list_to_atom("traced_fill_" ++ integer_to_list(K)),
                {module, M} = load_text(M, "-module(" ++ atom_to_list(M) ++ "). "
                                        "-compile([export_all, nowarn_export_all]). "
                                        "a(N) -> {a, N}. b(N) -> [N]. f(N) -> {f, N}. "
                                        "g(N) -> X = ?MODULE:f(N), {X, ?MODULE:b(N), ?MODULE:a(N)}. "),
                [M:g(N) || N <- lists:seq(1, list_to_integer(Calls))],
                M
            end || K <- lists:seq(1, list_to_integer(Modules))],
    #{calls => 3 * length(Said) * list_to_integer(Calls)}.

%% Other modules all the while, one each few milliseconds.
burst(EveryMs) ->
    {ok, traced_burst, Code} = compile:forms([{attribute, 1, module, traced_burst}], [binary]),
    Ms = list_to_integer(EveryMs),
    register(?MODULE, spawn(fun() -> load_all(Code, Ms) end)),
    <<"ok">>.

load_all(Code, Ms) ->
    code:purge(traced_burst),
    {module, _} = code:load_binary(traced_burst, "none", Code),
    receive stop -> ok after Ms -> load_all(Code, Ms) end.

stop() ->
    ?MODULE ! stop,
    <<"ok">>.

%% A module in Erlang, whose function the real one has as a NIF.
nif("erlang") ->
    {module, _} = load_text(asn1rt_nif, "-module(asn1rt_nif). -export([encode_ber_tlv/1]). "
                            "encode_ber_tlv(X) -> {erlang, X}. "),
    <<"ok">>;
nif(Calls) ->
    by_process(fun() -> [nif_result(N) || N <- lists:seq(1, list_to_integer(Calls))] end).

nif_result(N) ->
    X = asn1rt_nif:encode_ber_tlv({N, <<1>>}),
    {X, N}.

to_nif() ->
    code:purge(asn1rt_nif),
    {module, _} = code:load_file(asn1rt_nif),
    <<"ok">>.

text(T) -> unicode:characters_to_binary(io_lib:format("~0tp", [T])).
