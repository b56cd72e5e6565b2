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

static void add(struct lock_sum *sum, const struct lock_wait *w)
{
	double ns = (double)w->ns * w->stands_for;

	sum->waits += w->stands_for;
	sum->ns += ns;
	sum->waits_variance += w->stands_for * (w->stands_for - 1);
	sum->ns_variance += ns * ns * (1 - 1 / w->stands_for);
	sum->max_ns = MAX(sum->max_ns, w->ns);
}

static void add_length(struct lock_lengths *l, const struct lock_wait *w)
{
	unsigned int power = histogram_power(w->ns);
	double sum = w->stands_for + l->rests[power], nr = floor(sum + 0.5);

	histogram_add(&l->ns, w->ns, (uint64_t)nr);
	l->rests[power] = sum - nr;
	l->variances[power] += w->stands_for * (w->stands_for - 1);
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

static void add_row(struct lock_stats *s, struct keytab *to, uint32_t other, uint32_t process,
		    const struct lock_wait *w)
{
	uint64_t key = 1 + ((uint64_t)w->lock << 32 | other);
	struct lock_sum *sum = keytab_find(to, key);

	if (!sum && to->nr >= LOCK_STATS_ROWS) {
		s->overflows++;
		return;
	}
	sum = sum ? sum : keytab_add(to, key);
	sum->lock = w->lock;
	sum->process = process;
	sum->function = w->function;
	sum->caller = w->caller;
	sum->nr = 1;
	sum->kind = w->kind;
	add(sum, w);
}

void lock_stats_add(struct lock_stats *s, const struct lock_wait *w)
{
	if (!(w->stands_for >= 1))
		return;
	add(&s->all, w);
	add_length(&s->lengths, w);
	add_row(s, &s->locks, (uint32_t)w->kind, 0, w);
	add_row(s, &s->waiters, w->waiter.pid, w->waiter.id, w);
	add_row(s, &s->places, number_of(s, w->function, w->caller), 0, w);
	if (w->releaser.pid)
		add_row(s, &s->releasers, w->releaser.pid, w->releaser.id, w);
}

static double sure_ns(const struct lock_sum *s)
{
	return MAX(s->ns - NORMAL_95 * sqrt(s->ns_variance), 0.0);
}

static int by_time(const void *a, const void *b)
{
	const struct lock_sum *x = a, *y = b;
	double x_sure = sure_ns(x), y_sure = sure_ns(y);

	if (x_sure != y_sure)
		return x_sure > y_sure ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

struct lock_sum *lock_stats_rows(const struct keytab *of, size_t *nr)
{
	struct lock_sum *rows = xcalloc(MAX(of->nr, 1u), sizeof(*rows));

	*nr = 0;
	for (const struct lock_sum *s = NULL; (s = keytab_next(of, s));)
		rows[(*nr)++] = *s;
	qsort(rows, *nr, sizeof(*rows), by_time);
	return rows;
}

void lock_stats_join(struct lock_sum *rows, size_t *nr,
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
		to->waits += rows[i].waits;
		to->ns += rows[i].ns;
		to->waits_variance += rows[i].waits_variance;
		to->ns_variance += rows[i].ns_variance;
		to->max_ns = MAX(to->max_ns, rows[i].max_ns);
	}
	keytab_free(&index);
	*nr = kept;
	qsort(rows, *nr, sizeof(*rows), by_time);
}
