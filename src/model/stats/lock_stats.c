/* SPDX-License-Identifier: BSD-2-Clause */
/* See lock_stats.h. */
#include "model/stats/lock_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/random.h"
#include "base/xalloc.h"

struct lock_number {
	uint64_t key; /* 1 + (function, caller) */
	uint32_t number;
};

void lock_stats_open(struct lock_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->locks = s->waiters = s->places = s->releasers =
		(struct keytab)KEYTAB_INIT(struct lock_sum);
	s->numbers = (struct keytab)KEYTAB_INIT(struct lock_number);
}

void lock_stats_close(struct lock_stats *s)
{
	keytab_free(&s->locks);
	keytab_free(&s->waiters);
	keytab_free(&s->places);
	keytab_free(&s->releasers);
	keytab_free(&s->numbers);
}

static bool is_sample(const struct lock_wait *w)
{
	return w->window > 1;
}

/* Adds x for a wait (Horvitz and Thompson; of two stages if its window is a sample). */
static void estimate_add(const struct lock_stats *s, struct lock_estimate *e, double x,
			 const struct lock_wait *w)
{
	double weighed = x * w->stands_for * w->window;

	e->sum += weighed;
	e->variance += w->window * x * x * w->stands_for * (w->stands_for - 1);
	if (!is_sample(w))
		return;
	if (e->number != s->windows + 1) {
		e->squares += e->window * e->window;
		e->window = 0;
		e->number = s->windows + 1;
	}
	e->window += weighed;
	e->windows += weighed;
}

static void add(const struct lock_stats *s, struct lock_sum *sum, const struct lock_wait *w)
{
	unsigned int times = is_sample(w) && w->goes_on ? 2 : 1;

	estimate_add(s, &sum->waits, 1, w);
	estimate_add(s, &sum->ns, (double)w->ns * times, w);
	sum->max_ns = MAX(sum->max_ns, w->ns);
}

static void add_length(struct lock_stats *s, const struct lock_wait *w)
{
	struct lock_lengths *l = &s->lengths;
	unsigned int power = histogram_power(w->ns);
	double sum = w->stands_for * w->window + l->rests[power], nr = floor(sum + 0.5);

	histogram_add(&l->ns, w->ns, (uint64_t)nr);
	l->rests[power] = sum - nr;
	estimate_add(s, &l->powers[power], 1, w);
}

/* Numbers pairs of functions from 1; 0 = there are too many. */
static uint32_t number_of(struct lock_stats *s, uint32_t function, uint32_t caller)
{
	uint64_t key = 1 + ((uint64_t)function << 32 | caller);
	struct lock_number *n = keytab_find(&s->numbers, key);

	if (!n && s->numbers.nr < LOCK_STATS_ROWS) {
		n = keytab_add(&s->numbers, key);
		n->number = (uint32_t)s->numbers.nr;
	}
	return n ? n->number : 0;
}

/* False: there is no room for its row. */
static bool add_row(const struct lock_stats *s, struct keytab *to, uint32_t other, uint32_t process,
		    const struct lock_wait *w)
{
	uint64_t key = 1 + ((uint64_t)w->lock << 32 | other);
	struct lock_sum *sum = keytab_find(to, key);

	if (!sum && to->nr >= LOCK_STATS_ROWS)
		return false;
	sum = sum ? sum : keytab_add(to, key);
	sum->lock = w->lock;
	sum->process = process;
	sum->function = w->function;
	sum->caller = w->caller;
	sum->nr = 1;
	sum->kind = w->kind;
	add(s, sum, w);
	return true;
}

/* Places without a number are one row for each lock, which is of no function. */
static bool add_place(struct lock_stats *s, const struct lock_wait *w)
{
	struct lock_wait place = *w;
	uint32_t number = number_of(s, w->function, w->caller);

	if (!number)
		place.function = place.caller = 0;
	return add_row(s, &s->places, number, 0, &place) && number;
}

void lock_stats_add(struct lock_stats *s, const struct lock_wait *w)
{
	bool lock, waiter, place, releaser;

	if (!(w->stands_for >= 1 && w->window >= 1))
		return;
	add(s, &s->all, w);
	add_length(s, w);
	lock = add_row(s, &s->locks, (uint32_t)w->kind, 0, w);
	waiter = add_row(s, &s->waiters, w->waiter.pid, w->waiter.id, w);
	place = add_place(s, w);
	releaser =
		!w->releaser.pid || add_row(s, &s->releasers, w->releaser.pid, w->releaser.id, w);
	s->overflows += !(lock && waiter && place && releaser);
	s->cut += is_sample(w) && w->goes_on;
}

