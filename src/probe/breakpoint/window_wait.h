/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many reductions a thread did in a window before its first hit.  Two clocks tell, both badly:
 * the thread's CPU time holds what that hit took, which is several times a usual hit, and more
 * on a host whose CPUs are overloaded; positions are only known to a slice.  Both are too large,
 * so the smaller one counts; but where one slice is all that positions allow, and time suggests
 * more, or no more than such a hit takes, there may have been no wait at all.  What is not known is
 * then half of the time between two hits: right within half a hit, however they are spread.
 */
#ifndef EBEAM_PROBE_WINDOW_WAIT_H
#define EBEAM_PROBE_WINDOW_WAIT_H

#include <stdint.h>

/* Of an entry. */
struct window_waits {
	uint32_t windows, waited; /* with hits; of these, with a wait for certain */
	double guessed; /* by how much of a hit waits may be wrong, of the hits of their windows */
};

struct window_first_hit {
	double ns;	     /* CPU time of its thread since the window began */
	double hit_ns;	     /* what a hit takes on average */
	double reduction_ns; /* > 0 */
	double room;	     /* reductions since the slice began in which the window began */
	double between;	     /* reductions between two hits of the window */
	uint64_t hits;	     /* of the window */
};

/* At most `room`. */
double window_wait(struct window_waits *w, const struct window_first_hit *first);
/* How far off rates of hits may be, all in one direction, by waits that are not known: a share. */
double window_wait_error(const struct window_waits *w);

#endif
