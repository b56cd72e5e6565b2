/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Estimates how many calls were missed while a breakpoint was off.  A window in which it is on ends
 * when its hits are spent, which is mostly in a burst of calls.  So the length of windows depends
 * on what is counted, and all hits divided by the length of all windows would be a rate that is far
 * too low.  But when the next window begins does not depend on calls, so the rate at its beginning
 * is an unbiased estimate for the gap before it.  Calls that were seen are counted; calls in a gap
 * are its length times that rate.
 *
 * Lengths are of any clock that hits do not move: for processes, reductions.
 */
#ifndef EBEAM_PROBE_GAP_ESTIMATE_H
#define EBEAM_PROBE_GAP_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct gap_estimate {
	double missed;	      /* calls in gaps whose window was measured */
	double gaps, squares; /* sums of the lengths of these gaps, and of their squares */
	double mean, spread;  /* of the rates: mean, and sum of squared differences (Welford) */
	uint32_t windows;
};

/* Adds a window that began after a gap (0 = none), with `hits` in its first `length`.  `cut`: the
 * last of these hits spent its limit (else the time was up); that hit marks the end of the window
 * and is not counted in its rate. */
void gap_estimate_add(struct gap_estimate *e, double gap, uint64_t hits, double length, bool cut);

/* Estimate of missed calls, with open gaps of the length `open` whose window is still to come;
 * *error: half width of the 95 % confidence interval. */
double gap_estimate_missed(const struct gap_estimate *e, double open, double *error);

#endif
