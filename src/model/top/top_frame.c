/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_frame.h. */
#include "model/top/top_frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define NAME(id, name) name,
static const char *const limit_names[] = {TOP_LIMITS(NAME)};
static const char *const memory_names[] = {TOP_MEMORIES(NAME)};
static const char *const rate_names[] = {TOP_RATES(NAME)};
static const char *const share_names[] = {TOP_SHARES(NAME)};
#undef NAME
static const char *const state_names[] = {"running", "stopped", "exited"};
_Static_assert(ARRAY_SIZE(state_names) == NR_TOP_STATES, "one each");

const char *top_limit_name(enum top_limit_kind kind)
{
	return limit_names[kind];
}

const char *top_memory_name(enum top_memory_kind kind)
{
	return memory_names[kind];
}

const char *top_rate_name(enum top_rate_kind kind)
{
	return rate_names[kind];
}

const char *top_share_name(enum top_share_kind kind)
{
	return share_names[kind];
}

const char *top_state_name(enum top_state state)
{
	return state_names[state];
}

/* ---- history ------------------------------------------------------------------------------- */

void top_ring_push(struct top_ring *r, double value)
{
	r->values[r->next] = (float)value;
	r->next = (r->next + 1) % TOP_HISTORY;
	if (r->nr < TOP_HISTORY)
		r->nr++;
}

uint32_t top_ring_copy(const struct top_ring *r, float *out, uint32_t max)
{
	uint32_t nr = r->nr < max ? r->nr : max;

	for (uint32_t i = 0; i < nr; i++)
		out[i] = r->values[(r->next + TOP_HISTORY - nr + i) % TOP_HISTORY];
	return nr;
}

static void push_count(struct top_ring *r, uint64_t value)
{
	top_ring_push(r, value == TOP_UNKNOWN ? (double)NAN : (double)value);
}

/* ---- what is known ------------------------------------------------------------------------- */

static void forget(uint64_t *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		values[i] = TOP_UNKNOWN;
}

static void forget_doubles(double *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		values[i] = NAN;
}

static void forget_limits(struct top_limit *limits)
{
	for (size_t i = 0; i < NR_TOP_LIMITS; i++)
		limits[i] = (struct top_limit){.count = TOP_UNKNOWN, .limit = TOP_UNKNOWN};
}

void top_totals_init(struct top_totals *t)
{
	*t = (struct top_totals){.os_cpu_ns = TOP_UNKNOWN, .os_rss = TOP_UNKNOWN};
	forget_limits(t->limits);
	forget(t->memory, NR_TOP_MEMORIES);
	forget(t->counters, NR_TOP_RATES);
}

void top_frame_init(struct top_frame *f)
{
	*f = (struct top_frame){
		.interval_s = NAN,
		.window_s = NAN,
		.run_queue = TOP_UNKNOWN,
		.os_cpu = NAN,
		.os_rss = TOP_UNKNOWN,
		.own_cpu = NAN,
		.own_rss = TOP_UNKNOWN,
		.probes_cost = NAN,
		.node.uptime_s = TOP_UNKNOWN,
	};
	forget_limits(f->limits);
	forget(f->memory, NR_TOP_MEMORIES);
	forget(f->run_queues, NR_TOP_QUEUES);
	forget_doubles(f->rates, NR_TOP_RATES);
	forget_doubles(f->work, NR_TOP_QUEUES);
	for (size_t i = 0; i < NR_TOP_QUEUES; i++)
		forget_doubles(f->shares[i], NR_TOP_SHARES);
}

void top_frame_free(struct top_frame *f)
{
	free(f->schedulers);
	top_frame_init(f);
}

/* ---- schedulers ---------------------------------------------------------------------------- */

/* The enum top_queue of a type of scheduler; -1 for other threads. */
static int queue_of(enum thread_type type)
{
	switch (type) {
	case THREAD_NORMAL:
		return TOP_QUEUE_NORMAL;
	case THREAD_DIRTY_CPU:
		return TOP_QUEUE_DIRTY_CPU;
	case THREAD_DIRTY_IO:
		return TOP_QUEUE_DIRTY_IO;
	default:
		return -1;
	}
}

static void forget_scheduler(struct top_scheduler *s)
{
	s->known = false;
	forget_doubles(s->share, NR_TOP_SHARES);
	s->run_queue = TOP_UNKNOWN;
	s->reductions = s->context_switches = s->gcs = NAN;
}

struct top_scheduler *top_frame_scheduler(struct top_frame *f, enum thread_type type,
					  uint16_t number)
{
	int queue = queue_of(type);
	uint32_t first = 0;

	if (queue < 0 || !number || number > f->nr_of_type[queue])
		return NULL;
	for (int q = 0; q < queue; q++)
		first += f->nr_of_type[q];
	return &f->schedulers[first + number - 1];
}

