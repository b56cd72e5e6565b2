/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many calls were missed while a breakpoint was off.  Windows in which it is on end as its hits
 * are spent, in a burst of calls of all times: their length depends on what is counted, and calls
 * by their time would be far too few.  But when it goes on again depends on nothing that is
 * counted, so the rate at the beginning of a window stands for the gap before it.  What is seen
 * counts as it is; calls of a gap are its length times that rate.
 *
 * A window that its hits cut short tells the rate until then.  Where calls come in bursts of more
 * than that it may be far from the rate of a whole window, and most often is too little.
 */
#ifndef EBEAM_PROBE_GAP_ESTIMATE_H
#define EBEAM_PROBE_GAP_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct gap_estimate {
	double missed;	     /* calls of gaps whose window was seen */
	double squares;	     /* of lengths of these gaps, ns */
	double mean, spread; /* of the rates, calls a ns; sum of squared differences (Welford) */
	uint32_t windows, cut;
};

/* A window that began after a gap (0 = none) of gap_ns of the thread's CPU time: so many hits in
 * its first on_ns.  `cut`: with the last of them its hits were spent (else the time was up); that
 * hit tells when the window ended, not how many calls there are. */
void gap_estimate_add(struct gap_estimate *e, double gap_ns, uint64_t hits, double on_ns, bool cut);

/* Calls that were missed, gaps of open_ns with them whose window is still to come; and what that
 * may be wrong by (95 %). */
double gap_estimate_missed(const struct gap_estimate *e, double open_ns, double *error);

#endif
