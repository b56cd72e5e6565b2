/* SPDX-License-Identifier: BSD-2-Clause */
/* See gap_estimate.h. */
#include "probe/breakpoint/gap_estimate.h"

#include <math.h>

#include "base/random.h"

/* The rate in a gap varies, too, not only that in the window after it, but less, as gaps are
 * longer: this part of the variance of windows is added for it.  Found by loads with bursts (unit
 * tests). */
#define OF_GAPS 0.3

void gap_estimate_add(struct gap_estimate *e, double gap, uint64_t hits, double length, bool cut)
{
	double rate, off;

	if (length <= 0)
		return;
	rate = (double)(hits - (cut && hits)) / length;
	off = rate - e->mean;
	e->windows++;
	e->mean += off / e->windows;
	e->spread += off * (rate - e->mean);
	e->missed += rate * gap;
	e->gaps += gap;
	e->squares += gap * gap;
}

double gap_estimate_missed(const struct gap_estimate *e, double open, double *error)
{
	double variance = e->windows > 1 ? e->spread / (e->windows - 1) : e->mean * e->mean;
	double sum = (1 + OF_GAPS) * variance * (e->squares + open * open);

	*error = e->windows ? student_95(e->windows - 1) * sqrt(sum) : 0;
	return e->missed + e->mean * open;
}
