/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the probes of a run within a budget, in a thread of its own: whoever reads the events may
 * be slow, or stuck in a write, and the node must not pay for that.
 *
 * Every INTERVAL it looks how often each group of probes was hit, and what that took of the node's
 * CPU (budget.h); the first looks come sooner.  A group that may not be on all the time is on for
 * a slice, at a random time in the interval so that nothing periodic falls in step with it; the
 * slices of several groups overlap as far as they can.  A group whose slices would be too short for
 * what it takes to place its probes saves them up.
 */
#ifndef EBEAM_PROBE_KEEPER_H
#define EBEAM_PROBE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/error.h"
#include "probe/attach.h"
#include "probe/calibrate.h"

struct keeper;

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
	/* Of the node's CPU: traps as calibrated, programs by the clock, both corrected by what the
	 * node's CPU time shows (cost_fit.h). */
	uint64_t spent_ns;
	uint64_t own_ns; /* CPU that the node used beside that */
};

/*
 * All groups are on.  percent: of the node's own CPU; 100 or more = no limit, only measures.
 * Borrows all; the attach is the keeper's alone until keeper_stop().  ERROR_KIND_FAILED.
 */
int keeper_start(struct keeper **out, struct attach *a, int os_pid, double percent,
		 const struct calibration *cost, const struct keeper_work *work, struct error *err);
/* Ends the thread; groups stay as they are. */
void keeper_stop(struct keeper *k);
void keeper_close(struct keeper *k); /* NULL ok; stops it too */

/* Changes in order of time, those up to ts_ns; false = no more. */
bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out);
void keeper_cost(struct keeper *k, struct keeper_cost *out);

#endif
