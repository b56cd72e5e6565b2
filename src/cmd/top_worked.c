/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_worked.h. */
#include "cmd/top_worked.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/sched_work.h"

/* Readings that are kept: a window has fewer frames. */
#define KEPT 64

struct reading {
	uint64_t at_ns; /* 0 = none */
	struct sched_clock_read *clocks;
};

struct top_worked {
	struct sched_work *work;
	uint32_t nr;
	struct reading kept[KEPT];
	unsigned int next;
};

static const struct reading *read_clocks(struct top_worked *w)
{
	struct reading *r = &w->kept[w->next++ % KEPT];

	if (!r->clocks)
		r->clocks = xcalloc(w->nr, sizeof(*r->clocks));
	r->at_ns = clock_monotonic_ns();
	for (uint32_t i = 0; i < w->nr; i++)
		sched_work_clock(w->work, i, &r->clocks[i]);
	return r;
}

struct top_worked *top_worked_open(struct beam_node *n)
{
	struct top_worked *w = xcalloc(1, sizeof(*w));
	uint32_t normal;

	if (sched_work_open(&w->work, n, n->mem) != 0) {
		free(w);
		return NULL;
	}
	sched_work_all(w->work, &w->nr, &normal);
	read_clocks(w);
	return w;
}

void top_worked_close(struct top_worked *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < KEPT; i++)
		free(w->kept[i].clocks);
	sched_work_close(w->work);
	free(w);
}

/* The one nearest to where the window begins. */
static const struct reading *reading_at(const struct top_worked *w, const struct reading *now,
					uint64_t ns)
{
	const struct reading *best = NULL;
	uint64_t best_off = UINT64_MAX;

	for (unsigned int i = 0; i < KEPT; i++) {
		const struct reading *r = &w->kept[i];
		uint64_t off = r->at_ns > ns ? r->at_ns - ns : ns - r->at_ns;

		if (r->at_ns && r != now && off < best_off) {
			best = r;
			best_off = off;
		}
	}
	return best;
}

static double share_of(const struct sched_clock_read *from, const struct sched_clock_read *to)
{
	if (!from->known || !to->known || from->start_ns != to->start_ns ||
	    to->working_ns < from->working_ns || to->at_ns <= from->at_ns)
		return NAN;
	return (double)(to->working_ns - from->working_ns) / (double)(to->at_ns - from->at_ns);
}

/* A time slice that lasts is work, at least so much of the window; 0 = none does. */
static double held_share(const struct top_frame *f, const struct top_scheduler *s)
{
	return MIN((double)s->at_least_ns / (f->window_s * 1e9), 1.0);
}

void top_worked_give(struct top_worked *w, struct top_frame *f)
{
	const struct reading *now = read_clocks(w), *from;
	const struct sched_worker *all;
	uint32_t nr, normal;

	if (isnan(f->window_s))
		return;
	from = reading_at(w, now, now->at_ns - (uint64_t)(f->window_s * 1e9));
	all = sched_work_all(w->work, &nr, &normal);
	for (uint32_t i = 0; from && i < nr; i++) {
		struct top_scheduler *s = top_frame_scheduler(f, all[i].type, all[i].number);

		if (s)
			top_scheduler_worked(s, fmax(share_of(&from->clocks[i], &now->clocks[i]),
						     held_share(f, s)));
	}
}
