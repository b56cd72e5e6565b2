/* SPDX-License-Identifier: BSD-2-Clause */
/* See gap_estimate.h. */
#include "probe/gap_estimate.h"

#include <math.h>

#include "base/random.h"

/* Gaps differ from one another, too, not only the windows that stand for them: by less, as they are
 * longer.  Of loads with bursts (unit tests). */
#define OF_GAPS 0.3

void gap_estimate_add(struct gap_estimate *e, double gap_ns, uint64_t hits, double on_ns, bool cut)
{
	double rate, off;

	if (on_ns <= 0)
		return;
	rate = (double)(hits - (cut && hits)) / on_ns;
	off = rate - e->mean;
	e->windows++;
	e->cut += cut;
	e->mean += off / e->windows;
	e->spread += off * (rate - e->mean);
	e->missed += rate * gap_ns;
	e->squares += gap_ns * gap_ns;
}

double gap_estimate_missed(const struct gap_estimate *e, double open_ns, double *error)
{
	double variance = e->windows > 1 ? e->spread / (e->windows - 1) : e->mean * e->mean;

	*error = NORMAL_95 * sqrt((1 + OF_GAPS) * variance * (e->squares + open_ns * open_ns));
	return e->missed + e->mean * open_ns;
}
