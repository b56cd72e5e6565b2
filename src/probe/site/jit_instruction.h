/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions of Erlang modules as the JIT writes them, found in a module's code. */
#ifndef EBEAM_PROBE_JIT_INSTRUCTION_H
#define EBEAM_PROBE_JIT_INSTRUCTION_H

#include "probe/site/code_calls.h"

/*
 * The next remove_message (a message is taken from the mailbox) from offset *at on: the function
 * that it calls, with *at behind it.  0 = there is no more.
 */
uint64_t jit_instruction_remove_message(const struct code_bytes *code, size_t *at);

#endif
