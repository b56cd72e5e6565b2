/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the probes of a run within a budget, in a thread of its own: whoever reads the events may
 * be slow, or stuck in a write, and the node must not pay for that.
 *
 * Every 10 ms, if the node was busy enough to matter, it looks how often each group of probes was
 * hit, and what that took of the node's CPU (meter.h).  What may be on then is the budget's to say
 * (budget.h): all the time, or for slices, which lie within each other.  What it takes to switch
 * probes is part of the cost, but not that of putting them there first and taking them away last.
 */
#ifndef EBEAM_PROBE_KEEPER_H
#define EBEAM_PROBE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/error.h"
#include "probe/calibrate.h"

struct keeper;
struct attach;

/* From ts_ns on these kinds are watched or not. */
struct keeper_change {
	uint64_t ts_ns;
	uint64_t kinds; /* bit set; 0: only `work` is told */
	enum coverage_state state;
	/* Of all that happened so far, the part that was seen: by the reductions that the node
	 * did, because it does less while it is probed; where those are not known by its CPU time,
	 * without that of the probes. */
	uint32_t share_ppm;
	uint64_t work, missed; /* as in struct rec_coverage */
};

/* Addresses of counters in the node whose sum is what it has done: reductions of schedulers. */
#define KEEPER_MAX_COUNTERS 1024
struct keeper_work {
	unsigned int nr; /* 0 = not known */
	uint64_t addrs[KEEPER_MAX_COUNTERS];
};

/* What the probes took so far. */
struct keeper_cost {
	bool known;
	uint64_t hits;
	uint64_t spent_ns; /* of the node's CPU (meter.h) */
	uint64_t own_ns;   /* CPU that the node used beside that */
};

/*
 * Before there are probes: how busy the node is without is measured from here on.  percent: of the
 * node's own CPU; 100 or more = no limit, only measures.  Borrows all.  ERROR_KIND_FAILED.
 */
int keeper_open(struct keeper **out, struct attach *a, int os_pid, double percent,
		const struct calibration *cost, struct error *err);
/* Puts all groups on, and those off again at once that cost too much.  The attach is the keeper's
 * alone until keeper_stop().  Errors as attach_on(). */
int keeper_start(struct keeper *k, const struct keeper_work *work, struct error *err);
/* Ends the thread; groups stay as they are. */
void keeper_stop(struct keeper *k);
void keeper_close(struct keeper *k); /* NULL ok; stops it too */

/* Changes in order of time, those up to ts_ns; false = no more. */
bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out);
void keeper_cost(struct keeper *k, struct keeper_cost *out);

#endif
