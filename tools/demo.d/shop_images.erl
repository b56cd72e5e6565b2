%% SPDX-License-Identifier: BSD-2-Clause
%% Images: binaries that are copied, cut, searched and encoded.
-module(shop_images).
-behaviour(gen_server).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

init([]) -> {ok, list_to_binary([B rem 256 || B <- lists:seq(1, 30000)]), 0}.

handle_call(_, _From, Image) -> {reply, ok, Image, 4}.
handle_cast(_, Image) -> {noreply, Image, 4}.

handle_info(timeout, Image) ->
    Lines = binary:split(binary:copy(Image, 3), <<0>>, [global]),
    _ = iolist_to_binary(lists:reverse(Lines)),
    _ = base64:encode(Image),
    _ = brightness(Image, 0),
    {noreply, Image, 4}.

brightness(<<Pixel, Rest/binary>>, Sum) -> brightness(Rest, Sum + Pixel);
brightness(<<>>, Sum) -> Sum.
