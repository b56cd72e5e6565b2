/* SPDX-License-Identifier: BSD-2-Clause */
/* view/table/histogram: figures, a bar for each power of two, gaps; JSON of the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/table/histogram.h"

/* The bar of the row that begins so; -1 = there is no such row. */
static int bar_of(const char *text, const char *range)
{
	const char *row = strstr(text, range), *bar = row ? strchr(row, '|') : NULL;

	return bar ? (int)strspn(bar + 1, "#") : -1;
}

static void fill(struct histogram *h)
{
	histogram_add(h, 1, 1);
	histogram_add(h, 5, 400);
	histogram_add(h, 6, 400);
	histogram_add(h, 1000, 100);
}

static void rows_are_powers_of_two(void **state)
{
	struct histogram h = {0};
	struct page p;

	UNUSED(state);
	fill(&h);
	histogram_write(page_open(&p), "pauses", &h, HISTOGRAM_COUNT, 1);
	assert_memory_equal(page_text(&p), "pauses  901  p50 ", 17);
	page_has(&p, "  max 1,000\n");
	assert_int_equal(bar_of(page_text(&p), " 4 .. 7 "), 40);
	assert_int_equal(bar_of(page_text(&p), " 512 .. 1,000 "), 5); /* 100 of 800 */
	assert_int_equal(bar_of(page_text(&p), " 1 .. 1 "), 1);	      /* one of 800 is seen, too */
	assert_int_equal(bar_of(page_text(&p), " 2 .. 3 "), 0);	      /* a short gap */
	assert_int_equal(bar_of(page_text(&p), " 8 .. 15 "), -1); /* a long one is a line of dots */
	page_has(&p, "...\n");
	page_close(&p);
}

static void counts_are_scaled_and_values_have_units(void **state)
{
	struct histogram h = {0};
	struct page p;

	UNUSED(state);
	fill(&h);
	histogram_write(page_open(&p), "pauses", &h, HISTOGRAM_NS, 10);
	assert_memory_equal(page_text(&p), "pauses  9,010  p50 ", 19);
	page_has(&p, "max 1.00 us");
	page_has(&p, " 8,000 |####");
	page_close(&p);
	histogram_write(page_open(&p), "pauses", &h, HISTOGRAM_WORDS_AS_BYTES, 1);
	page_has(&p, "max 7.8 KiB");
	page_close(&p);
}

static void json_has_each_row(void **state)
{
	struct page p;
	struct histogram h = {0};

	UNUSED(state);
	fill(&h);
	histogram_json(page_open_json(&p), "minor", &h, 2);
	page_has(&p, "\"minor\": {\"count\": 1802, \"sum\": ");
	page_has(&p, "{\"from\": 4, \"to\": 7, \"count\": 1600}");
	page_has(&p, "{\"from\": 8, \"to\": 15, \"count\": 0}");
	page_has(&p, "{\"from\": 512, \"to\": 1023, \"count\": 200}");
	page_close(&p);
}

static void drawn(void **state)
{
	struct histogram h = {0};
	struct page p;

	UNUSED(state);
	histogram_write(page_open(&p), "pause", &h, HISTOGRAM_NS, 1);
	histogram_add(&h, 3, 80);
	histogram_add(&h, 9000, 1);
	histogram_write(p.f, "pause", &h, HISTOGRAM_NS, 10);
	assert_true(strncmp(page_text(&p), "pause  0\npause  810  p50 3 ns  p90 3 ns  ", 40) == 0);
	page_has(&p, "max 9.00 us\n");
	page_has(&p, " 2 ns .. 3 ns           800 |####################"
		     "####################|\n");
	page_has(&p, "8.19 us .. 9.00 us            10 |#  ");
	page_close(&p);
}

static void as_json(void **state)
{
	struct histogram h = {0};
	struct page p;

	UNUSED(state);
	histogram_add(&h, 5, 2);
	histogram_json(page_open_json(&p), "h", &h, 2.5);
	page_has(&p, "\"count\": 5");
	page_has(&p, "\"sum\": 25");
	page_has(&p, "\"max\": 5");
	page_has(&p, "\"from\"");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_powers_of_two),
		cmocka_unit_test(counts_are_scaled_and_values_have_units),
		cmocka_unit_test(drawn),
		cmocka_unit_test(as_json),
		cmocka_unit_test(json_has_each_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
