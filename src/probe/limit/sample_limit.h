/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what samples cost a node below a share of its own CPU time, by taking fewer of them.  Pure
 * logic: it is given what was used so far, and returns a weight: how many samples at the original
 * frequency one sample is to stand for.  The weight is 1 at first, doubles as long as samples cost
 * too much, and never falls.
 */
#ifndef EBEAM_PROBE_SAMPLE_LIMIT_H
#define EBEAM_PROBE_SAMPLE_LIMIT_H

#include <stdbool.h>

/* Sums since sampling began, ns. */
struct sample_clocks {
	double spent_ns; /* CPU of the node that samples took */
	double own_ns;	 /* other CPU of the node */
	double wall_ns;
};

struct sample_limit {
	double percent; /* of own_ns; see budget_share() */
	unsigned int weight, max_weight;
	struct sample_clocks judged; /* as of the last decision */
	/* Reason of the weight: what samples cost in the last span, or so far if that was too much;
	 * what they may cost; and whether both are percent of a core (budget_share()). */
	double share, allowed;
	bool of_core;
};

/* freq: in Hz; each CPU is sampled at least once a second. */
void sample_limit_init(struct sample_limit *l, double percent, unsigned int freq);
/* True if the weight has changed.  Decides only when the node has used enough CPU since the last
 * decision for clocks with ticks of 10 ms. */
bool sample_limit_step(struct sample_limit *l, const struct sample_clocks *now);

/* True if the overhead so far is more than what is allowed; sets share, allowed and of_core. */
bool sample_limit_is_over(struct sample_limit *l, const struct sample_clocks *now);

#endif
