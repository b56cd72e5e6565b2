/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_stats.h. */
#include "model/stats/call_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct row_index {
	uint64_t key; /* function, and caller or shape */
	uint32_t row;
};

/* Rows with an index by key, which has the positions of rows: reorder both together. */
struct row_set {
	VEC(struct call_row) rows;
	struct keytab index;
};

struct durations {
	uint64_t function; /* key */
	struct histogram *h;
};

struct call_stats {
	struct row_set callers, shapes;
	struct keytab durations;
	VEC(struct call_slow) slowest;
	unsigned int nr_slowest; /* limit */
};

void call_stats_open(struct call_stats **out, unsigned int slowest)
{
	struct call_stats *s = xcalloc(1, sizeof(*s));

	s->nr_slowest =
		slowest ? MIN(slowest, (unsigned int)CALL_STATS_SLOWEST_MAX) : CALL_STATS_SLOWEST;
	s->callers.index = s->shapes.index = (struct keytab)KEYTAB_INIT(struct row_index);
	s->durations = (struct keytab)KEYTAB_INIT(struct durations);
	*out = s;
}

static void free_rows(struct row_set *r)
{
	vec_free(&r->rows);
	keytab_free(&r->index);
}

void call_stats_close(struct call_stats *s)
{
	if (!s)
		return;
	free_rows(&s->callers);
	free_rows(&s->shapes);
	for (struct durations *d = NULL; (d = keytab_next(&s->durations, d));)
		free(d->h);
	keytab_free(&s->durations);
	for (size_t i = 0; i < s->slowest.len; i++)
		free(s->slowest.data[i].args);
	vec_free(&s->slowest);
	free(s);
}

static uint64_t key_of(uint32_t function, uint32_t what)
{
	/* Function 0 is the row for calls beyond the limit. */
	return (uint64_t)function << 32 | what | (function ? 0 : 1);
}

static void index_rows(struct row_set *r)
{
	keytab_free(&r->index);
	for (size_t i = 0; i < r->rows.len; i++) {
		const struct call_row *row = &r->rows.data[i];
		struct row_index *x = keytab_add(&r->index, key_of(row->function, row->what));

		x->row = (uint32_t)i;
	}
}

static struct call_row *row_of(struct row_set *r, uint32_t function, uint32_t what)
{
	struct row_index *x = keytab_find(&r->index, key_of(function, what));

	if (!x && r->rows.len >= CALL_STATS_ROWS) {
		function = what = 0;
		x = keytab_find(&r->index, key_of(0, 0));
	}
	if (!x) {
		x = keytab_add(&r->index, key_of(function, what));
		x->row = (uint32_t)r->rows.len;
		vec_push(&r->rows, ((struct call_row){.function = function, .what = what}));
	}
	return &r->rows.data[x->row];
}

void call_stats_begin(struct call_stats *s, uint32_t function, uint32_t caller, uint32_t shape)
{
	row_of(&s->callers, function, caller)->calls++;
	if (shape)
		row_of(&s->shapes, function, shape)->calls++;
}

static void end_row(struct call_row *row, const struct call_ended *end)
{
	row->ends++;
	row->exceptions += end->exception != 0;
	row->total_ns += end->ns;
	row->max_ns = MAX(row->max_ns, end->ns);
}

static int slower_first(const void *a, const void *b)
{
	const struct call_slow *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void keep_slow(struct call_stats *s, const struct call_ended *end)
{
	struct call_slow slow = {.ns = end->ns, .function = end->function};
	struct call_slow *last = s->slowest.len ? &s->slowest.data[s->slowest.len - 1] : NULL;

	if (s->slowest.len >= s->nr_slowest) {
		if (last->ns >= end->ns)
			return;
		free(last->args);
		s->slowest.len--;
	}
	slow.args = xstrdup(end->args ? end->args : "(arguments not kept)");
	vec_push(&s->slowest, slow);
	qsort(s->slowest.data, s->slowest.len, sizeof(slow), slower_first);
}

void call_stats_end(struct call_stats *s, const struct call_ended *end)
{
	struct durations *d = keytab_find(&s->durations, end->function);

	if (!d && end->function) {
		d = keytab_add(&s->durations, end->function);
		d->h = xcalloc(1, sizeof(*d->h));
	}
	if (d)
		histogram_add(d->h, end->ns, 1);
	end_row(row_of(&s->callers, end->function, end->caller), end);
	if (end->shape)
		end_row(row_of(&s->shapes, end->function, end->shape), end);
	keep_slow(s, end);
}

static int more_calls_first(const void *a, const void *b)
{
	const struct call_row *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

static const struct call_row *sorted(struct row_set *r, size_t *nr)
{
	if (r->rows.len)
		qsort(r->rows.data, r->rows.len, sizeof(r->rows.data[0]), more_calls_first);
	index_rows(r);
	*nr = r->rows.len;
	return r->rows.data;
}

const struct call_row *call_stats_callers(struct call_stats *s, size_t *nr)
{
	return sorted(&s->callers, nr);
}

const struct call_row *call_stats_shapes(struct call_stats *s, size_t *nr)
{
	return sorted(&s->shapes, nr);
}

const struct call_slow *call_stats_slowest(struct call_stats *s, size_t *nr)
{
	*nr = s->slowest.len;
	return s->slowest.data;
}

const struct histogram *call_stats_durations(struct call_stats *s, uint32_t function)
{
	struct durations *d = function ? keytab_find(&s->durations, function) : NULL;

	return d ? d->h : NULL;
}
