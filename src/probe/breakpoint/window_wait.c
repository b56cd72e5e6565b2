/* SPDX-License-Identifier: BSD-2-Clause */
/* See window_wait.h. */
#include "probe/breakpoint/window_wait.h"

#include "abi/config.h"
#include "base/compiler.h"

/* In usual costs of a hit, of which the first hit of a window costs several: if it came before
 * HITS_OF_NOTHING, there may have been no wait; if it came after MOST_OF_FIRST, which is more than
 * any first hit costs, there was one. */
#define HITS_OF_NOTHING 4
#define MOST_OF_FIRST	10
/* If calls are so rare that windows begin with a wait, at least one window in ONE_WAITS_IN shows
 * that for certain. */
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
	/* Whether there was a wait is not known: the other windows decide. */
	return ONE_WAITS_IN * w->waited < w->windows ? guess(w, first, waited) : waited;
}

double window_wait_error(const struct window_waits *w)
{
	return w->windows ? w->guessed / w->windows : 0;
}
