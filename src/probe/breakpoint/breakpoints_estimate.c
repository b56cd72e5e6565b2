/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates for breakpoints.h which part of all calls was seen. */
#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "probe/breakpoint/breakpoints_internal.h"
#include "probe/limit/budget.h"

/* The rate of calls is taken from the first part of a window, of this length in its thread's
 * time. */
#define WINDOW_NS 10000000u
/* Reductions that a process has done of its slice at an unknown moment, on average. */
#define HALF_SLICE (BEAM_CONTEXT_REDS / 2)
/* With fewer windows that began by chance than this, other windows are used as well. */
#define ENOUGH_WINDOWS 5
/* Relative error of the lengths of windows. */
#define UNSURE 0.02
/* Relative error of windows that did not begin by chance: they begin when a scheduler has just got
 * work, which is not typical of all that it does. */
#define UNSURE_OTHERS 0.5
/* Nine bursts in ten end before they last this many times as long as the part that was seen. */
#define BURST_GOES_ON 9

bool breakpoints_position(const struct breakpoints *b, struct watched_thread *t)
{
	t->in_process = false;
	if (!b->config.reductions || !t->scheduler ||
	    !b->config.reductions(b->config.arg, t->scheduler, &t->position, &t->in_process))
		return false;
	if (!t->first_position) {
		t->first_position = t->position;
		t->first_used_ns = t->used_ns;
	}
	return true;
}

/* Reads the first and the last hit of the current window; false if they are not known. */
static bool window_hits(const struct breakpoints *b, const struct watched_thread *t, unsigned int i,
			struct call_site_hit *hit)
{
	return t->armed[i].hits && breakpoints_site_hit(b, t, i, hit) &&
	       hit->first.reductions >= t->armed[i].on &&
	       hit->last.reductions >= hit->first.reductions;
}

void breakpoints_spent(const struct breakpoints *b, struct watched_thread *t, unsigned int i)
{
	struct call_site_hit hit;

	if (t->armed[i].off || !t->position || is_return_site(b, i))
		return;
	t->armed[i].off = window_hits(b, t, i, &hit) ? hit.last.reductions : t->position;
}

/* CPU time of one reduction of a thread, ns; 0 = not known. */
static double reduction_ns(const struct breakpoints *b, const struct watched_thread *t)
{
	double used = (double)(t->used_ns - t->first_used_ns) - (double)t->hits * b->hit_ns;

	if (t->position <= t->first_position || used <= 0)
		return 0;
	return used / (double)(t->position - t->first_position);
}

/* Position at which a window began: `first` is its first hit, with first->on_ns, the thread's
 * time since the window began.  In that time the process may have done a part of its slice
 * (window_wait.h).  `between`: reductions between two hits. */
static double window_begin(const struct breakpoints *b, const struct watched_thread *t,
			   const struct armed *a, const struct call_moment *first, double between,
			   struct window_waits *waits)
{
	const struct window_first_hit hit = {
		.ns = (double)first->on_ns,
		.hit_ns = (double)b->hit_ns,
		.reduction_ns = reduction_ns(b, t),
		.room = (double)(first->reductions - a->on),
		.between = between,
		.hits = a->hits,
	};

	if (!a->in_process || hit.reduction_ns <= 0)
		return (double)a->on;
	return (double)first->reductions - window_wait(waits, &hit);
}

/* Length of a window in reductions, not in time: a hit uses no reductions, but takes many times as
 * long as the function that is called.  *begin: position at which it began. */
static double window_length(const struct breakpoints *b, const struct watched_thread *t,
			    unsigned int i, struct window_waits *waits, double *begin)
{
	const struct armed *a = &t->armed[i];
	double end = (double)t->position + (t->in_process ? HALF_SLICE : 0), between;
	struct call_site_hit hit;

	*begin = (double)a->on + (a->in_process ? HALF_SLICE : 0);
	if (window_hits(b, t, i, &hit)) {
		between = (double)(hit.last.reductions - hit.first.reductions);
		*begin = window_begin(b, t, a, &hit.first,
				      a->hits > 1 ? between / (double)(a->hits - 1) : 1, waits);
		end = is_spent(a) ? (double)hit.last.reductions
				  : MAX(end, (double)hit.last.reductions);
	}
	return MAX(end - *begin, (double)a->hits - is_spent(a));
}

void breakpoints_tick_entry(struct breakpoints *b, struct watched_thread *t, unsigned int i,
			    uint64_t used_ns)
{
	struct entry_use *use = entry_use(b, i);
	struct armed *a = &t->armed[i];
	bool spent = is_spent(a), was_on = !a->off;
	double begin, length, off_ns = (double)used_ns - (double)(a->on_ns - a->ticked_ns);

	if (spent || (a->begun && off_ns > 0))
		use->off_ns += off_ns;
	a->begun = false;
	if (spent) {
		breakpoints_spent(b, t, i);
		if (was_on && a->off > a->ticked) {
			use->last_hits += (double)(a->hits - a->ticked_hits);
			use->last_length += (double)(a->off - a->ticked);
		}
	}
	a->ticked_ns = a->on_ns;
	a->ticked_hits = a->hits;
	a->ticked = t->position;
	if (!a->fresh || a->fd < 0 || !a->on || (!spent && a->on_ns < WINDOW_NS))
		return;
	a->fresh = false;
	length = window_length(b, t, i, &use->waits, &begin);
	if (a->gap_from)
		a->gap += MAX(begin - (double)a->gap_from, 0.0);
	if (length <= 0)
		return;
	gap_estimate_add(a->by_chance ? &use->gaps : &use->others, a->by_chance ? a->gap : 0,
			 a->hits, length, spent);
	if (a->by_chance)
		a->gap = 0;
}

