/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many reductions a thread did in a window before its first hit (the wait).  There are two
 * measures, both too large: the thread's CPU time includes the cost of that hit, which is several
 * times a usual one and more on a host whose CPUs are overloaded; positions are known only when a
 * time slice ends.  So the smaller one is used.  But if the hit was in the slice in which the
 * window began, and the CPU time is more than the rest of the slice takes, or no more than a first
 * hit may cost, there may have been no wait at all.  Then half of the distance between two hits is
 * used, which is wrong by half a hit at most, however hits are distributed.
 */
#ifndef EBEAM_PROBE_WINDOW_WAIT_H
#define EBEAM_PROBE_WINDOW_WAIT_H

#include <stdint.h>

/* Sums over the windows of an entry. */
struct window_waits {
	uint32_t windows, waited; /* windows with hits; those of them with a certain wait */
	double guessed;		  /* sum of errors of guessed waits, each by hits of its window */
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
