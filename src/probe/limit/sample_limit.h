/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what samples cost a node below a share of its own CPU, by taking fewer of them.  Pure
 * logic: it gets what was used so far, and answers how many samples of the first frequency one
 * is to stand for: 1, and a power of two once they cost too much.  It does not go back.
 */
#ifndef EBEAM_PROBE_SAMPLE_LIMIT_H
#define EBEAM_PROBE_SAMPLE_LIMIT_H

#include <stdbool.h>

/* All since sampling began, in ns. */
struct sample_clocks {
	double spent_ns; /* of the node's CPU, by samples */
	double own_ns;	 /* CPU that the node used beside that */
	double wall_ns;
};

struct sample_limit {
	double percent; /* of own_ns; see budget_share() */
	unsigned int weight, max_weight;
	struct sample_clocks judged; /* up to here */
	/* Why the weight is what it is: what samples cost in the last span, or so far if that is
	 * what was too much; what they may cost, and of what. */
	double share, allowed;
	bool of_core;
};

/* freq: in Hz; one sample of a CPU in a second are taken at least. */
void sample_limit_init(struct sample_limit *l, double percent, unsigned int freq);
/* Is the weight another one now?  Judges nothing before the node used enough CPU since the last
 * time, so that clocks of 10 ms can tell. */
bool sample_limit_step(struct sample_limit *l, const struct sample_clocks *now);

#endif
