/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds instructions of Erlang modules in the code that the JIT makes of them. */
#ifndef EBEAM_PROBE_JIT_INSTRUCTION_H
#define EBEAM_PROBE_JIT_INSTRUCTION_H

#include "probe/site/code_calls.h"

/* Finds the next remove_message (takes a message from the mailbox) from offset *at on.  Returns
 * the function that it calls, and moves *at behind it; 0 = there is no more. */
uint64_t jit_instruction_remove_message(const struct code_bytes *code, size_t *at);

#endif
