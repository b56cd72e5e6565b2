/* SPDX-License-Identifier: BSD-2-Clause */
/* base/histogram: buckets cover all values, percentiles are right to 1/16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/histogram.h"
#include "base/units.h"

static void buckets_follow_each_other(void **state)
{
	uint64_t first, last, next = 0;

	UNUSED(state);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		histogram_bounds(i, &first, &last);
		assert_true(first == next);
		assert_true(last >= first);
		assert_true((double)(last - first) <= (double)first / 16 + 1);
		next = last + 1;
	}
	assert_true(last == UINT64_MAX);
}

static void each_value_is_in_its_bucket(void **state)
{
	UNUSED(state);
	for (unsigned int bit = 0; bit < 64; bit++) {
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t value = (1ull << bit) + (uint64_t)(int64_t)delta;
			struct histogram h = {0};

			histogram_add(&h, value, 3);
			assert_true(h.min == value && h.max == value && h.nr == 3);
			assert_true(histogram_percentile(&h, 50) == value);
			assert_true(histogram_between(&h, 0, UINT64_MAX) == 3);
		}
	}
}

static void percentiles(void **state)
{
	struct histogram h = {0};

	UNUSED(state);
	assert_true(histogram_percentile(&h, 99) == 0);
	for (uint64_t i = 1; i <= 10000; i++)
		histogram_add(&h, i, 1);
	for (double p = 1; p <= 100; p++) {
		double got = (double)histogram_percentile(&h, p);

		assert_true(got >= p * 100 && got <= p * 100 * (1 + 1.0 / 16));
	}
	assert_true(histogram_percentile(&h, 100) == 10000);
	assert_true(histogram_percentile(&h, 0) == 1);
	assert_true(histogram_between(&h, 1024, 2047) == 1024);
}

static void sums_do_not_wrap(void **state)
{
	struct histogram h = {0};

	UNUSED(state);
	histogram_add(&h, UINT64_MAX / 2, 3);
	assert_true(h.sum == UINT64_MAX);
	histogram_add(&h, 1, 1);
	assert_true(h.sum == UINT64_MAX);
}

static void times(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{0, "0 ns"},
		{999, "999 ns"},
		{1000, "1.00 us"},
		{12345, "12.3 us"},
		{999949, "999.9 us"},
		{999950, "1.00 ms"},
		{61000000000, "61.0 s"},
		{9994000, "9.99 ms"},
		{7200000000000, "7200.0 s"},
	};
	char text[32];

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(units_format_ns(rows[i].ns, text, sizeof(text)), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_each_other),
		cmocka_unit_test(each_value_is_in_its_bucket),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
