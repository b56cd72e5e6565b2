/* SPDX-License-Identifier: BSD-2-Clause */
/* See window_wait.h. */
#include "probe/breakpoint/window_wait.h"

#include "abi/config.h"
#include "base/compiler.h"

/* The first hit of a window costs several times a usual one.  A first hit sooner than a few usual
 * ones may have come at once; one later than any first hit takes came after a wait. */
#define HITS_OF_NOTHING 4
#define MOST_OF_FIRST	10
/* If a load waits at all before first hits, at least one window in so many shows that for
 * certain. */
#define ONE_WAITS_IN 4

static double guess(struct window_waits *w, const struct window_first_hit *first, double waited)
{
	if (first->hits)
		w->guessed += 0.5 / (double)first->hits;
	return MIN(waited, first->between / 2);
}

double window_wait(struct window_waits *w, const struct window_first_hit *first)
{
	double waited = MIN(first->ns / first->reduction_ns, first->room);

	w->windows++;
	if (first->ns < HITS_OF_NOTHING * first->hit_ns)
		return guess(w, first, waited);
	if (first->room >= BEAM_CONTEXT_REDS ||
	    (waited < first->room && first->ns >= MOST_OF_FIRST * first->hit_ns)) {
		w->waited++;
		return waited;
	}
	/* Not known: decided by how many of the other windows waited. */
	return ONE_WAITS_IN * w->waited < w->windows ? guess(w, first, waited) : waited;
}

double window_wait_error(const struct window_waits *w)
{
	return w->windows ? w->guessed / w->windows : 0;
}
