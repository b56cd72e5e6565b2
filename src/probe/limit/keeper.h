/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the probes of a run within a budget, in a thread of its own: whoever reads the events may
 * be slow, or stuck in a write, and the node must not pay for that.
 *
 * It wakes up every 10 or 20 ms, and when slices begin or end (turns.h).  If the node was busy
 * enough since to matter it looks how often each group of probes was hit, and what that took of the
 * node's CPU (tally.h).  What may be on then is the budget's to say (budget.h): all the time, or
 * for slices, which lie within each other.  What it takes to switch probes is part of the cost, but
 * not that of putting them there first and taking them away last.
 */
#ifndef EBEAM_PROBE_KEEPER_H
#define EBEAM_PROBE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct keeper;
struct keeper_change;
struct attach;
struct calibration;
struct meter_counters;

struct keeper_config {
	struct attach *attach;		/* borrowed */
	const struct calibration *cost; /* borrowed */
	int os_pid;
	double percent;	  /* of the node's own CPU; 100 or more = no limit, only measures */
	bool long_runs;	  /* programs walk stacks, or copy terms */
	bool no_realtime; /* its thread waits its turn, as all do */
};

/* What the probes took so far. */
struct keeper_cost {
	bool known;
	uint64_t hits;
	uint64_t spent_ns; /* of the node's CPU, and what it took to switch them */
	uint64_t own_ns;   /* CPU that the node used beside what the probes took of it */
	double factor;	   /* what a hit costs there: what it cost when it was calibrated */
};

/* Before there are probes: how busy the node is without is measured from here on.
 * ERROR_KIND_FAILED. */
int keeper_open(struct keeper **out, const struct keeper_config *config, struct error *err);
/* Another limit, and one of hits a second and scheduler, each of which is thought to cost hit_ns
 * until some were measured; before keeper_start(). */
void keeper_limit(struct keeper *k, double percent, unsigned int rate, double hit_ns);
/* Puts all groups on, and those off again at once that cost too much.  The attach is the keeper's
 * alone until keeper_stop().  `work`: of the node.  Errors as attach_on(). */
int keeper_start(struct keeper *k, const struct meter_counters *work, struct error *err);
/* Ends the thread; groups stay as they are. */
void keeper_stop(struct keeper *k);
void keeper_close(struct keeper *k); /* NULL ok; stops it too */

/* Changes in order of time, those up to until_ns; false = no more.  Writes what the thread has to
 * log, too. */
bool keeper_next(struct keeper *k, uint64_t until_ns, struct keeper_change *out);
void keeper_cost(struct keeper *k, struct keeper_cost *out);
/* The part of spent_ns that a group of the attach took. */
uint64_t keeper_group_ns(struct keeper *k, unsigned int group);

#endif