/* Reductions in which a site was off that gap_estimate_add() has not been given. */
static double open_gap_of(const struct watched_thread *t, const struct armed *a)
{
	if (a->off)
		return a->gap + (double)(t->position - MIN(a->off, t->position));
	if (a->fresh && a->gap_from)
		return a->gap + (double)(a->on - MIN(a->gap_from, a->on));
	return a->gap;
}

void breakpoints_keep_gap(struct breakpoints *b, struct watched_thread *t, unsigned int i)
{
	struct entry_use *use = entry_use(b, i);
	struct armed *a = &t->armed[i];

	if (use)
		use->carried += open_gap_of(t, a);
	a->gap = 0;
	a->off = a->gap_from = 0;
	a->fresh = false;
}

static double open_gap(const struct breakpoints *b, unsigned int entry)
{
	double gap = b->entries[entry].carried;

	for (size_t k = 0; k < b->threads.len; k++) {
		const struct watched_thread *t = &b->threads.data[k];

		for (unsigned int i = 0; i < EBEAM_BREAKPOINTS; i++) {
			if (b->sites[i].addr && !is_return_site(b, i) &&
			    b->sites[i].point.point == entry)
				gap += open_gap_of(t, &t->armed[i]);
		}
	}
	return gap;
}

/* How many calls of bursts may have been missed: hits are mostly spent in bursts, and how long a
 * burst goes on after that is not seen.  0 if calls before hits were spent are no more frequent
 * than at other times. */
static double unseen_of_bursts(const struct entry_use *use, double rate)
{
	if (use->last_length <= 0 || use->last_hits <= rate * use->last_length)
		return 0;
	return BURST_GOES_ON * (use->last_hits - rate * use->last_length);
}

/* True if slices last longer than a speed sample takes.  As positions are only known when slices
 * end, a window then begins in the process that runs after the one for which it was to begin. */
static bool is_slow(const struct breakpoints *b)
{
	for (size_t k = 0; k < b->threads.len; k++) {
		if (reduction_ns(b, &b->threads.data[k]) * BEAM_CONTEXT_REDS > BREAKPOINTS_SPEED_NS)
			return true;
	}
	return false;
}

/* Calls missed in gaps whose window measured the rate, and in open gaps at the average rate of all
 * windows.  *most: upper bound, as a call takes at least one reduction. */
static double missed_of(const struct breakpoints *b, unsigned int entry, double *error,
			double *most)
{
	const struct entry_use *use = &b->entries[entry];
	struct gap_estimate e = use->gaps;
	double unsure = UNSURE, open = open_gap(b, entry), missed;

	if (e.windows < ENOUGH_WINDOWS && use->others.windows) {
		e = use->others;
		e.missed += use->gaps.missed;
		e.squares += use->gaps.squares;
		e.gaps += use->gaps.gaps;
		unsure = UNSURE_OTHERS;
	}
	if (is_slow(b))
		unsure = UNSURE_OTHERS;
	*most = e.gaps + open;
	missed = MIN(gap_estimate_missed(&e, open, error), *most);
	*error +=
		(unsure + window_wait_error(&use->waits)) * missed + unseen_of_bursts(use, e.mean);
	return missed;
}

/* Errors of several entries are added up, not their squares: all entries may be enabled and
 * disabled together, so that the errors are not independent. */
static void estimate(const struct breakpoints *b, struct breakpoints_state *out)
{
	double missed = 0, most = 0, sum = 0, on = 0, off = 0, error, more, all;
	bool known = true;

	out->calls = 0;
	for (unsigned int i = 0; i < EBEAM_CALL_FUNCTIONS; i++) {
		const struct entry_use *use = &b->entries[i];

		out->calls += use->hits;
		missed += missed_of(b, i, &error, &more);
		sum += error;
		most += more;
		on += (double)use->on_ns;
		off += use->off_ns;
		known = known && (use->gaps.windows + use->others.windows || use->off_ns <= 0);
	}
	all = (double)out->calls + missed;
	out->time = on + off > 0 ? on / (on + off) : 1;
	out->share = !known ? 0 : all > 0 ? (double)out->calls / all : 1;
	out->error = all > 0 ? sum / all : 0;
	out->most = all > 0 ? ((double)out->calls + most) / all : 1;
}

void breakpoints_state(const struct breakpoints *b, struct breakpoints_state *out)
{
	double wall_ns = (double)(clock_monotonic_ns() - b->opened_ns), of;

	*out = b->state;
	for (size_t i = 0; i < b->threads.len; i++)
		out->most_hits = MAX(out->most_hits, b->threads.data[i].hits);
	out->hit_ns = b->hit_ns;
	estimate(b, out);
	out->cost_of_core = (double)b->cpu_ns < BUDGET_MIN_BUSY * wall_ns;
	of = out->cost_of_core ? wall_ns : (double)b->cpu_ns;
	out->cost = of > 0 ? 100.0 * (double)b->state.hits * b->hit_ns / of : 0;
}
