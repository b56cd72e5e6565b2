/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that a scheduler is in.  A process that runs keeps where it is in registers, so that
 * memory tells it only while C code runs that Erlang code called, on dirty schedulers, and if the
 * thread is off its CPU; else no more is known than where its time slice began.
 */
#ifndef EBEAM_BEAM_SCHED_FUNCTION_H
#define EBEAM_BEAM_SCHED_FUNCTION_H

#include "base/strbuf.h"
#include "beam/code/callsite.h"
#include "beam/process/stack.h"
#include "beam/sched/sched_now.h"

enum function_from {
	FUNCTION_UNKNOWN,
	FUNCTION_NOW,	      /* it is in this one */
	FUNCTION_CALL,	      /* the last that called C code, for as long as that slice was seen */
	FUNCTION_SLICE_START, /* in this one its time slice began */
};
const char *function_from_name(enum function_from from); /* NULL of FUNCTION_UNKNOWN */

/* Adds its name to *out.  `ip`: where its thread stands, off its CPU (0 = not known); `long_call`:
 * it was seen in the same slice and call for so long that it cannot be in Erlang code. */
enum function_from sched_function(struct beam_node *n, const struct stack_code *code,
				  struct callsites *sites, const struct sched_one *one, raddr ip,
				  bool long_call, struct strbuf *out);

#endif
