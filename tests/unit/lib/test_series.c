/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that were read again and again: whether they grow, how fast, and how sure that is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "model/diagnosis/diagnosis.h"

#include "lib/series.h"

static void test_series(void **state)
{
	struct series s = {.nr = 0};

	(void)state;
	assert_true(isnan(series_first(&s)) && isnan(series_last(&s)));
	assert_true(series_growth(&s) == 0);
	s = SERIES(1, 2, 3, 4);
	assert_true(series_growth(&s) == 3);
	s = SERIES(4, 3, 2, 1);
	assert_true(series_growth(&s) == 0);
	s = SERIES(1, 1, 1, 9, 9); /* one leap may be all there is */
	assert_true(series_growth(&s) == 0);
	s = SERIES(10, 20, 19, 19, 30, 29); /* leaps, and a little less after each */
	assert_true(series_growth(&s) == 19);
	s = SERIES(10, 50, 12, 48, 14, 50); /* garbage comes and goes */
	assert_true(series_growth(&s) == 0);
	/* Too many: the first, the last, and some at equal intervals between them. */
	s = (struct series){.nr = 0};
	for (unsigned int i = 0; i < 3 * SERIES_MAX; i++)
		series_add(&s, i);
	assert_true(s.nr > SERIES_MAX / 2 && s.nr <= SERIES_MAX);
	for (unsigned int i = 0; i < s.nr; i++)
		assert_true(s.v[i] == 4 * i);
	assert_true(series_last(&s) == 3 * SERIES_MAX - 1);
	assert_true(series_growth(&s) == 3 * SERIES_MAX - 1);
	/* A drop in between is seen, whenever it was. */
	s = (struct series){.nr = 0};
	for (unsigned int i = 0; i < 9 * SERIES_MAX; i++)
		series_add(&s, i % (4 * SERIES_MAX));
	assert_true(series_growth(&s) == 0);
	assert_true(series_least(&s) == 0);
}

static void test_growth(void **state)
{
	struct series s = SERIES(100, 110, 120, 130, 140, 150);
	struct growth g = series_growth_rate(&s, 5);

	(void)state;
	assert_true(g.per_s == 10 && g.error == 0 && growth_is_sure(&g));
	/* As much on the whole, in steps of which any may have been another. */
	s = SERIES(100, 140, 110, 150, 110, 150);
	g = series_growth_rate(&s, 5);
	assert_true(g.per_s == 10 && g.error > 10 && !growth_is_sure(&g));
	/* Steps of 8 and 12: a deviation of 2.19, of five of them 4.9, times 2.78 (Student). */
	s = SERIES(100, 108, 120, 128, 140, 148);
	g = series_growth_rate(&s, 5);
	assert_true(fabs(g.per_s - 9.6) < 1e-9 && fabs(g.error - 2.78 * 4.899 / 5) < 0.01);
	s = SERIES(200, 150, 100, 50, 20, 10);
	g = series_growth_rate(&s, 5);
	assert_true(g.per_s == -38 && !growth_is_sure(&g));
	/* Of few nobody can say. */
	s = SERIES(100, 110, 120);
	g = series_growth_rate(&s, 1);
	assert_true(g.per_s == 20 && isnan(g.error) && !growth_is_sure(&g));
	s = SERIES(100);
	g = series_growth_rate(&s, 1);
	assert_true(isnan(g.per_s) && !growth_is_sure(&g));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
