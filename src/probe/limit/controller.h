/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overhead controller: keeps the probes of a run within a budget, in a thread of its own:
 * whoever reads the events may be slow, or stuck in a write, and the node must not pay for that.
 *
 * It wakes up every 10 or 20 ms, and when sampling windows begin or end (duty_cycle.h).  If the
 * node was busy enough since to matter it reads how often each group of probes was hit, and what
 * that took of the node's CPU (hit_account.h).  The token bucket (budget.h) decides which may be
 * enabled then: all the time, or in sampling windows, which lie within each other.  What it takes
 * to switch probes is part of the cost, but not that of putting them there first and taking them
 * away last.
 */
#ifndef EBEAM_PROBE_CONTROLLER_H
#define EBEAM_PROBE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct controller;
struct controller_change;
struct attach;
struct calibration;
struct meter_counters;

struct controller_config {
	struct attach *attach;		/* borrowed */
	const struct calibration *cost; /* borrowed */
	int os_pid;
	double percent;	  /* of the node's own CPU; 100 or more = no limit, only measures */
	bool long_runs;	  /* programs walk stacks, or copy terms */
	bool no_realtime; /* its thread waits its turn, as all do */
};

/* What the probes took so far. */
struct controller_cost {
	bool known;
	uint64_t hits;
	uint64_t spent_ns; /* of the node's CPU, and what it took to switch them */
	uint64_t own_ns;   /* CPU that the node used beside what the probes took of it */
	double factor;	   /* what a hit costs there: what it cost when it was calibrated */
};

/* Before there are probes: how busy the node is without is measured from here on.
 * ERROR_KIND_FAILED. */
int controller_open(struct controller **out, const struct controller_config *config,
		    struct error *err);
/* Another limit, and one of hits a second and scheduler, each of which is thought to cost hit_ns
 * until some were measured; before controller_start(). */
void controller_limit(struct controller *c, double percent, unsigned int rate, double hit_ns);
/* Puts all groups on, and those off again at once that cost too much.  The attach belongs to the
 * controller until controller_stop().  `work`: of the node.  Errors as attach_on(). */
int controller_start(struct controller *c, const struct meter_counters *work, struct error *err);
/* Ends the thread; groups stay as they are. */
void controller_stop(struct controller *c);
void controller_close(struct controller *c); /* NULL ok; stops it too */

/* Changes in order of time, those up to until_ns; false = no more.  Writes what the thread has to
 * log, too. */
bool controller_next(struct controller *c, uint64_t until_ns, struct controller_change *out);
void controller_cost(struct controller *c, struct controller_cost *out);
/* The part of spent_ns that a group of the attach took. */
uint64_t controller_group_ns(struct controller *c, unsigned int group);

#endif
