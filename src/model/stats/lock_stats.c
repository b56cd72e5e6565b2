/* SPDX-License-Identifier: BSD-2-Clause */
/* See lock_stats.h. */
#include "model/stats/lock_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

void lock_stats_open(struct lock_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->locks = s->waiters = s->releasers = (struct keytab)KEYTAB_INIT(struct lock_sum);
}

void lock_stats_close(struct lock_stats *s)
{
	keytab_free(&s->locks);
	keytab_free(&s->waiters);
	keytab_free(&s->releasers);
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
	if (w->releaser.pid)
		add_row(s, &s->releasers, w->releaser.pid, w->releaser.id, w);
}

static int by_time(const void *a, const void *b)
{
	const struct lock_sum *x = a, *y = b;

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
