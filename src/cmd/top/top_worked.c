/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_worked.h. */
#include "cmd/top/top_worked.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/sched/sched.h"
#include "beam/sched/sched_work.h"
#include "target/proc.h"

/* Readings of counters that are kept: more than a window has frames. */
#define KEPT 64

struct reading {
	uint64_t at_ns; /* 0 = none */
	struct sched_clock_read *clocks;
	struct proc_thread_times *times; /* of the schedulers' threads; zeros = not known */
};

struct top_worked {
	struct sched_work *work;
	const struct sched_worker *all;
	uint32_t nr;
	int os_pid, *os_tids; /* 0 = not known */
	struct reading kept[KEPT];
	unsigned int next;
};

static const struct reading *read_clocks(struct top_worked *w)
{
	struct reading *r = &w->kept[w->next++ % KEPT];

	if (!r->clocks)
		r->clocks = xcalloc(w->nr, sizeof(*r->clocks));
	if (!r->times)
		r->times = xcalloc(w->nr, sizeof(*r->times));
	r->at_ns = clock_monotonic_ns();
	for (uint32_t i = 0; i < w->nr; i++) {
		sched_work_clock(w->work, i, &r->clocks[i]);
		if (!w->os_tids[i] ||
		    proc_thread_times_read(&r->times[i], w->os_pid, w->os_tids[i]) != 0)
			r->times[i] = (struct proc_thread_times){0};
	}
	return r;
}

static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	struct top_worked *w = arg;

	for (uint32_t i = 0; i < w->nr; i++)
		if (w->all[i].type == type && w->all[i].number == number)
			w->os_tids[i] = os_tid;
}

struct top_worked *top_worked_open(struct beam_node *n)
{
	struct top_worked *w = xcalloc(1, sizeof(*w));
	struct error ignored;
	uint32_t normal;

	if (sched_work_open(&w->work, n, n->mem) != 0) {
		free(w);
		return NULL;
	}
	w->all = sched_work_all(w->work, &w->nr, &normal);
	w->os_pid = n->os_pid;
	w->os_tids = xcalloc(w->nr + 1, sizeof(*w->os_tids));
	sched_find_tids(n->os_pid, found_thread, w, &ignored);
	read_clocks(w);
	return w;
}

void top_worked_close(struct top_worked *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; i < KEPT; i++) {
		free(w->kept[i].clocks);
		free(w->kept[i].times);
	}
	free(w->os_tids);
	sched_work_close(w->work);
	free(w);
}

/* The reading nearest to ns, the begin of the window; not `now`. */
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

/* The share of the window that the scheduler's current time slice has at least lasted; 0 = none. */
static double held_share(const struct top_frame *f, const struct top_scheduler *s)
{
	return MIN((double)s->at_least_ns / (f->window_s * 1e9), 1.0);
}

/* The share of work if the scheduler had got a CPU whenever it waited for one: waiting counts as
 * work and as busy waiting in the same proportion as the time on a CPU.  NAN = not known. */
static double starved_share(const struct top_scheduler *s, const struct proc_thread_times *from,
			    const struct proc_thread_times *to, uint64_t ns)
{
	double work = top_scheduler_work(s), spins = s->share[TOP_SHARE_BUSY_WAIT];

	if (!s->known || !from->cpu_ns || to->wait_ns < from->wait_ns || !ns || work <= 0)
		return NAN;
	return work + (double)(to->wait_ns - from->wait_ns) / (double)ns * work / (work + spins);
}

/* The share of work of scheduler i, by other means than samples; NAN = not known. */
static double worked_share(const struct top_frame *f, const struct top_scheduler *s,
			   const struct reading *from, const struct reading *now, uint32_t i)
{
	double counted = share_of(&from->clocks[i], &now->clocks[i]);

	if (isnan(counted))
		counted =
			starved_share(s, &from->times[i], &now->times[i], now->at_ns - from->at_ns);
	return fmax(counted, held_share(f, s));
}

void top_worked_give(struct top_worked *w, struct top_frame *f)
{
	const struct reading *now = read_clocks(w), *from;

	if (isnan(f->window_s))
		return;
	from = reading_at(w, now, now->at_ns - (uint64_t)(f->window_s * 1e9));
	for (uint32_t i = 0; from && i < w->nr; i++) {
		struct top_scheduler *s = top_frame_scheduler(f, w->all[i].type, w->all[i].number);

		if (s)
			top_scheduler_worked(s, worked_share(f, s, from, now, i));
	}
}
