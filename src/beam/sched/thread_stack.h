/* SPDX-License-Identifier: BSD-2-Clause */
/* The C functions that a thread is in, of a thread that does not run: by its registers and a copy
 * of its stack. */
#ifndef EBEAM_BEAM_SCHED_THREAD_STACK_H
#define EBEAM_BEAM_SCHED_THREAD_STACK_H

#include "beam/code/jit.h"
#include "beam/node/node.h"
#include "target/unwind.h"

/* Addresses in C code from the leaf on, at most `max`: down to Erlang code, the start of the
 * thread, or code without .eh_frame.  An address in a caller is that of its call instruction's last
 * byte.  Returns their number. */
unsigned int thread_stack_read(struct beam_node *n, struct unwinder *u, const struct jit_code *jit,
			       const struct unwind_regs *begin, raddr *frames, unsigned int max);

#endif
