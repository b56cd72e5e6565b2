/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes cost a node: hits as the kernel counts them, times what a trap costs on this host,
 * plus the programs' run time by the clock, corrected by the node's CPU time (cost_fit.h); and the
 * CPU of ebeam's threads that attach and detach probes, for which the kernel has the node's other
 * CPUs wait.  Also what the node did meanwhile: its own CPU time, and its own count of its work.
 * Pure logic: it is given what was read (meter.h).
 */
#ifndef EBEAM_PROBE_HIT_ACCOUNT_H
#define EBEAM_PROBE_HIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/attach.h"
#include "probe/limit/budget.h"
#include "probe/limit/cost_fit.h"

/* The run time of a program is taken to be the least of HIT_ACCOUNT_RUNS recent ones, as in some of
 * them it was preempted. */
#define HIT_ACCOUNT_RUNS 8

/* Since hit_account_start(). */
struct hit_account_total {
	uint64_t hits;
	double probes_ns; /* CPU of the node that probes took */
	double spent_ns;  /* with ebeam's CPU for attaching and detaching */
	double own_ns;	  /* CPU of the node without probes; never decreases */
	double work;
	double factor; /* true cost / calibrated cost */
};

/* Since the last step. */
struct hit_account_step {
	double wall_ns, own_ns, spent_ns;
	/* Parts of spent_ns of each group: while it was enabled (cost), and before and after that,
	 * when its probes were hit without giving events (tail). */
	double cost_ns[BUDGET_MAX_SOURCES], tail_ns[BUDGET_MAX_SOURCES];
};

/* Clocks, the first three in ns: now, CPU of the node, CPU of ebeam for attaching and detaching;
 * and the node's own count of its work. */
struct hit_account_clocks {
	uint64_t at_ns, node_ns, switch_ns;
	double work; /* negative = could not be read */
};

struct hit_account {
	struct {
		struct attach_hits seen;
		double run_ns[HIT_ACCOUNT_RUNS]; /* run times of one hit */
		unsigned int nr_runs;
		struct attach_hits few;	 /* hits and run time that are not part of run_ns yet */
		double cost_ns, tail_ns; /* by calibration, since the last step */
	} groups[BUDGET_MAX_SOURCES];
	unsigned int nr;
	double most_run_ns;
	struct hit_account_clocks start, last;
	/* The current stretch, in which no probe is switched. */
	struct {
		double calibrated_ns, work;
		uint64_t node_ns, at_ns;
	} stretch;
	struct cost_fit fit;
	struct hit_account_total total;
};

/* Starts to count.  No run of a program takes longer than most_run_ns, unless it is preempted. */
void hit_account_start(struct hit_account *a, unsigned int nr, double most_run_ns,
		       const struct hit_account_clocks *now);
/* Hits of a group before this are not counted. */
void hit_account_skip(struct hit_account *a, unsigned int group, const struct attach_hits *now);
/* Adds a group's hits since the last call; `enabled`: its events came all that time. */
void hit_account_hits(struct hit_account *a, unsigned int group, const struct attach_hits *now,
		      bool enabled);
/* Call after hit_account_hits() of all groups. */
void hit_account_step(struct hit_account *a, const struct hit_account_clocks *now,
		      struct hit_account_step *out);
/* Call after hit_account_step() if probes are going to be switched: ends a stretch of the fit. */
void hit_account_switches(struct hit_account *a);
/* CPU for attaching and detaching so far does not count. */
void hit_account_forget_switches(struct hit_account *a, uint64_t switch_ns);
/* The node's work since hit_account_start().  `work`: the count, read now; negative = it cannot be
 * read, and the last known one is used. */
double hit_account_work(const struct hit_account *a, double work);

#endif
