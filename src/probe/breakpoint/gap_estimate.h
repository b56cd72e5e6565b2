/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many calls were missed while a breakpoint was off.  Windows in which it is on end as its hits
 * are spent, in a burst of calls of all times: their length depends on what is counted, and calls
 * by their length would be far too few.  But when it goes on again depends on nothing that is
 * counted, so the rate at the beginning of a window stands for the gap before it.  What is seen
 * counts as it is; calls of a gap are its length times that rate.
 *
 * Lengths are of any clock that a hit does not move: of processes, reductions.
 */
#ifndef EBEAM_PROBE_GAP_ESTIMATE_H
#define EBEAM_PROBE_GAP_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct gap_estimate {
	double missed;	      /* calls of gaps whose window was seen */
	double gaps, squares; /* of these gaps: sums of lengths, of their squares */
	double mean, spread;  /* of the rates; sum of squared differences (Welford) */
	uint32_t windows;
};

/* A window that began after a gap (0 = none): so many hits in its first `length`.  `cut`: with the
 * last of them its hits were spent (else the time was up); that hit tells when the window ended,
 * not how many calls there are. */
void gap_estimate_add(struct gap_estimate *e, double gap, uint64_t hits, double length, bool cut);

/* Calls that were missed, gaps of that length with them whose window is still to come; and what
 * that may be wrong by (95 %). */
double gap_estimate_missed(const struct gap_estimate *e, double open, double *error);

#endif
