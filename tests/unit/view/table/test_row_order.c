/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of an order against the whole order, sorted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "view/table/row_order.h"

struct item {
	uint64_t id;
	int value;
};

static void text_value(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%d", ((const struct item *)row)->value);
}

static int by_value(const void *a, const void *b)
{
	int x = ((const struct item *)a)->value, y = ((const struct item *)b)->value;

	return x > y ? -1 : x < y;
}

static int senseless(const void *a, const void *b)
{
	return (uintptr_t)a % 3 < (uintptr_t)b % 5 ? -1 : 1;
}

static const struct table_column columns[] = {
	{"value", "VALUE", TABLE_RIGHT, .text = text_value, .compare = by_value},
	{"text", "TEXT", .text = text_value},
	{"senseless", "SENSELESS", .text = text_value, .compare = senseless},
	{0},
};

static uint64_t item_id(const void *row)
{
	return ((const struct item *)row)->id;
}

/* ---- the whole order, in the simplest way -------------------------------------------------- */

static const struct row_order *sorting;

static int compare_all(const void *va, const void *vb)
{
	uint32_t ia = *(const uint32_t *)va, ib = *(const uint32_t *)vb;
	const struct item *items = sorting->table->rows, *a = &items[ia], *b = &items[ib];
	char text_a[16], text_b[16];
	int rc = 0;

	if (sorting->column == &columns[0]) {
		rc = by_value(a, b);
	} else if (sorting->column == &columns[1]) {
		snprintf(text_a, sizeof(text_a), "%d", a->value);
		snprintf(text_b, sizeof(text_b), "%d", b->value);
		rc = strcmp(text_a, text_b);
	}
	if (rc)
		return sorting->reverse ? -rc : rc;
	if (sorting->id)
		return a->id < b->id ? -1 : 1;
	return ia < ib ? -1 : 1;
}

static uint32_t *sorted(const struct row_order *o)
{
	size_t nr = row_order_nr(o);
	uint32_t *all = xmalloc(nr * sizeof(*all));

	for (size_t i = 0; i < nr; i++)
		all[i] = o->rows ? o->rows[i] : (uint32_t)i;
	sorting = o;
	qsort(all, nr, sizeof(*all), compare_all);
	return all;
}

static unsigned int compared;

static void expect_window(const struct row_order *o, const uint32_t *all, size_t first, size_t nr)
{
	size_t have = row_order_nr(o), from = MIN(first, have), to = MIN(first + nr, have);
	struct row_window w = {0};

	row_order_window(o, first, nr, &w);
	assert_true(w.first <= from && to <= w.first + w.nr && w.first + w.nr <= have);
	assert_memory_equal(w.rows, all + w.first, w.nr * sizeof(*all));
	if (from < to) {
		assert_int_equal(row_order_rank(o, all[from]), from);
		assert_int_equal(row_order_rank(o, all[to - 1]), to - 1);
	}
	free(w.rows);
	compared++;
}

static void expect_windows(const struct row_order *o)
{
	static const size_t heights[] = {0, 1, 40, 3000};
	size_t nr = row_order_nr(o);
	const size_t firsts[] = {0, 1, nr / 3, nr / 2, nr - MIN(nr, 41), nr - MIN(nr, 1), nr + 7};
	uint32_t *all = sorted(o);

	for (size_t f = 0; f < ARRAY_SIZE(firsts); f++)
		for (size_t h = 0; h < ARRAY_SIZE(heights); h++)
			expect_window(o, all, firsts[f], heights[h]);
	free(all);
}

/* `values`: how many different ones there are. */
static struct item *make_items(size_t nr, unsigned int values)
{
	struct item *items = xcalloc(nr, sizeof(*items));

	srand(7);
	for (size_t i = 0; i < nr; i++) {
		items[i].value = rand() % (int)values;
		items[i].id = (i * 7919) % 1000003; /* all different */
	}
	return items;
}

static void windows_are_those_of_the_whole_order(void **state)
{
	static const size_t sizes[] = {0, 1, 3, 2048, 2049};
	static const unsigned int values[] = {1, 2, 50, 1000000};

	UNUSED(state);
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			struct item *items = make_items(sizes[s], values[v]);
			struct table t = {columns, items, sizes[s], sizeof(*items), NULL};

			for (unsigned int way = 0; way < 6; way++) {
				struct row_order o = {
					.table = &t,
					.column = way < 2   ? &columns[0]
						  : way < 4 ? &columns[1]
							    : NULL,
					.reverse = way % 2 && way < 4,
					.id = way == 5 ? NULL : item_id,
				};

				expect_windows(&o);
			}
			free(items);
		}
	}
	print_message("%u windows compared\n", compared);
}

static void rows_that_do_not_count_are_left_out(void **state)
{
	enum { NR = 5000 };
	struct item *items = make_items(NR, 100);
	struct table t = {columns, items, NR, sizeof(*items), NULL};
	uint32_t *rows = xcalloc(NR, sizeof(*rows));
	struct row_order o = {.table = &t, .column = &columns[0], .id = item_id, .rows = rows};

	UNUSED(state);
	expect_windows(&o); /* none */
	for (uint32_t i = 0; i < NR; i++)
		if (items[i].value % 3 == 0)
			rows[o.nr_rows++] = i;
	expect_windows(&o);
	free(items);
	free(rows);
}

/* Sorted rows, and rows the other way round. */
static void order_of_the_rows_does_not_matter(void **state)
{
	enum { NR = 5000 };
	struct item *items = xcalloc(NR, sizeof(*items));
	struct table t = {columns, items, NR, sizeof(*items), NULL};
	struct row_order o = {.table = &t, .column = &columns[0], .id = item_id};

	UNUSED(state);
	for (int i = 0; i < NR; i++)
		items[i] = (struct item){(uint64_t)i, i};
	expect_windows(&o);
	for (int i = 0; i < NR; i++)
		items[i] = (struct item){(uint64_t)i, NR - i};
	expect_windows(&o);
	free(items);
}

/* Rows that change while they are read can compare in ways that make no sense. */
static void a_senseless_order_still_gives_rows(void **state)
{
	enum { NR = 5000 };
	struct item *items = make_items(NR, 10);
	struct table t = {columns, items, NR, sizeof(*items), NULL};
	struct row_order o = {.table = &t, .column = &columns[2], .id = item_id};
	struct row_window w = {0};
	char *seen = xcalloc(NR, 1);

	UNUSED(state);
	for (size_t first = 0; first < NR; first += NR / 5) {
		memset(seen, 0, NR);
		row_order_window(&o, first, 40, &w);
		assert_true(w.first <= first && first + 40 <= w.first + w.nr);
		for (size_t i = 0; i < w.nr; i++) {
			assert_true(w.rows[i] < NR && !seen[w.rows[i]]);
			seen[w.rows[i]] = 1;
		}
	}
	free(w.rows);
	free(seen);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_those_of_the_whole_order),
		cmocka_unit_test(rows_that_do_not_count_are_left_out),
		cmocka_unit_test(order_of_the_rows_does_not_matter),
		cmocka_unit_test(a_senseless_order_still_gives_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
