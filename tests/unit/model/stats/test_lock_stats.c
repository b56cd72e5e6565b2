/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/lock_stats: waits added up, what they stand for, and how sure the sums are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/stats/lock_stats.h"

static struct lock_wait wait_of(uint32_t lock, uint32_t waiter, uint64_t ns, double stands_for)
{
	return (struct lock_wait){.lock = lock,
				  .waiter = {.id = waiter, .pid = waiter},
				  .releaser = {.id = 9, .pid = 9},
				  .kind = SAMPLE_OFF_LOCK_ETS,
				  .ns = ns,
				  .stands_for = stands_for};
}

static uint32_t one_group(void *arg, uint32_t process)
{
	UNUSED(arg);
	UNUSED(process);
	return 1;
}

static void sums_of_each(void **state)
{
	struct lock_wait waits[] = {wait_of(1, 5, 100, 1), wait_of(1, 6, 300, 1),
				    wait_of(2, 5, 50, 4), wait_of(1, 5, 10, 1)};
	struct lock_stats s;
	struct lock_sum *rows;
	size_t nr;

	UNUSED(state);
	lock_stats_open(&s);
	waits[3].releaser = (struct lock_process){0, 0};
	waits[0].function = waits[1].function = 7;
	waits[1].caller = 8;
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		lock_stats_add(&s, &waits[i]);
	assert_true(s.all.waits == 7 && s.all.ns == 610 && s.all.max_ns == 300);
	assert_int_equal(s.lengths.ns.nr, 7);

	rows = lock_stats_rows(&s.locks, &nr);
	assert_int_equal(nr, 2);
	assert_true(rows[0].lock == 1 && rows[0].waits == 3 && rows[0].ns == 410);
	assert_true(rows[0].ns_variance == 0 && rows[0].waits_variance == 0);
	/* Of a wait that was taken with probability 1/4: (1 - p) / p^2 of its number. */
	assert_true(rows[1].lock == 2 && rows[1].waits_variance == 12);
	assert_true(rows[1].ns_variance == 12.0 * 50 * 50);
	free(rows);

	rows = lock_stats_rows(&s.waiters, &nr);
	assert_int_equal(nr, 3);
	assert_true(rows[0].process == 6 && rows[0].ns == 300);
	/* What is sure comes before what may be nothing. */
	assert_true(rows[1].process == 5 && rows[1].lock == 1 && rows[1].ns == 110);
	assert_true(rows[2].process == 5 && rows[2].lock == 2 && rows[2].ns == 200);

	/* All are of one group: a row for each lock. */
	lock_stats_join(rows, &nr, one_group, NULL);
	assert_int_equal(nr, 2);
	assert_true(rows[0].lock == 1 && rows[0].nr == 2 && rows[0].ns == 410 &&
		    rows[0].waits == 3 && rows[0].max_ns == 300);
	assert_true(rows[1].lock == 2 && rows[1].nr == 1);
	free(rows);

	/* By lock, function and caller. */
	rows = lock_stats_rows(&s.places, &nr);
	assert_int_equal(nr, 4);
	assert_true(rows[0].function == 7 && rows[0].caller == 8 && rows[0].ns == 300);
	free(rows);

	rows = lock_stats_rows(&s.releasers, &nr);
	assert_int_equal(nr, 2);
	assert_true(rows[0].ns == 400 && rows[1].ns == 200);
	free(rows);
	lock_stats_close(&s);
}

/* The true number and sum are within the margin as often as it says, whatever is left out. */
static void margins_hold(void **state)
{
	enum { RUNS = 400, WAITS = 500 };
	const double stands_for = 7.3;
	unsigned int random = 4711, inside = 0, inside_ns = 0, inside_power = 0;

	UNUSED(state);
	for (int run = 0; run < RUNS; run++) {
		struct lock_stats s;
		double off, off_ns, true_ns = 0;

		lock_stats_open(&s);
		for (int i = 0; i < WAITS; i++) {
			struct lock_wait w = wait_of(1, 5, 1000 + (uint64_t)i, stands_for);

			true_ns += (double)w.ns;
			if ((double)rand_r(&random) / RAND_MAX < 1 / stands_for)
				lock_stats_add(&s, &w);
		}
		off = fabs(s.all.waits - WAITS);
		off_ns = fabs(s.all.ns - true_ns);
		inside += off <= 1.96 * sqrt(s.all.waits_variance);
		inside_ns += off_ns <= 1.96 * sqrt(s.all.ns_variance);
		/* 1024 .. 2047 */
		off = fabs((double)histogram_between(&s.lengths.ns, 1024, 2047) - (WAITS - 24));
		inside_power += off <= 1.96 * sqrt(s.lengths.variances[11]) + 1;
		lock_stats_close(&s);
	}
	assert_in_range(inside, RUNS * 91 / 100, RUNS * 99 / 100);
	assert_in_range(inside_ns, RUNS * 91 / 100, RUNS * 99 / 100);
	assert_in_range(inside_power, RUNS * 91 / 100, RUNS * 99 / 100);
}

/* Waits that stand for 1.4 each are not counted as one. */
static void histogram_keeps_parts(void **state)
{
	const struct lock_wait w = wait_of(1, 5, 7000000, 1.4);
	struct lock_stats s;

	UNUSED(state);
	lock_stats_open(&s);
	for (int i = 0; i < 1000; i++)
		lock_stats_add(&s, &w);
	assert_in_range(s.lengths.ns.nr, 1399, 1400);
	assert_true(fabs(s.all.waits - 1400) < 1e-6);
	lock_stats_close(&s);
}

static void what_cannot_be_is_left_out(void **state)
{
	struct lock_wait w = wait_of(1, 5, 10, 0.5);
	struct lock_stats s;

	UNUSED(state);
	lock_stats_open(&s);
	lock_stats_add(&s, &w);
	w.stands_for = NAN;
	lock_stats_add(&s, &w);
	assert_true(s.all.waits == 0 && s.lengths.ns.nr == 0);
	lock_stats_close(&s);
}

static void rows_are_limited(void **state)
{
	struct lock_stats s;

	UNUSED(state);
	lock_stats_open(&s);
	for (uint32_t i = 1; i <= LOCK_STATS_ROWS + 3; i++) {
		struct lock_wait w = wait_of(1, i, 10, 1);

		lock_stats_add(&s, &w);
	}
	assert_int_equal(s.waiters.nr, LOCK_STATS_ROWS);
	assert_int_equal(s.overflows, 3);
	assert_true(s.all.waits == LOCK_STATS_ROWS + 3);
	lock_stats_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_each),
		cmocka_unit_test(margins_hold),
		cmocka_unit_test(histogram_keeps_parts),
		cmocka_unit_test(what_cannot_be_is_left_out),
		cmocka_unit_test(rows_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