void lock_stats_end_window(struct lock_stats *s, double stands_for)
{
	if (!(stands_for > 1))
		return;
	s->windows++;
	s->left_out += 1 - 1 / stands_for;
}

/* Variance by how windows differ: each is a sample of one, of its span. */
static double between_windows(const struct lock_stats *s, const struct lock_estimate *e)
{
	double n = s->windows, squares = e->squares + e->window * e->window;

	if (s->windows < 2)
		return s->windows ? NAN : 0;
	return s->left_out / (n - 1) * MAX(squares - e->windows * e->windows / n, 0.0);
}

double lock_stats_variance(const struct lock_stats *s, const struct lock_estimate *e)
{
	return e->variance + between_windows(s, e);
}

uint64_t lock_stats_margin(const struct lock_stats *s, double variance)
{
	double deviations = s->windows > 1 ? student_95(s->windows - 1) : NORMAL_95;

	return isnan(variance) ? UINT64_MAX : (uint64_t)(deviations * sqrt(variance) + 0.5);
}

static int by_time(const void *a, const void *b)
{
	const struct lock_sum *x = a, *y = b;

	if (x->sure_ns != y->sure_ns)
		return x->sure_ns > y->sure_ns ? -1 : 1;
	if (x->ns.sum != y->ns.sum)
		return x->ns.sum > y->ns.sum ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static void sort_rows(const struct lock_stats *s, struct lock_sum *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		rows[i].sure_ns = MAX(
			rows[i].ns.sum - (double)lock_stats_margin(s, rows[i].ns.variance), 0.0);
	qsort(rows, nr, sizeof(*rows), by_time);
}

struct lock_sum *lock_stats_rows(const struct lock_stats *s, const struct keytab *of, size_t *nr)
{
	struct lock_sum *rows = xcalloc(MAX(of->nr, 1u), sizeof(*rows));

	*nr = 0;
	for (const struct lock_sum *sum = NULL; (sum = keytab_next(of, sum));) {
		struct lock_sum *row = &rows[(*nr)++];

		*row = *sum;
		row->waits.variance = lock_stats_variance(s, &sum->waits);
		row->ns.variance = lock_stats_variance(s, &sum->ns);
	}
	sort_rows(s, rows, *nr);
	return rows;
}

static void estimate_join(struct lock_estimate *to, const struct lock_estimate *e)
{
	to->sum += e->sum;
	to->variance += e->variance;
	to->windows += e->windows;
}

static void vary_like(const struct lock_stats *s, struct lock_estimate *e,
		      const struct lock_estimate *lock)
{
	double part = lock->windows > 0 ? e->windows / lock->windows : 0;

	e->variance = MAX(e->variance, part * part * between_windows(s, lock));
}

void lock_stats_join(const struct lock_stats *s, struct lock_sum *rows, size_t *nr,
		     uint32_t (*group_of)(void *arg, uint32_t process), void *arg)
{
	struct keytab index = KEYTAB_INIT(struct lock_number);
	size_t kept = 0;

	for (size_t i = 0; i < *nr; i++) {
		uint64_t key = 1 + ((uint64_t)rows[i].lock << 32 | group_of(arg, rows[i].process));
		struct lock_number *at = keytab_find(&index, key);
		struct lock_sum *to;

		if (!at) {
			at = keytab_add(&index, key);
			at->number = (uint32_t)kept;
			rows[kept++] = rows[i];
			continue;
		}
		to = &rows[at->number];
		to->nr += rows[i].nr;
		estimate_join(&to->waits, &rows[i].waits);
		estimate_join(&to->ns, &rows[i].ns);
		to->max_ns = MAX(to->max_ns, rows[i].max_ns);
	}
	keytab_free(&index);
	*nr = kept;
	for (size_t i = 0; i < kept; i++) {
		uint64_t key = 1 + ((uint64_t)rows[i].lock << 32 | (uint32_t)rows[i].kind);
		const struct lock_sum *lock = keytab_find(&s->locks, key);

		if (rows[i].nr < 2 || !lock)
			continue;
		vary_like(s, &rows[i].waits, &lock->waits);
		vary_like(s, &rows[i].ns, &lock->ns);
	}
	sort_rows(s, rows, *nr);
}
