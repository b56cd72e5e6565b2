/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What probes really cost a node.  A hit costs more there than in the calibration, as the kernel
 * displaces caches and branch predictors of the node.  So the calibrated cost is corrected by a
 * factor: while probes are enabled and disabled,
 *
 *	CPU time = a * work + factor * calibrated cost
 *
 * holds with the same a and factor, where work is counted by the node itself (reductions).  Pure
 * logic: weighted least squares with exponential decay.
 */
#ifndef EBEAM_PROBE_COST_FIT_H
#define EBEAM_PROBE_COST_FIT_H

/* Limits of the factor, as a node may behave oddly.  Hits do not cost less than calibrated: that
 * was the fastest of many rounds in which nothing else ran, and errors of measurement make them
 * look cheap. */
#define COST_FIT_LEAST 1.0
#define COST_FIT_MOST  5.0

struct cost_fit {
	double ww, wc, cc, wt, ct; /* sums of products: work, calibrated cost, CPU time */
	double nr;
};

/* Adds a stretch of time in which no probe was enabled or disabled; all >= 0. */
void cost_fit_add(struct cost_fit *f, double work, double calibrated_ns, double cpu_ns);
/* 1 as long as it cannot be known. */
double cost_fit_factor(const struct cost_fit *f);

#endif
