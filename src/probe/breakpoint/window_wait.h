/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many reductions a thread did in a window before its first hit.  There are two measures, both
 * too large: the thread's CPU time includes the cost of that hit, which is several times a usual
 * one and more on a host whose CPUs are overloaded; positions are exact only to a time slice.  So
 * the smaller one is used.  But where positions allow one slice only, and the time suggests more
 * than that, or no more than a first hit costs, there may have been no wait at all.  Then half of
 * the distance between two hits is used: right within half a hit, however hits are distributed.
 */
#ifndef EBEAM_PROBE_WINDOW_WAIT_H
#define EBEAM_PROBE_WINDOW_WAIT_H

#include <stdint.h>

/* Sums over the windows of an entry. */
struct window_waits {
	uint32_t windows, waited; /* with hits; of these, with a certain wait */
	double guessed;		  /* sum of errors of guessed waits, as part of the window's hits */
};

struct window_first_hit {
	double ns;     /* CPU time of the thread from the beginning of the window to the hit */
	double hit_ns; /* what a hit takes on average */
	double reduction_ns; /* > 0 */
	double room;	     /* upper bound: reductions since the window's slice began */
	double between;	     /* reductions between two hits of the window */
	uint64_t hits;	     /* of the window */
};

/* Reductions, at most `room`. */
double window_wait(struct window_waits *w, const struct window_first_hit *first);
/* Relative error of rates, all in one direction, by waits that were guessed. */
double window_wait_error(const struct window_waits *w);

#endif
