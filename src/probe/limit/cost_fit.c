/* SPDX-License-Identifier: BSD-2-Clause */
/* See cost_fit.h. */
#include "probe/limit/cost_fit.h"

#include "base/compiler.h"

#define FADE 0.98 /* factor by which older stretches count less with each new one */
/* What a fit needs: stretches, and a difference between them, as 1 - r^2 of work and cost. */
#define LEAST_STRETCHES 12.0
#define LEAST_SPREAD	0.02
/* If the cost of probes is a smaller part of the CPU time, noise hides it. */
#define LEAST_PART 0.02

void cost_fit_add(struct cost_fit *f, double work, double calibrated_ns, double cpu_ns)
{
	double weight;

	if (cpu_ns <= 0)
		return;
	/* The standard error of a stretch grows with the square root of its length. */
	weight = 1 / cpu_ns;
	f->ww = f->ww * FADE + weight * work * work;
	f->wc = f->wc * FADE + weight * work * calibrated_ns;
	f->cc = f->cc * FADE + weight * calibrated_ns * calibrated_ns;
	f->wt = f->wt * FADE + weight * work * cpu_ns;
	f->ct = f->ct * FADE + weight * calibrated_ns * cpu_ns;
	f->nr = f->nr * FADE + 1;
}

double cost_fit_factor(const struct cost_fit *f)
{
	double spread = f->ww * f->cc - f->wc * f->wc, factor;

	if (f->nr < LEAST_STRETCHES || f->ww <= 0 || f->cc <= 0 ||
	    spread < LEAST_SPREAD * f->ww * f->cc)
		return 1;
	/* Upper bound of the part of CPU time that cost explains. */
	if (f->cc < LEAST_PART * f->ct)
		return 1;
	factor = (f->ww * f->ct - f->wc * f->wt) / spread;
	return MIN(MAX(factor, COST_FIT_LEAST), COST_FIT_MOST);
}
