/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for whom: a process that waits for the answer to a request holds, in the Y registers of
 * the function that it waits in, the reference of a monitor; and the monitor names the other one.
 * It is a request if the reference is an alias (as gen:call and Task.await make it), or if the
 * function is known to wait for nothing else.  proc_lib:start_link of OTP 25 has a link instead.
 *
 *   waits_begin(&w, n, code, list); for each stack: waits_visit(&w, i, stack); waits_end(&w);
 */
#ifndef EBEAM_BEAM_WAITS_H
#define EBEAM_BEAM_WAITS_H

#include "base/idmap.h"
#include "base/vec.h"
#include "beam/process.h"
#include "beam/stack.h"

#define WAIT_ELSEWHERE UINT32_MAX

struct wait {
	uint32_t from; /* index in the list */
	uint32_t to;   /* likewise; WAIT_ELSEWHERE: no process of this node, or gone */
	uint64_t item; /* what is waited for, as a term: a pid, or the name of another node */
};

enum wait_function {
	WAIT_FUNCTION_ANY,  /* waits for the one that its alias is for */
	WAIT_FUNCTION_CALL, /* waits for the one that it monitors */
	WAIT_FUNCTION_LINK, /* ... or to which it is linked */
};

struct wait_place { /* of code, where processes wait */
	raddr addr;
	enum wait_function function;
};

struct wait_clue { /* what may prove a wait: a boxed term, or a pid */
	uint32_t from;
	enum wait_function function;
	uint64_t term;
};

struct waits {
	VEC(struct wait) v; /* at most one of each process, in their order */
	uint64_t unreadable;

	struct beam_node *n;
	const struct stack_code *code;
	const struct process_list *list;
	VEC(struct wait_place) places;
	struct idmap place_index, pid_index;
	VEC(struct wait_clue) clues;
};

void waits_begin(struct waits *w, struct beam_node *n, const struct stack_code *code,
		 const struct process_list *list);
void waits_visit(struct waits *w, uint32_t i, const struct process_stack *s);
void waits_end(struct waits *w);
void waits_free(struct waits *w);

#endif
