/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which call ended?  A traced function's call and the return to the place that it was called from
 * have the same process and the same height of its stack, wherever the process was scheduled
 * meanwhile and whatever moved its heap.  Of a chain of tail calls all end at once, the last
 * called first; what was higher on the stack than an end or a new call has ended unseen.
 *
 * Bounded: CALL_PAIRS_MAX calls that are under way; those beyond are counted.
 */
#ifndef EBEAM_MODEL_CALL_PAIRS_H
#define EBEAM_MODEL_CALL_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_PAIRS_MAX (1u << 20)

struct call_pairs;

struct call_under_way {
	uint32_t function;
	uint64_t height;
	uint64_t ts_ns;
	uint32_t caller, shape; /* as in struct rec_call */
	/* Likewise, where they are wanted. */
	uint32_t process, thread, stack;
	uint8_t status;
	uint64_t inside_ns; /* that calls took which were made meanwhile; see call_pairs_inside() */
	bool c_code;	    /* its end is seen by a uprobe */
	/* Of how long it took, what tracing took: its own two hits as much as one, and those of its
	 * process between them.  Set when it ends. */
	uint64_t tracing_ns;
	char *args; /* text, malloc'ed; who gets a call out of here frees it; NULL = not kept */
};

void call_pairs_open(struct call_pairs **out);
void call_pairs_close(struct call_pairs *c); /* NULL ok */

/* Takes over call->args.  A call began, whose end will be seen if it comes (`caught`), or not: then
 * it only tells what has ended. */
void call_pairs_begin(struct call_pairs *c, uint64_t epid, const struct call_under_way *call,
		      bool caught);
/* A process was hit, which took it so long: told before what the hit is about. */
void call_pairs_hit(struct call_pairs *c, uint64_t epid, uint64_t ns);
/* A process came back to a place at this height: the next call that ended with that, false if there
 * is none (more). */
bool call_pairs_end(struct call_pairs *c, uint64_t epid, uint64_t height,
		    struct call_under_way *out);
/* The next call that an exception has ended: of those above this height. */
bool call_pairs_unwind(struct call_pairs *c, uint64_t epid, uint64_t height,
		       struct call_under_way *out);
/* A call ended that took so long: of that, the innermost one that is still under way knows. */
void call_pairs_inside(struct call_pairs *c, uint64_t epid, uint64_t ns);
/* Up to then ends of calls that are watched this way may have been missed: what began before is
 * under way no more, unseen, and will not be if it is told later.  Does nothing if that is
 * known. */
void call_pairs_forget(struct call_pairs *c, uint64_t before_ns, bool c_code);
/* Of Erlang functions, and of C functions. */
void call_pairs_follow(struct call_pairs *c, const uint64_t before_ns[2]);

uint64_t call_pairs_unseen(const struct call_pairs *c);	 /* ended unseen, so far */
uint64_t call_pairs_refused(const struct call_pairs *c); /* beyond the bound */
uint64_t call_pairs_under_way(const struct call_pairs *c);

#endif
