/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes take of a node: hits as the kernel counts them, times what the traps cost on this
 * host, plus what the programs ran by the clock, corrected by what the node's CPU time shows
 * (cost_fit.h); and the CPU of ebeam's threads that put probes on and off, in which the kernel has
 * the node's other CPUs wait.  Beside it what the node did: CPU of its own, and work as it counts
 * that itself.  Pure logic: it is told what was read (meter.h).
 */
#ifndef EBEAM_PROBE_TALLY_H
#define EBEAM_PROBE_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach/attach.h"
#include "probe/limit/budget.h"
#include "probe/limit/cost_fit.h"

/* The least run time of a program that was seen so many times last counts: at times it is
 * preempted. */
#define TALLY_RUNS 8

/* Since tally_start(). */
struct tally_total {
	uint64_t hits;
	double probes_ns; /* that probes took of the node's CPU */
	double spent_ns;  /* with what it took to switch them, which is CPU of ebeam */
	double own_ns;	  /* CPU of the node without what probes took; never falls */
	double work;
	double factor; /* true cost: calibrated cost */
};

/* Since the last time. */
struct tally_step {
	double wall_ns, own_ns, spent_ns;
	/* Of each group, parts of spent_ns: while its events came, and while its probes were hit
	 * for nothing: before and after that. */
	double cost_ns[BUDGET_MAX_SOURCES], tail_ns[BUDGET_MAX_SOURCES];
};

/* Clocks, the first three in ns: now, CPU of the node, CPU of ebeam for switching; and the node's
 * own count of its work. */
struct tally_clocks {
	uint64_t at_ns, node_ns, switch_ns;
	double work; /* negative = could not be read */
};

struct tally {
	struct {
		struct attach_hits seen;
		double run_ns[TALLY_RUNS]; /* of one hit */
		unsigned int nr_runs;
		struct attach_hits few;	 /* seen since the last of them */
		double cost_ns, tail_ns; /* as calibrated, since the last step */
	} groups[BUDGET_MAX_SOURCES];
	unsigned int nr;
	double most_run_ns;
	struct tally_clocks start, last;
	/* In which nothing was switched. */
	struct {
		double calibrated_ns, work;
		uint64_t node_ns, at_ns;
	} stretch;
	struct cost_fit fit;
	struct tally_total total;
};

/* Counts from here on.  No program runs for longer than most_run_ns, unless it is preempted. */
void tally_start(struct tally *t, unsigned int nr, double most_run_ns,
		 const struct tally_clocks *now);
/* What a group's programs did before. */
void tally_skip(struct tally *t, unsigned int group, const struct attach_hits *now);
/* What they did up to now, since the last time; `listening`: its events came all that time. */
void tally_hits(struct tally *t, unsigned int group, const struct attach_hits *now, bool listening);
/* After those. */
void tally_step(struct tally *t, const struct tally_clocks *now, struct tally_step *out);
/* After that: something is going to be switched, which ends a stretch of the fit. */
void tally_switches(struct tally *t);
/* What it took to switch probes so far does not count. */
void tally_forget_switches(struct tally *t, uint64_t switch_ns);
/* What the node has done since tally_start(), of a count read now; what it was if negative. */
double tally_work(const struct tally *t, double work);

#endif
