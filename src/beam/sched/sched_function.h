/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that a scheduler executes.  The instruction pointer of a running process is in a
 * register: the function is known from memory only while C code runs that Erlang code called, on
 * dirty schedulers, and if the thread is off CPU; otherwise only where the time slice began.
 */
#ifndef EBEAM_BEAM_SCHED_FUNCTION_H
#define EBEAM_BEAM_SCHED_FUNCTION_H

#include "base/strbuf.h"
#include "beam/code/callsite.h"
#include "beam/process/stack.h"
#include "beam/sched/sched_now.h"

enum function_from {
	FUNCTION_UNKNOWN,
	FUNCTION_NOW,	      /* the scheduler executes this function */
	FUNCTION_CALL,	      /* the last function that called C code in this slice */
	FUNCTION_SLICE_START, /* its time slice began in this function */
};
const char *function_from_name(enum function_from from); /* NULL of FUNCTION_UNKNOWN */

/* Appends the function's name to *out.  `ip`: instruction pointer of the thread if off CPU (0 =
 * unknown); `long_call`: slice and call_ra are unchanged for so long that no Erlang code can be
 * running. */
enum function_from sched_function(struct beam_node *n, const struct stack_code *code,
				  struct callsites *sites, const struct sched_one *one, raddr ip,
				  bool long_call, struct strbuf *out);

#endif
