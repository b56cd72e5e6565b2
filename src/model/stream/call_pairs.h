/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which call ended?  A traced function's call and the return to the site that it was called from
 * have the same process, the same site and the same height of its stack, wherever the process was
 * scheduled meanwhile and whatever moved its heap.  Of a chain of tail calls all end at once, the
 * last called first; what was higher on the stack than an end or a new call has ended unseen.
 *
 * That holds only if no end was missed: a call that ended unseen and the next one from the same
 * frame cannot be distinguished from a chain of tail calls.  So whoever may have missed ends says
 * of which place and when (call_pairs_gap()), and no call that was under way then is paired with
 * anything. What one thread missed does not matter to a call whose process stayed on another all
 * the time.
 *
 * Bounded: CALL_PAIRS_MAX calls that are under way, CALL_PAIRS_TEXT bytes of their arguments; those
 * beyond are counted.
 */
#ifndef EBEAM_MODEL_CALL_PAIRS_H
#define EBEAM_MODEL_CALL_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define CALL_PAIRS_MAX	(1u << 20)
#define CALL_PAIRS_TEXT ((size_t)64 << 20)

struct call_pairs;

struct call_under_way {
	uint32_t function;
	uint64_t height;
	uint64_t site; /* address that it returns to; of no use if it is C */
	uint64_t ts_ns;
	uint32_t caller, shape; /* as in struct rec_call */
	/* Likewise, where they are wanted. */
	uint32_t process, thread, stack;
	uint8_t status;
	uint32_t os_tid;    /* that it was made on; 0 = not known */
	uint32_t slice;	    /* as in struct rec_call */
	uint64_t inside_ns; /* that calls took which were made meanwhile; see call_pairs_inside() */
	bool c_code;	    /* its end is seen by a uprobe */
	/* Of how long it took, what tracing took: its own two hits as much as one, and those of its
	 * process between them.  Set when it ends. */
	uint64_t tracing_ns;
	uint64_t unsure_ns; /* for whoever shows it: a duration up to that may be none */
	char *args; /* text, malloc'ed; who gets a call out of here frees it; NULL = not kept */
};

void call_pairs_open(struct call_pairs **out);
void call_pairs_close(struct call_pairs *c); /* NULL ok */

/* Exceptions are not seen at all: then of calls at equal height only the last one is still under
 * way for sure, tail calls or not. */
void call_pairs_only_last(struct call_pairs *c, bool only_last);
/* Takes over call->args.  A call began, whose end will be seen if it comes (`caught`), or not: then
 * it only tells what has ended. */
void call_pairs_begin(struct call_pairs *c, uint64_t epid, const struct call_under_way *call,
		      bool caught);
/* A process was hit, which took it so long: reported before what the hit is about. */
void call_pairs_hit(struct call_pairs *c, uint64_t epid, uint64_t ns);
/* A process came back to a site at this height, or out of a C function. */
struct call_return {
	uint64_t epid, height, site, ts_ns;
	bool c_code;
	uint32_t slice; /* as in struct rec_call */
};
/* The next call that ended with that, false if there is none (more). */
bool call_pairs_end(struct call_pairs *c, const struct call_return *end,
		    struct call_under_way *out);
/* The next call that an exception has ended: of those above this height. */
bool call_pairs_unwind(struct call_pairs *c, uint64_t epid, uint64_t height, uint64_t ts_ns,
		       struct call_under_way *out);
/* All that a process has under way ends unseen: it gave up its stack. */
void call_pairs_drop(struct call_pairs *c, uint64_t epid);
/* Only its calls of C functions. */
void call_pairs_drop_c(struct call_pairs *c, uint64_t epid);
/* A call ended that took so long: of that, the innermost one that is still under way knows. */
void call_pairs_inside(struct call_pairs *c, uint64_t epid, uint64_t ns);
/*
 * Later than from_ns, and up to to_ns, returns to a site may have been missed.  Told before
 * anything that happened after from_ns.  Calls to there that were under way at any time between are
 * so no more, unseen.
 */
struct call_gap {
	uint64_t site; /* 0 = all, those of C functions too */
	uint64_t from_ns, to_ns;
	uint32_t os_tid; /* only by that thread; 0 = by any */
};
void call_pairs_gap(struct call_pairs *c, const struct call_gap *gap);
/* From ts_ns on ends of C functions are seen, or not: what goes on then went on while they were
 * missed.  May be reported again of the same state. */
void call_pairs_watch_c(struct call_pairs *c, bool watched, uint64_t ts_ns);
/* From ts_ns on nothing is known of how calls end, for any of these reasons (bit set); or all is
 * again. */
void call_pairs_blind(struct call_pairs *c, uint64_t reasons, bool blind, uint64_t ts_ns);

uint64_t call_pairs_unseen(const struct call_pairs *c);	  /* ended unseen, so far */
uint64_t call_pairs_refused(const struct call_pairs *c);  /* beyond the bound, or of nobody */
uint64_t call_pairs_textless(const struct call_pairs *c); /* without their arguments */
/* Without those that are known to have ended unseen by now. */
uint64_t call_pairs_under_way(struct call_pairs *c);

#endif