void top_frame_set_schedulers(struct top_frame *f, uint32_t normal, uint32_t dirty_cpu,
			      uint32_t dirty_io)
{
	static const enum thread_type types[NR_TOP_QUEUES] = {THREAD_NORMAL, THREAD_DIRTY_CPU,
							      THREAD_DIRTY_IO};
	const uint32_t of_type[NR_TOP_QUEUES] = {MIN(normal, TOP_SCHEDULERS_MAX),
						 MIN(dirty_cpu, TOP_SCHEDULERS_MAX),
						 MIN(dirty_io, TOP_SCHEDULERS_MAX)};
	uint32_t nr = of_type[0] + of_type[1] + of_type[2];
	struct top_scheduler *list = xcalloc(nr ? nr : 1, sizeof(*list)), *s = list;

	for (size_t t = 0; t < NR_TOP_QUEUES; t++) {
		for (uint32_t i = 1; i <= of_type[t]; i++, s++) {
			const struct top_scheduler *had =
				top_frame_scheduler(f, types[t], (uint16_t)i);

			if (had) {
				*s = *had;
				continue;
			}
			s->type = types[t];
			s->number = (uint16_t)i;
			forget_scheduler(s);
		}
	}
	free(f->schedulers);
	f->schedulers = list;
	f->nr_schedulers = nr;
	memcpy(f->nr_of_type, of_type, sizeof(of_type));
}

/* Least time that counts as held: about what two readings, a second apart, can show. */
#define HELD_NS 800000000u

bool top_frame_held(const struct top_frame *f, enum top_queue queue, struct top_held *out)
{
	*out = (struct top_held){.ns = UINT64_MAX};
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		const struct top_scheduler *s = &f->schedulers[i];

		if (queue_of(s->type) != (int)queue || s->offline || s->spare)
			continue;
		out->of++;
		if (s->at_least_ns < HELD_NS)
			continue;
		out->nr++;
		out->ns = MIN(out->ns, s->at_least_ns);
	}
	return f->state == TOP_RUNNING && out->nr &&
	       (queue == TOP_QUEUE_NORMAL || out->nr == out->of);
}

double top_scheduler_work(const struct top_scheduler *s)
{
	double work = 0;

	if (!s->known)
		return NAN;
	for (size_t i = 0; i < TOP_SHARE_BUSY_WAIT; i++)
		work += s->share[i];
	return work;
}

void top_scheduler_worked(struct top_scheduler *s, double worked)
{
	double missing;

	if (!s->known || isnan(worked))
		return;
	missing = MIN(worked, 1.0) - top_scheduler_work(s);
	missing = MIN(MAX(missing, 0.0), s->share[TOP_SHARE_WAITING]);
	s->share[TOP_SHARE_BLOCKED] += missing;
	s->share[TOP_SHARE_WAITING] -= missing;
}

void top_frame_sum_schedulers(struct top_frame *f)
{
	double sums[NR_TOP_QUEUES][NR_TOP_SHARES] = {{0}};
	uint32_t nr[NR_TOP_QUEUES] = {0};

	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		struct top_scheduler *s = &f->schedulers[i];
		int queue = queue_of(s->type);

		top_ring_push(&s->history, top_scheduler_work(s));
		if (queue < 0 || !s->known || s->offline)
			continue;
		nr[queue]++;
		for (size_t k = 0; k < NR_TOP_SHARES; k++)
			sums[queue][k] += s->share[k];
	}
	for (size_t q = 0; q < NR_TOP_QUEUES; q++) {
		f->work[q] = nr[q] ? 0 : NAN;
		for (size_t k = 0; k < NR_TOP_SHARES; k++) {
			f->shares[q][k] = nr[q] ? sums[q][k] / nr[q] : NAN;
			if (nr[q] && k < TOP_SHARE_BUSY_WAIT)
				f->work[q] += f->shares[q][k];
		}
	}
	top_ring_push(&f->work_history, f->work[TOP_QUEUE_NORMAL]);
}

void top_frame_forget_samples(struct top_frame *f)
{
	f->window_s = NAN;
	f->samples = 0;
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		f->schedulers[i].known = false;
		forget_doubles(f->schedulers[i].share, NR_TOP_SHARES);
	}
	top_frame_sum_schedulers(f);
}

/* ---- a reading ----------------------------------------------------------------------------- */

static double rate(uint64_t before, uint64_t now, double seconds)
{
	if (before == TOP_UNKNOWN || now == TOP_UNKNOWN || now < before || !(seconds > 0))
		return NAN;
	return (double)(now - before) / seconds;
}

