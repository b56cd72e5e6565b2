/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes take of a node: hits as the kernel counts them, times what the traps cost on this
 * host, plus what the programs ran by the clock, corrected by what the node's CPU time shows
 * (cost_fit.h); and the CPU of ebeam's threads that put probes on and off, in which the kernel has
 * the node's other CPUs wait.  Beside it what the node did: CPU of its own, and work as it counts
 * that itself.  Pure logic: it gets what was read (meter.h).
 */
#ifndef EBEAM_PROBE_HIT_ACCOUNT_H
#define EBEAM_PROBE_HIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/attach.h"
#include "probe/limit/budget.h"
#include "probe/limit/cost_fit.h"

/* The least run time of a program that was seen so many times last counts: at times it is
 * preempted. */
#define HIT_ACCOUNT_RUNS 8

/* Since hit_account_start(). */
struct hit_account_total {
	uint64_t hits;
	double probes_ns; /* that probes took of the node's CPU */
	double spent_ns;  /* with what it took to switch them, which is CPU of ebeam */
	double own_ns;	  /* CPU of the node without what probes took; never falls */
	double work;
	double factor; /* true cost: calibrated cost */
};

/* Since the last time. */
struct hit_account_step {
	double wall_ns, own_ns, spent_ns;
	/* Of each group, parts of spent_ns: while its events came, and while its probes were hit
	 * for nothing: before and after that. */
	double cost_ns[BUDGET_MAX_SOURCES], tail_ns[BUDGET_MAX_SOURCES];
};

/* Clocks, the first three in ns: now, CPU of the node, CPU of ebeam for switching; and the node's
 * own count of its work. */
struct hit_account_clocks {
	uint64_t at_ns, node_ns, switch_ns;
	double work; /* negative = could not be read */
};

struct hit_account {
	struct {
		struct attach_hits seen;
		double run_ns[HIT_ACCOUNT_RUNS]; /* of one hit */
		unsigned int nr_runs;
		struct attach_hits few;	 /* seen since the last of them */
		double cost_ns, tail_ns; /* as calibrated, since the last step */
	} groups[BUDGET_MAX_SOURCES];
	unsigned int nr;
	double most_run_ns;
	struct hit_account_clocks start, last;
	/* In which nothing was switched. */
	struct {
		double calibrated_ns, work;
		uint64_t node_ns, at_ns;
	} stretch;
	struct cost_fit fit;
	struct hit_account_total total;
};

/* Counts from here on.  No program runs for longer than most_run_ns, unless it is preempted. */
void hit_account_start(struct hit_account *a, unsigned int nr, double most_run_ns,
		       const struct hit_account_clocks *now);
/* What a group's programs did before. */
void hit_account_skip(struct hit_account *a, unsigned int group, const struct attach_hits *now);
/* What they did up to now, since the last time; `enabled`: its events came all that time. */
void hit_account_hits(struct hit_account *a, unsigned int group, const struct attach_hits *now,
		      bool enabled);
/* After those. */
void hit_account_step(struct hit_account *a, const struct hit_account_clocks *now,
		      struct hit_account_step *out);
/* After that: something is going to be switched, which ends a stretch of the fit. */
void hit_account_switches(struct hit_account *a);
/* What it took to switch probes so far does not count. */
void hit_account_forget_switches(struct hit_account *a, uint64_t switch_ns);
/* What the node has done since hit_account_start(), of a count read now; what it was if
 * negative. */
double hit_account_work(const struct hit_account *a, double work);

#endif
