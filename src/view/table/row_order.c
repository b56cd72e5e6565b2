/* SPDX-License-Identifier: BSD-2-Clause */
/* See row_order.h.  Pivots come from a sample, as in Floyd and Rivest's selection.  Passes over the
 * rows are repeated until few rows are between the pivots. */
#include "view/table/row_order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define SORT_ALL    2048u /* up to so many rows are sorted without a further pass */
#define SAMPLE	    2048u
#define MAX_WIDENED 3u /* how often pivots are moved further apart before all rows are sorted */

/* A row and the text that it is compared by. */
struct key {
	uint32_t row;
	char *text; /* of its cell, if the column is compared by text; owned */
};

/* Rows among which are those with the wanted ranks: after each pass fewer. */
struct candidates {
	const uint32_t *rows; /* NULL = the rows 0 .. nr - 1 */
	size_t nr;
	size_t base; /* how many rows are before all candidates */
};

static const void *row_at(const struct row_order *o, uint32_t row)
{
	return (const char *)o->table->rows + (size_t)row * o->table->row_size;
}

static uint64_t id_of(const struct row_order *o, uint32_t row)
{
	return o->id ? o->id(row_at(o, row)) : row;
}

static bool by_text(const struct row_order *o)
{
	return o->column && table_compares_text(o->column);
}

/* Compares rows a and b.  text_a, text_b: texts of their cells, used if the column is compared by
 * text. */
static int compare_rows(const struct row_order *o, uint32_t a, const char *text_a, uint32_t b,
			const char *text_b)
{
	uint64_t id_a, id_b;
	int rc = 0;

	if (o->column)
		rc = by_text(o) ? strcmp(text_a, text_b)
				: table_compare(o->column, row_at(o, a), row_at(o, b));
	if (rc)
		return (rc < 0) == o->reverse ? 1 : -1;
	id_a = id_of(o, a);
	id_b = id_of(o, b);
	if (id_a == id_b) /* two rows of a torn reading can have the same id */
		return a < b ? -1 : a > b;
	return id_a < id_b ? -1 : 1;
}

static int compare_keys(const void *va, const void *vb, void *vo)
{
	const struct key *a = va, *b = vb;

	return compare_rows(vo, a->row, a->text, b->row, b->text);
}

static void make_text(const struct row_order *o, uint32_t row, struct strbuf *text)
{
	strbuf_reset(text);
	if (by_text(o))
		table_cell(o->column, text, row_at(o, row), o->table->ctx);
}

static struct key make_key(const struct row_order *o, uint32_t row)
{
	struct key key = {.row = row};
	struct strbuf text = STRBUF_INIT;

	if (by_text(o)) {
		make_text(o, row, &text);
		key.text = strbuf_detach(&text, NULL);
	}
	return key;
}

static void sort_keys(const struct row_order *o, struct key *keys, size_t nr)
{
	qsort_r(keys, nr, sizeof(*keys), compare_keys, (void *)(uintptr_t)o);
}

static void free_keys(struct key *keys, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(keys[i].text);
	free(keys);
}

static uint32_t candidate(const struct candidates *c, size_t i)
{
	return c->rows ? c->rows[i] : (uint32_t)i;
}

size_t row_order_nr(const struct row_order *o)
{
	return o->rows ? o->nr_rows : o->table->nr_rows;
}

/* ---- pivots ---------------------------------------------------------------------------------- */

/* A sorted random sample of SAMPLE candidates.  The seed is fixed, so that equal rows give equal
 * screens. */
static struct key *take_sample(const struct row_order *o, const struct candidates *c)
{
	struct key *sample = xmalloc(SAMPLE * sizeof(*sample));
	uint64_t random = 0x9e3779b97f4a7c15ull ^ c->nr;

	for (size_t i = 0; i < SAMPLE; i++) {
		sample[i] = make_key(o, candidate(c, random_next(&random) % c->nr));
	}
	sort_keys(o, sample, SAMPLE);
	return sample;
}

/* Standard deviation of the position in the sample at which the candidate with `rank` would be. */
static double deviation(double rank, double nr)
{
	double p = rank / nr;

	return sqrt(SAMPLE * p * (1 - p)) + 1;
}

