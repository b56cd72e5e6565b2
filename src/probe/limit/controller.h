/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overhead controller: a thread that keeps the cost of the probes of a run within a budget.  It
 * is a thread of its own because the one that reads events may be slow, or block in a write, and
 * the node must not pay for that.
 *
 * It wakes up every 10 or 20 ms, and when sampling windows begin or end (duty_cycle.h).  If the
 * node has used enough CPU since to matter it reads how often each group of probes was hit, and the
 * CPU time that cost the node (hit_account.h).  The token bucket (budget.h) decides which groups
 * are enabled then: all the time, or in sampling windows, which lie within each other.  Attaching
 * and detaching is part of the cost, except at the beginning and the end of the run.
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
	bool long_runs;	   /* programs walk stacks, or copy terms */
	bool long_windows; /* of struct budget */
	bool no_realtime;  /* its thread keeps normal priority */
};

/* What the probes cost so far. */
struct controller_cost {
	bool known;
	uint64_t hits;
	uint64_t spent_ns; /* ns of the node's CPU, and of ebeam's for attaching and detaching */
	uint64_t own_ns;   /* CPU of the node without what the probes took */
	double factor;	   /* cost of a hit in the node: as calibrated, times this */
};

/* To be called before probes are attached: measures from here on how busy the node is without them.
 * ERROR_KIND_FAILED. */
int controller_open(struct controller **out, const struct controller_config *config,
		    struct error *err);
/* Before controller_start(): sets the limits.  percent: of the node's own CPU, 100 or more = none,
 * it only measures.  rate: hits a second of each scheduler (of each CPU if they are not known), 0 =
 * any number; a hit is taken to cost hit_ns until some were measured. */
void controller_limit(struct controller *c, double percent, unsigned int rate, double hit_ns);
/* Enables all groups, and disables those at once that cost too much.  The attach belongs to the
 * controller until controller_stop().  `work`: the node's counters of its work.  Errors as of
 * attach_on(). */
int controller_start(struct controller *c, const struct meter_counters *work, struct error *err);
/* Ends the thread; groups stay as they are. */
void controller_stop(struct controller *c);
void controller_close(struct controller *c); /* NULL ok; stops it too */

/* The next change up to until_ns, in order of time; false = no more.  Also writes the lines that
 * the thread has logged. */
bool controller_next(struct controller *c, uint64_t until_ns, struct controller_change *out);
void controller_cost(struct controller *c, struct controller_cost *out);
/* Part of spent_ns of a group of the attach. */
uint64_t controller_group_ns(struct controller *c, unsigned int group);

#endif
