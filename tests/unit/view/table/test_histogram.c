/* SPDX-License-Identifier: BSD-2-Clause */
/* view/table/histogram: figures, a bar for each power of two, gaps; JSON of the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "view/table/histogram.h"

static char *text_of(const struct histogram *h, enum histogram_unit unit, double scale)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	histogram_write(f, "pauses", h, unit, scale);
	fclose(f);
	return text;
}

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
	char *text;

	UNUSED(state);
	fill(&h);
	text = text_of(&h, HISTOGRAM_COUNT, 1);
	assert_memory_equal(text, "pauses  901  p50 ", 17);
	assert_non_null(strstr(text, "  max 1,000\n"));
	assert_int_equal(bar_of(text, " 4 .. 7 "), 40);
	assert_int_equal(bar_of(text, " 512 .. 1,000 "), 5); /* 100 of 800 */
	assert_int_equal(bar_of(text, " 1 .. 1 "), 1);	     /* one of 800 is seen, too */
	assert_int_equal(bar_of(text, " 2 .. 3 "), 0);	     /* a short gap */
	assert_int_equal(bar_of(text, " 8 .. 15 "), -1);     /* a long one is a line of dots */
	assert_non_null(strstr(text, "...\n"));
	free(text);
}

static void counts_are_scaled_and_values_have_units(void **state)
{
	struct histogram h = {0};
	char *text;

	UNUSED(state);
	fill(&h);
	text = text_of(&h, HISTOGRAM_NS, 10);
	assert_memory_equal(text, "pauses  9,010  p50 ", 19);
	assert_non_null(strstr(text, "max 1.00 us"));
	assert_non_null(strstr(text, " 8,000 |####"));
	free(text);
	text = text_of(&h, HISTOGRAM_WORDS_AS_BYTES, 1);
	assert_non_null(strstr(text, "max 7.8 KiB"));
	free(text);
}

static void json_has_each_row(void **state)
{
	struct jsonw w = JSONW(NULL);
	struct histogram h = {0};

	UNUSED(state);
	fill(&h);
	jsonw_begin_object(&w, NULL);
	histogram_json(&w, "minor", &h, 2);
	jsonw_end_object(&w);
	assert_non_null(strstr(w.buf.buf, "\"minor\": {\"count\": 1802, \"sum\": "));
	assert_non_null(strstr(w.buf.buf, "{\"from\": 4, \"to\": 7, \"count\": 1600}"));
	assert_non_null(strstr(w.buf.buf, "{\"from\": 8, \"to\": 15, \"count\": 0}"));
	assert_non_null(strstr(w.buf.buf, "{\"from\": 512, \"to\": 1023, \"count\": 200}"));
	strbuf_free(&w.buf);
}

static void drawn(void **state)
{
	struct histogram h = {0};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	UNUSED(state);
	histogram_write(f, "pause", &h, HISTOGRAM_NS, 1);
	histogram_add(&h, 3, 80);
	histogram_add(&h, 9000, 1);
	histogram_write(f, "pause", &h, HISTOGRAM_NS, 10);
	fclose(f);
	assert_true(strncmp(text, "pause  0\npause  810  p50 3 ns  p90 3 ns  ", 40) == 0);
	assert_non_null(strstr(text, "max 9.00 us\n"));
	assert_non_null(strstr(text, " 2 ns .. 3 ns           800 |####################"
				     "####################|\n"));
	assert_non_null(strstr(text, "8.19 us .. 9.00 us            10 |#  "));
	free(text);
}

static void as_json(void **state)
{
	struct histogram h = {0};
	struct jsonw w = JSONW(NULL);

	UNUSED(state);
	histogram_add(&h, 5, 2);
	jsonw_begin_object(&w, NULL);
	histogram_json(&w, "h", &h, 2.5);
	jsonw_end_object(&w);
	assert_non_null(strstr(w.buf.buf, "\"count\": 5"));
	assert_non_null(strstr(w.buf.buf, "\"sum\": 25"));
	assert_non_null(strstr(w.buf.buf, "\"max\": 5"));
	assert_non_null(strstr(w.buf.buf, "\"from\""));
	strbuf_free(&w.buf);
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