/* Chooses two positions in the sample as pivots: rows before *low almost surely have ranks before
 * `from`, rows behind *high ranks behind `to`.  -1 = no pivot, as it would be outside the
 * sample. */
static void place_pivots(double nr, double from, double to, unsigned int widened, long *low,
			 long *high)
{
	double times = 3.0 * (1u << widened);

	*low = (long)floor(from / nr * SAMPLE - times * deviation(from, nr)) - 1;
	*high = (long)ceil(to / nr * SAMPLE + times * deviation(to, nr)) + 1;
	if (*low < 0)
		*low = -1;
	if (*high >= (long)SAMPLE)
		*high = -1;
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* The candidates from key `low` to key `high` (NULL = no bound), malloc'ed; *below: number of
 * candidates before `low`. */
static uint32_t *rows_between(const struct row_order *o, const struct candidates *c,
			      const struct key *low, const struct key *high, size_t *below,
			      size_t *nr)
{
	VEC(uint32_t) kept = {0};
	struct strbuf text = STRBUF_INIT;

	*below = 0;
	for (size_t i = 0; i < c->nr; i++) {
		uint32_t row = candidate(c, i);

		make_text(o, row, &text);
		if (high && compare_rows(o, row, text.buf, high->row, high->text) > 0)
			continue;
		if (low && compare_rows(o, row, text.buf, low->row, low->text) < 0)
			++*below;
		else
			vec_push(&kept, row);
	}
	strbuf_free(&text);
	*nr = kept.len;
	return kept.data;
}

/* Replaces the candidates by those between two pivots around the ranks from .. to.  False, without
 * replacing: a wanted rank would be lost, or less than a quarter would be left out. */
static bool narrow(const struct row_order *o, struct candidates *c, size_t from, size_t to,
		   unsigned int widened, uint32_t **owned)
{
	struct key *sample;
	size_t below, nr;
	uint32_t *kept;
	long low, high;
	bool good;

	place_pivots((double)c->nr, (double)(from - c->base), (double)(to - c->base), widened, &low,
		     &high);
	if (low < 0 && high < 0)
		return false;
	sample = take_sample(o, c);
	kept = rows_between(o, c, low < 0 ? NULL : &sample[low], high < 0 ? NULL : &sample[high],
			    &below, &nr);
	free_keys(sample, SAMPLE);
	good = c->base + below <= from && to <= c->base + below + nr && nr <= c->nr - c->nr / 4;
	if (!good) {
		free(kept);
		return false;
	}
	free(*owned);
	*owned = kept;
	*c = (struct candidates){.rows = kept, .nr = nr, .base = c->base + below};
	return true;
}

void row_order_window(const struct row_order *o, size_t first, size_t nr, struct row_window *w)
{
	struct candidates c = {.rows = o->rows, .nr = row_order_nr(o)};
	size_t from = MIN(first, c.nr), to = from + MIN(nr, c.nr - from);
	unsigned int widened = 0;
	uint32_t *owned = NULL;
	struct key *keys;

	while (c.nr > SORT_ALL && widened < MAX_WIDENED)
		if (!narrow(o, &c, from, to, widened, &owned))
			widened++;
	keys = xmalloc(c.nr * sizeof(*keys));
	for (size_t i = 0; i < c.nr; i++)
		keys[i] = make_key(o, candidate(&c, i));
	sort_keys(o, keys, c.nr);
	w->rows = xrealloc(w->rows, c.nr * sizeof(*w->rows));
	for (size_t i = 0; i < c.nr; i++)
		w->rows[i] = keys[i].row;
	w->first = c.base;
	w->nr = c.nr;
	free_keys(keys, c.nr);
	free(owned);
}

size_t row_order_rank(const struct row_order *o, uint32_t row)
{
	struct candidates c = {.rows = o->rows, .nr = row_order_nr(o)};
	struct key key = make_key(o, row);
	struct strbuf text = STRBUF_INIT;
	size_t rank = 0;

	for (size_t i = 0; i < c.nr; i++) {
		uint32_t other = candidate(&c, i);

		make_text(o, other, &text);
		rank += compare_rows(o, other, text.buf, row, key.text) < 0;
	}
	strbuf_free(&text);
	free(key.text);
	return rank;
}
