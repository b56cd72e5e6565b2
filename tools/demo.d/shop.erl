%% SPDX-License-Identifier: BSD-2-Clause
%% The node that `make demo` records: a small shop that is always open, with several kinds of work
%% for the VM in a supervision tree.  Plain OTP; nothing here knows that it is looked at.
%%
%%   erl -noshell -pa EBIN -run shop main        ends with its standard input
-module(shop).
-behaviour(supervisor).
-export([main/0, init/1]).

main() ->
    %% Not in the boot process, which must go on to finish the start of the node.
    spawn(fun open/0).

open() ->
    process_flag(trap_exit, true),
    {ok, Sup} = supervisor:start_link({local, shop_sup}, ?MODULE, []),
    spawn(fun() -> halt_with(Sup) end),
    io:format("shop is open: ~s, os pid ~s~n", [node(), os:getpid()]),
    wait_for_end_of_input().

wait_for_end_of_input() ->
    case io:get_line("") of
        Line when is_list(Line) -> wait_for_end_of_input();
        _ -> halt(0)
    end.

%% A shop that cannot stay open must not look like one that runs.
halt_with(Sup) ->
    Ref = monitor(process, Sup),
    receive {'DOWN', Ref, process, Sup, _} -> halt(1) end.

init([]) ->
    Servers = [shop_stock, shop_prices, shop_search, shop_reports, shop_images, shop_printer],
    Children = [#{id => M, start => {M, start_link, []}} || M <- Servers] ++
        [#{id => {customer, K}, start => {shop_customer, start_link, [K]}} || K <- lists:seq(1, 6)],
    {ok, {#{strategy => one_for_one}, Children}}.
