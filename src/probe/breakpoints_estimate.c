/* SPDX-License-Identifier: BSD-2-Clause */
/* Of breakpoints.h: what was seen of all calls. */
#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "probe/breakpoints_internal.h"
#include "probe/budget.h"

/* So much of a window, of its thread's time, tells the rate of calls. */
#define WINDOW_NS 10000000u

/* What tracing surely took: what a hit costs is known on average.  And of the time in which an
 * entry is watched so much at least is the threads' own. */
#define SURE_PART  0.7
#define LEAST_PART 0.1

/* Of so long that it was on, and so many hits, the thread had that for itself.  Hits of places of
 * return, too: as many for each of an entry. */
static double own_time(const struct breakpoints *b, uint64_t on_ns, uint64_t hits)
{
	double entries = 0, taken = SURE_PART * b->hit_ns * (double)hits;

	for (unsigned int i = 0; i < EBEAM_CALL_FUNCTIONS; i++)
		entries += (double)b->entries[i].hits;
	if (entries > 0)
		taken *= (double)b->state.hits / entries;
	return MAX((double)on_ns - taken, LEAST_PART * (double)on_ns);
}

void breakpoints_tick_entry(struct breakpoints *b, struct watched_thread *t, unsigned int i,
			    uint64_t used_ns)
{
	struct entry_use *use = entry_use(b, i);
	struct armed *a = &t->armed[i];
	bool spent = is_spent(a);

	if (spent) {
		double off_ns = (double)used_ns - (double)(a->on_ns - a->ticked_ns);

		a->off_ns += off_ns;
		use->off_ns += off_ns;
	}
	a->ticked_ns = a->on_ns;
	if (!a->fresh || a->fd < 0 || (!spent && a->on_ns < WINDOW_NS))
		return;
	gap_estimate_add(&use->gaps, a->gap_ns, a->hits, own_time(b, a->on_ns, a->hits), spent);
	a->fresh = false;
	a->gap_ns = 0;
}

/* What was off and has not come on since. */
static double open_ns(const struct breakpoints *b, unsigned int entry)
{
	double ns = 0;

	for (size_t k = 0; k < b->threads.len; k++) {
		for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
			const struct armed *a = &b->threads.data[k].armed[i];

			if (b->places[i].addr && b->places[i].point.kind != CALL_KIND_RETURN &&
			    b->places[i].point.point == entry)
				ns += MAX(a->gap_ns + a->off_ns, 0.0);
		}
	}
	return ns;
}

static void estimate(const struct breakpoints *b, struct breakpoints_state *out)
{
	double hits = 0, missed = 0, square = 0, on = 0, off = 0, windows = 0, cut = 0, error;

	for (unsigned int i = 0; i < EBEAM_CALL_FUNCTIONS; i++) {
		const struct entry_use *use = &b->entries[i];

		hits += (double)use->hits;
		missed += gap_estimate_missed(&use->gaps, open_ns(b, i), &error);
		square += error * error;
		on += (double)use->on_ns;
		off += use->off_ns;
		windows += use->gaps.windows;
		cut += use->gaps.cut;
	}
	out->time = on + off > 0 ? on / (on + off) : 1;
	out->share = hits > 0 ? hits / (hits + missed) : 1;
	out->error = hits > 0 ? sqrt(square) / (hits + missed) : 0;
	out->cut = windows > 0 ? cut / windows : 0;
}

void breakpoints_state(const struct breakpoints *b, struct breakpoints_state *out)
{
	double wall_ns = (double)(clock_monotonic_ns() - b->opened_ns), of;

	*out = b->state;
	out->hit_ns = b->hit_ns;
	estimate(b, out);
	for (unsigned int i = 0; i < EBEAM_CALL_FUNCTIONS; i++)
		out->on_ns += b->entries[i].on_ns;
	out->cost_of_core = (double)b->cpu_ns < BUDGET_MIN_BUSY * wall_ns;
	of = out->cost_of_core ? wall_ns : (double)b->cpu_ns;
	out->cost = of > 0 ? 100.0 * (double)b->state.hits * b->hit_ns / of : 0;
}
