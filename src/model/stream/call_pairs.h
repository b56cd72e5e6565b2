/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which call ended?  The call of a traced function and the return to its return site have the same
 * process, the same site and the same height of the stack, wherever the process was scheduled
 * meanwhile and whatever moved its heap.  Of a chain of tail calls all end at once, the last called
 * first; calls that were higher on the stack than a return or a new call have ended unseen.
 *
 * That holds only if no end was missed: a call that ended unseen and the next one from the same
 * frame look like a chain of tail calls.  So the caller reports for which sites and times ends may
 * have been missed (call_pairs_gap()), and calls that were under way then are not paired.  A gap of
 * one thread does not affect a call whose process stayed on another thread all the time.
 *
 * Bounded: CALL_PAIRS_MAX calls under way, CALL_PAIRS_TEXT bytes of their arguments; those beyond
 * are counted.
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
	uint64_t site; /* return site; not used for C functions */
	uint64_t ts_ns;
	uint32_t caller, shape; /* as in struct rec_call */
	/* Also as in struct rec_call, if needed. */
	uint32_t process, thread, stack;
	uint8_t status;
	uint32_t os_tid;    /* on which it was called; 0 = not known */
	uint32_t slice;	    /* as in struct rec_call */
	uint64_t inside_ns; /* time of traced calls within this one; see call_pairs_inside() */
	bool c_code;	    /* a C function: its return is seen by a uprobe */
	/* Part of the duration that tracing took: the cost of all hits of the process within the
	 * call, and that of one hit for half of those at its entry and its return.  Set when it
	 * ends. */
	uint64_t tracing_ns;
	uint64_t unsure_ns; /* set by the caller, for display: a shorter duration may be zero */
	char *args;	    /* malloc'ed text, owned by whoever gets the call; NULL = not kept */
};

void call_pairs_open(struct call_pairs **out);
void call_pairs_close(struct call_pairs *c); /* NULL ok */

/* Exceptions are not seen: then only the last of several calls at the same height is certainly
 * under way, tail calls or not. */
void call_pairs_only_last(struct call_pairs *c, bool only_last);
/* A call began; takes ownership of call->args.  `caught`: its end will be seen.  If not, it only
 * shows which calls have ended. */
void call_pairs_begin(struct call_pairs *c, uint64_t epid, const struct call_under_way *call,
		      bool caught);
/* A hit, which took the process so many ns; to be reported before the call or return of the hit. */
void call_pairs_hit(struct call_pairs *c, uint64_t epid, uint64_t ns);
/* A return to a site at this height, or from a C function. */
struct call_return {
	uint64_t epid, height, site, ts_ns;
	bool c_code;
	uint32_t slice; /* as in struct rec_call */
};
/* The next call that this return ends; false if there is none (more). */
bool call_pairs_end(struct call_pairs *c, const struct call_return *end,
		    struct call_under_way *out);
/* The next call that an exception ends: those with younger frames than that of its handler. */
bool call_pairs_unwind(struct call_pairs *c, uint64_t epid, uint64_t height, uint64_t ts_ns,
		       struct call_under_way *out);
/* All calls of a process end unseen, as it dropped its stack. */
void call_pairs_drop(struct call_pairs *c, uint64_t epid);
/* Likewise, for its calls of C functions only. */
void call_pairs_drop_c(struct call_pairs *c, uint64_t epid);
/* A call ended after ns: adds that to inside_ns of the innermost call still under way. */
void call_pairs_inside(struct call_pairs *c, uint64_t epid, uint64_t ns);
/* Returns to a site may have been missed later than from_ns, and up to to_ns.  To be reported
 * before anything that happened after from_ns.  Calls with that return site that are under way
 * at any time in between count as ended unseen. */
struct call_gap {
	uint64_t site; /* 0 = all, also of C functions */
	uint64_t from_ns, to_ns;
	uint32_t os_tid; /* missed by this thread only; 0 = by any */
};
void call_pairs_gap(struct call_pairs *c, const struct call_gap *gap);
/* From ts_ns on returns of C functions are seen, or not; calls that are under way in between count
 * as ended unseen.  The same state may be reported again. */
void call_pairs_watch_c(struct call_pairs *c, bool watched, uint64_t ts_ns);
/* From ts_ns on ends of calls are not seen at all, for these reasons (bit set); or the reasons are
 * gone. */
void call_pairs_blind(struct call_pairs *c, uint64_t reasons, bool blind, uint64_t ts_ns);

uint64_t call_pairs_unseen(const struct call_pairs *c);	  /* calls ended unseen so far */
uint64_t call_pairs_refused(const struct call_pairs *c);  /* beyond the limit, or without process */
uint64_t call_pairs_textless(const struct call_pairs *c); /* without their arguments */
/* Calls under way, without those that are known to have ended unseen. */
uint64_t call_pairs_under_way(struct call_pairs *c);

#endif
