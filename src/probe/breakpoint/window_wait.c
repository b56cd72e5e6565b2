/* SPDX-License-Identifier: BSD-2-Clause */
/* See window_wait.h. */
#include "probe/breakpoint/window_wait.h"

#include "abi/config.h"
#include "base/compiler.h"

/* What takes less time than a few hits may have taken none. */
#define HITS_OF_NOTHING 4
/* A load that waits does so for certain in one window of so many, or more. */
#define ONE_WAITS_IN 4

double window_wait(struct window_waits *w, const struct window_first_hit *first)
{
	double waited = MIN(first->ns / first->reduction_ns, first->room);

	w->windows++;
	if (first->ns < HITS_OF_NOTHING * first->hit_ns)
		return MIN(waited, first->between);
	if (waited < first->room || first->room >= BEAM_CONTEXT_REDS) {
		w->waited++;
		return waited;
	}
	/* Not known: as the other windows say. */
	return ONE_WAITS_IN * w->waited < w->windows ? MIN(waited, first->between) : waited;
}
