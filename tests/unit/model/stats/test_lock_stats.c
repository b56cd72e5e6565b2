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
				  .stands_for = stands_for,
				  .window = 1};
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
	assert_true(s.all.waits.sum == 7 && s.all.ns.sum == 610 && s.all.max_ns == 300);
	assert_int_equal(s.lengths.ns.nr, 7);

	rows = lock_stats_rows(&s, &s.locks, &nr);
	assert_int_equal(nr, 2);
	assert_true(rows[0].lock == 1 && rows[0].waits.sum == 3 && rows[0].ns.sum == 410);
	assert_true(rows[0].ns.variance == 0 && rows[0].waits.variance == 0);
	/* Of a wait that was taken with probability 1/4: (1 - p) / p^2 of its number. */
	assert_true(rows[1].lock == 2 && rows[1].waits.variance == 12);
	assert_true(rows[1].ns.variance == 12.0 * 50 * 50);
	free(rows);

	rows = lock_stats_rows(&s, &s.waiters, &nr);
	assert_int_equal(nr, 3);
	assert_true(rows[0].process == 6 && rows[0].ns.sum == 300);
	/* What is sure comes before what may be nothing. */
	assert_true(rows[1].process == 5 && rows[1].lock == 1 && rows[1].ns.sum == 110);
	assert_true(rows[2].process == 5 && rows[2].lock == 2 && rows[2].ns.sum == 200);

	/* All are of one group: a row for each lock. */
	lock_stats_join(&s, rows, &nr, one_group, NULL);
	assert_int_equal(nr, 2);
	assert_true(rows[0].lock == 1 && rows[0].nr == 2 && rows[0].ns.sum == 410 &&
		    rows[0].waits.sum == 3 && rows[0].max_ns == 300);
	assert_true(rows[1].lock == 2 && rows[1].nr == 1);
	free(rows);

	/* By lock, function and caller. */
	rows = lock_stats_rows(&s, &s.places, &nr);
	assert_int_equal(nr, 4);
	assert_true(rows[0].function == 7 && rows[0].caller == 8 && rows[0].ns.sum == 300);
	free(rows);

	rows = lock_stats_rows(&s, &s.releasers, &nr);
	assert_int_equal(nr, 2);
	assert_true(rows[0].ns.sum == 400 && rows[1].ns.sum == 200);
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
		off = fabs(s.all.waits.sum - WAITS);
		off_ns = fabs(s.all.ns.sum - true_ns);
		inside += off <= 1.96 * sqrt(s.all.waits.variance);
		inside_ns += off_ns <= 1.96 * sqrt(s.all.ns.variance);
		/* 1024 .. 2047 */
		off = fabs((double)histogram_between(&s.lengths.ns, 1024, 2047) - (WAITS - 24));
		inside_power += off <= 1.96 * sqrt(s.lengths.powers[11].variance) + 1;
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
	assert_true(fabs(s.all.waits.sum - 1400) < 1e-6);
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
	w.stands_for = 1;
	w.window = 0;
	lock_stats_add(&s, &w);
	assert_true(s.all.waits.sum == 0 && s.lengths.ns.nr == 0);
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
	assert_true(s.all.waits.sum == LOCK_STATS_ROWS + 3);
	lock_stats_close(&s);
}

/* A wait is counted once however many tables have no row for it; what has no number of its own is
 * in a row of no function. */
static void places_are_limited(void **state)
{
	struct lock_sum *rows;
	struct lock_stats s;
	uint64_t nameless = 0;
	size_t nr;

	UNUSED(state);
	lock_stats_open(&s);
	for (uint32_t i = 1; i <= LOCK_STATS_ROWS + 3; i++) {
		struct lock_wait w = wait_of(1, i, 10, 1);

		w.lock = i > LOCK_STATS_ROWS ? 1 : i;
		w.function = i;
		w.caller = i + 1;
		w.releaser = w.waiter;
		lock_stats_add(&s, &w);
	}
	assert_int_equal(s.overflows, 3);
	lock_stats_close(&s);

	lock_stats_open(&s);
	for (uint32_t i = 1; i <= LOCK_STATS_ROWS + 3; i++) {
		struct lock_wait w = wait_of(i % 2, 1, 10, 1);

		w.function = i / 2;
		w.caller = 7;
		lock_stats_add(&s, &w);
	}
	rows = lock_stats_rows(&s, &s.places, &nr);
	for (size_t i = 0; i < nr; i++)
		if (!rows[i].caller)
			nameless += (uint64_t)rows[i].waits.sum;
	assert_int_equal(nameless, 0); /* half as many pairs as waits: all have numbers */
	free(rows);
	for (uint32_t i = 1; i <= LOCK_STATS_ROWS; i++) {
		struct lock_wait w = wait_of(1, 1, 10, 1);

		w.function = i;
		w.caller = 8;
		lock_stats_add(&s, &w);
	}
	assert_true(s.overflows > 0);
	rows = lock_stats_rows(&s, &s.places, &nr);
	for (size_t i = 0; i < nr; i++)
		assert_true(!rows[i].caller == !rows[i].function || rows[i].caller == 7);
	free(rows);
	lock_stats_close(&s);
}

