/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes really cost a node.  A probe costs more there than where it was calibrated: what the
 * kernel does in between takes caches and branch predictors away from the node.  So the calibrated
 * cost is corrected by what is seen: while probes go on and off,
 *
 *	CPU time = a * work + factor * calibrated cost
 *
 * holds with the same a and factor, where work is counted by the node itself (reductions).  Pure
 * logic: least squares, in which what is long ago fades.
 */
#ifndef EBEAM_PROBE_COST_FIT_H
#define EBEAM_PROBE_COST_FIT_H

/* However odd a node behaves, its probes cost between these times what was calibrated: that was the
 * fastest of many rounds in which nothing else ran, and what is measured badly looks cheap. */
#define COST_FIT_LEAST 1.0
#define COST_FIT_MOST  5.0

struct cost_fit {
	double ww, wc, cc, wt, ct; /* sums of products: work, calibrated cost, CPU time */
	double nr;
};

/* One stretch of time in which nothing was switched; all >= 0. */
void cost_fit_add(struct cost_fit *f, double work, double calibrated_ns, double cpu_ns);
/* 1 as long as it cannot be known. */
double cost_fit_factor(const struct cost_fit *f);

#endif
