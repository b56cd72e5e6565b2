%% SPDX-License-Identifier: BSD-2-Clause
%% A NIF library: SHA-256 over blocks of 8 KiB, each with calls of malloc and free.  The truth: bytes
%% hashed, and rounds (blocks).
-module(nif_crypto).
-behaviour(workload).
-export([processes/1, init/1, step/1, report/1]).

processes(_) -> [{nif_crypto, 8192}].

init(Size) -> {binary:copy(<<"a">>, Size), 0}.

step({Block, Bytes}) ->
    hash(Block, 50),
    {Block, Bytes + 50 * byte_size(Block)}.

hash(_, 0) -> ok;
hash(Block, N) ->
    _ = crypto:hash(sha256, Block),
    hash(Block, N - 1).

report([{Block, Bytes}]) -> #{bytes => Bytes, rounds => Bytes div byte_size(Block)}.
