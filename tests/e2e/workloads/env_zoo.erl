%% SPDX-License-Identifier: BSD-2-Clause
%%
%% Environments of applications: terms of every kind, and secrets in every place; and what the node
%% says of all of them.  As a workload: environments that change all the time.
-module(env_zoo).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1, load/0, facts/0, versions/0]).

processes(_) -> [{undefined, churn}].
init(_) -> 0.

step(N) ->
    [application:set_env(env_churn, list_to_atom("key" ++ integer_to_list(I)),
                         {N, binary:copy(<<"v">>, 100)}) || I <- lists:seq(1, 200)],
    [application:unset_env(env_churn, list_to_atom("key" ++ integer_to_list(I)))
     || I <- lists:seq(1, 200), I rem 2 =:= 0],
    N + 1.

report(States) -> #{rounds => lists:sum(States)}.

load() ->
    ok = application:load({application, env_zoo,
                           [{vsn, "1.2.3-rc.4"}, {env, secrets() ++ terms()}]}),
    ok = application:load({application, env_empty, [{vsn, "0.1"}]}),
    application:set_env(env_not_loaded, some, thing),
    application:set_env('env odd "name" å', 'Elixir.My.Repo', [{url, "x"}]),
    application:set_env(env_keys, {odd, "key"}, 1),
    application:set_env(env_keys, 'odd key å\x{3b1}', 2),
    [application:set_env(env_large, list_to_atom("key" ++ integer_to_list(I)), lists:seq(1, I))
     || I <- lists:seq(1, 500)],
    ok.

secrets() ->
    [{db_password, "hunter2"},
     {secret_key_base, <<"hunter2hunter2hunter2">>},
     {'Elixir.My.Repo', [{username, "me"}, {password, <<"hunter2">>}, {pool_size, 10}]},
     {endpoint, #{http => [{port, 4000}], secretKeyBase => <<"hunter2">>,
                  <<"api-key">> => "hunter2", "auth_token" => hunter2}},
     {deep, [{a, {b, [#{c => {d, [{"Authorization", <<"Basic hunter2">>}]}}]}}]},
     {large, maps:from_list([{token, hunter2} | [{{k, I}, I} || I <- lists:seq(1, 50)]])},
     {tuple, {password, "hunter2", hunter2, 2}},
     {url, "amqp://me:hunter2@host:5672/vhost"},
     {urls, [<<"redis://:hunter2@host/0">>, "https://host:443/me@x", <<"http://host:80/path">>]},
     {arguments, ["--password=hunter2", "token=hunter2&x=1", "--port=80"]},
     {document, <<"{\"user\":\"me\",\"password\":\"hunter2\"}">>},
     {unset, [{password, undefined}, {token, nil}, {api_key, ""}, {secret, <<>>}]},
     {files, [{keyfile, "key.pem"}, {password_file, "pw.txt"}, {max_tokens, 5},
              {primary_key, id}]}].

terms() ->
    [{t_atom, 'odd atom'}, {t_small, -1}, {t_big, 1 bsl 70}, {t_float, 1.5}, {t_nil, []},
     {t_string, "text"}, {t_improper, [1 | 2]}, {t_binary, <<"binary">>}, {t_bits, <<5:3>>},
     {t_large, binary:copy(<<"long enough to be off the heap ">>, 10)}, {t_map, #{a => 1}},
     {t_hash, maps:from_list([{I, I * I} || I <- lists:seq(1, 40)])}, {t_fun, fun lists:map/2},
     {t_pid, self()}, {t_utf8, <<"h\x{e5}"/utf8>>}, {t_list, lists:seq(1, 300)},
     {t_nested, {nested, {deep, [{tuple, [{}]}]}}}].

facts() ->
    Loaded = [A || {A, _, _} <- application:loaded_applications()],
    Set = [A || [A] <- ets:match(ac_tab, {{env, '$1', '_'}, '_'})],
    maps:from_list([{A, maps:from_list([{name(K), text(V)}
                                        || {K, V} <- application:get_all_env(A)])}
                    || A <- lists:usort(Loaded ++ Set)]).

versions() ->
    maps:from_list([{A, list_to_binary(V)} || {A, _, V} <- application:loaded_applications()]).

name(K) when is_atom(K) -> K;
name(K) -> text(K).

text(Term) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Term])).