static double uniform(unsigned int *random)
{
	return rand_r(random) / (RAND_MAX + 1.0);
}

/* Waits of two locks at random times, recorded in windows at random places of spans: sums are right
 * on average, and within their margins as often as it says. */
static void windows_are_samples(void **state)
{
	enum { RUNS = 300, SPANS = 40, WAITS = 1600 };
	const double span = 1e9, window = 5e7, length[] = {4e7, 1e6};
	unsigned int random = 4711, inside[2] = {0}, inside_nr[2] = {0};
	double sums[2] = {0}, numbers[2] = {0};

	UNUSED(state);
	for (int run = 0; run < RUNS; run++) {
		double begins[2][WAITS];
		struct lock_stats s;
		struct lock_sum *rows;
		size_t nr;

		lock_stats_open(&s);
		for (int i = 0; i < WAITS; i++)
			for (int k = 0; k < 2; k++)
				begins[k][i] = uniform(&random) * span * SPANS;
		for (int i = 0; i < SPANS; i++) {
			double begin = i * span + uniform(&random) * (span - window);

			for (int k = 0; k < 2; k++)
				for (int n = 0; n < WAITS; n++) {
					double at = begins[k][n] - begin;
					struct lock_wait w = wait_of((uint32_t)k + 1, 5, 0, 1);

					if (at < 0 || at >= window)
						continue;
					w.goes_on = at + length[k] > window;
					w.ns = (uint64_t)(w.goes_on ? window - at : length[k]);
					w.window = span / window;
					lock_stats_add(&s, &w);
				}
			lock_stats_end_window(&s, span / window);
		}
		rows = lock_stats_rows(&s, &s.locks, &nr);
		assert_int_equal(nr, 2);
		for (size_t i = 0; i < nr; i++) {
			uint32_t k = rows[i].lock - 1;
			double off = rows[i].ns.sum - WAITS * length[k];

			sums[k] += rows[i].ns.sum / (WAITS * length[k]) / RUNS;
			numbers[k] += rows[i].waits.sum / WAITS / RUNS;
			inside[k] += fabs(off) <= 1.96 * sqrt(rows[i].ns.variance);
			off = rows[i].waits.sum - WAITS;
			inside_nr[k] += fabs(off) <= 1.96 * sqrt(rows[i].waits.variance);
		}
		free(rows);
		lock_stats_close(&s);
	}
	for (int k = 0; k < 2; k++) {
		assert_true(fabs(sums[k] - 1) < 0.02);
		assert_true(fabs(numbers[k] - 1) < 0.02);
		assert_in_range(inside[k], RUNS * 89 / 100, RUNS * 99 / 100);
		assert_in_range(inside_nr[k], RUNS * 89 / 100, RUNS * 99 / 100);
	}
}

/* How much one window is off cannot be known, nor if all are of it; what stands for itself is. */
static void one_window_tells_no_margin(void **state)
{
	struct lock_wait w = wait_of(1, 5, 100, 1);
	struct lock_stats s;
	struct lock_sum *rows;
	size_t nr;

	UNUSED(state);
	lock_stats_open(&s);
	lock_stats_add(&s, &w);
	lock_stats_end_window(&s, 1);
	assert_true(lock_stats_variance(&s, &s.all.ns) == 0);
	w.window = 10;
	lock_stats_add(&s, &w);
	lock_stats_end_window(&s, 10);
	assert_true(isnan(lock_stats_variance(&s, &s.all.ns)));
	assert_true(s.all.ns.sum == 1100 && s.cut == 0);
	w.lock = 2;
	w.goes_on = true;
	lock_stats_add(&s, &w);
	lock_stats_end_window(&s, 10);
	/* Its time until the end counts for what went on at the begin, too. */
	assert_true(s.all.ns.sum == 3100 && s.all.waits.sum == 21 && s.cut == 1);
	/* Half of what there is was in each window; of a row that is in one alone all may be. */
	rows = lock_stats_rows(&s, &s.locks, &nr);
	assert_true(rows[0].ns.sum == 2000 && rows[1].ns.sum == 1100);
	assert_true(fabs(rows[0].ns.variance - 0.9 * 2000 * 2000) < 1e-3);
	assert_true(fabs(rows[1].ns.variance - 0.9 * 1000 * 1000) < 1e-3);
	free(rows);
	assert_true(fabs(lock_stats_variance(&s, &s.all.waits)) < 1e-6);
	lock_stats_close(&s);
}

/* Of few windows a margin is wider than of many. */
static void margins_are_of_so_many_windows(void **state)
{
	struct lock_stats s;

	UNUSED(state);
	lock_stats_open(&s);
	assert_int_equal(lock_stats_margin(&s, 100 * 100), 196);
	assert_true(lock_stats_margin(&s, NAN) == UINT64_MAX);
	for (int i = 0; i < 3; i++)
		lock_stats_end_window(&s, 10);
	assert_int_equal(lock_stats_margin(&s, 100 * 100), 430);
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
		cmocka_unit_test(places_are_limited),
		cmocka_unit_test(windows_are_samples),
		cmocka_unit_test(one_window_tells_no_margin),
		cmocka_unit_test(margins_are_of_so_many_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