static const struct top_queue_totals *find_queue(const struct top_totals *t, enum top_queue queue,
						 uint16_t number, uint32_t hint)
{
	if (!t)
		return NULL;
	if (hint < t->nr_queues && t->queues[hint].queue == queue &&
	    t->queues[hint].number == number)
		return &t->queues[hint];
	for (uint32_t i = 0; i < t->nr_queues; i++) {
		if (t->queues[i].queue == queue && t->queues[i].number == number)
			return &t->queues[i];
	}
	return NULL;
}

static void add_known(uint64_t *sum, uint64_t value)
{
	if (value != TOP_UNKNOWN)
		*sum = *sum == TOP_UNKNOWN ? value : *sum + value;
}

/* Sums up lengths to run_queue and run_queues[]: unknown if one of them is, or if there are
 * none. */
static void sum_queues(struct top_frame *f, const struct top_totals *now)
{
	bool hole[NR_TOP_QUEUES] = {false}, any_hole = false;

	f->run_queue = TOP_UNKNOWN;
	forget(f->run_queues, NR_TOP_QUEUES);
	for (uint32_t i = 0; i < now->nr_queues; i++) {
		const struct top_queue_totals *q = &now->queues[i];

		hole[q->queue] |= q->length == TOP_UNKNOWN;
		add_known(&f->run_queues[q->queue], q->length);
	}
	for (size_t k = 0; k < NR_TOP_QUEUES; k++) {
		if (hole[k])
			f->run_queues[k] = TOP_UNKNOWN;
		any_hole |= hole[k];
		add_known(&f->run_queue, f->run_queues[k]);
	}
	if (any_hole)
		f->run_queue = TOP_UNKNOWN;
}

static void update_schedulers(struct top_frame *f, const struct top_totals *before,
			      const struct top_totals *now, double seconds)
{
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		struct top_scheduler *s = &f->schedulers[i];
		int queue = queue_of(s->type);
		bool own = queue == TOP_QUEUE_NORMAL;
		const struct top_queue_totals *a, *b;

		s->run_queue = TOP_UNKNOWN;
		s->reductions = s->context_switches = s->gcs = NAN;
		if (queue < 0)
			continue;
		b = find_queue(now, (enum top_queue)queue, own ? s->number : 0, i);
		if (b)
			s->run_queue = b->length;
		if (!own || !b)
			continue;
		a = find_queue(before, (enum top_queue)queue, s->number, i);
		if (!a)
			continue;
		s->reductions = rate(a->reductions, b->reductions, seconds);
		s->context_switches = rate(a->context_switches, b->context_switches, seconds);
		s->gcs = rate(a->gcs, b->gcs, seconds);
	}
}

static double seconds_between(uint64_t before_ns, uint64_t now_ns)
{
	return now_ns > before_ns ? (double)(now_ns - before_ns) / 1e9 : 0;
}

void top_frame_update(struct top_frame *f, const struct top_totals *before,
		      const struct top_totals *now)
{
	double seconds = before ? seconds_between(before->read_ns, now->read_ns) : (double)NAN;

	f->frames++;
	f->interval_s = seconds;
	for (size_t i = 0; i < NR_TOP_LIMITS; i++) {
		f->limits[i] = now->limits[i];
		push_count(&f->limits_history[i], now->limits[i].count);
	}
	for (size_t i = 0; i < NR_TOP_MEMORIES; i++) {
		f->memory[i] = now->memory[i];
		push_count(&f->memory_history[i], now->memory[i]);
	}
	for (size_t i = 0; i < NR_TOP_RATES; i++) {
		f->rates[i] = before ? rate(before->counters[i], now->counters[i], seconds) : NAN;
		if (before) /* the first reading has no rate: not a gap in the history */
			top_ring_push(&f->rates_history[i], f->rates[i]);
	}
	sum_queues(f, now);
	push_count(&f->run_queue_history, f->run_queue);
	update_schedulers(f, before, now, seconds);
	f->os_cpu = before ? rate(before->os_cpu_ns, now->os_cpu_ns,
				  seconds_between(before->os_ns, now->os_ns)) /
				     1e7
			   : (double)NAN;
	if (before)
		top_ring_push(&f->os_cpu_history, f->os_cpu);
	f->os_rss = now->os_rss;
}

void top_frame_learn_rate(struct top_frame *f, enum top_rate_kind kind, double value)
{
	struct top_ring *r = &f->rates_history[kind];
	float *last = &r->values[(r->next + TOP_HISTORY - 1) % TOP_HISTORY];

	if (!isnan(f->rates[kind]) || isnan(value))
		return;
	f->rates[kind] = value;
	if (r->nr && isnan(*last))
		*last = (float)value;
	else
		top_ring_push(r, value);
}
