/* SPDX-License-Identifier: BSD-2-Clause */
/* model/process_table: rows that come, go and are replaced from reading to reading. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/process_table.h"

#define SECOND 1000000000ull

static void put(struct process_table *t, uint64_t slot, uint64_t pid, uint64_t reductions)
{
	struct process_row row = {.slot = slot, .pid = pid, .reductions = reductions, .cpu = NAN};

	assert_int_equal(process_table_put(t, &row), 0);
}

static void test_rates(void **state)
{
	struct process_table t = {0};
	const struct process_row *row;

	(void)state;
	process_table_begin(&t, 5 * SECOND);
	put(&t, 7, 100, 1000);
	process_table_end(&t);
	assert_true(isnan(process_table_find(&t, 7)->reductions_rate));
	process_table_begin(&t, 7 * SECOND);
	put(&t, 7, 100, 5000);
	process_table_end(&t);
	row = process_table_find(&t, 7);
	assert_float_equal(row->reductions_rate, 2000, 0.01);
	assert_true(isnan(row->cpu));
	/* Another process in the same slot. */
	process_table_begin(&t, 8 * SECOND);
	put(&t, 7, 101, 10);
	process_table_end(&t);
	assert_true(isnan(process_table_find(&t, 7)->reductions_rate));
	assert_int_equal(t.rows.v.len, 1);
	process_table_free(&t);
}

/* Against the plainest way to do it: an array by slot. */
static void test_churn(void **state)
{
	enum { SLOTS = 500 };
	uint64_t pids[SLOTS] = {0}, next = 1;
	struct process_table t = {0};

	(void)state;
	srand(1);
	for (int reading = 1; reading <= 50; reading++) {
		size_t nr = 0;

		process_table_begin(&t, (uint64_t)reading * SECOND);
		for (uint64_t slot = 0; slot < SLOTS; slot++) {
			if (rand() % 3 == 0)
				pids[slot] = rand() % 2 ? next++ : 0;
			if (!pids[slot])
				continue;
			put(&t, slot, pids[slot], 1);
			nr++;
		}
		process_table_end(&t);
		assert_int_equal(t.rows.v.len, nr);
		for (uint64_t slot = 0; slot < SLOTS; slot++) {
			const struct process_row *row = process_table_find(&t, slot);

			assert_int_equal(row != NULL, pids[slot] != 0);
			if (row) {
				assert_int_equal(row->slot, slot);
				assert_int_equal(row->pid, pids[slot]);
			}
		}
	}
	process_table_free(&t);
}

static void test_cpu(void **state)
{
	const struct process_cpu cpu[] = {{100, 12.5f}, {999, 80}};
	struct process_table t = {0};

	(void)state;
	process_table_begin(&t, SECOND);
	put(&t, 1, 100, 0);
	put(&t, 2, 200, 0);
	process_table_end(&t);
	process_table_cpu(&t, cpu, 2);
	assert_float_equal(process_table_find(&t, 1)->cpu, 12.5, 0.001);
	assert_float_equal(process_table_find(&t, 2)->cpu, 0, 0.001);
	/* It stays until the next samples. */
	process_table_begin(&t, 2 * SECOND);
	put(&t, 1, 100, 0);
	process_table_end(&t);
	assert_float_equal(process_table_find(&t, 1)->cpu, 12.5, 0.001);
	process_table_cpu(&t, NULL, 0);
	assert_float_equal(process_table_find(&t, 1)->cpu, 0, 0.001);
	process_table_free(&t);
}

static void test_bounds(void **state)
{
	struct process_row row = {.slot = PROCESS_TABLE_SLOTS};
	struct process_table t = {0};

	(void)state;
	process_table_begin(&t, SECOND);
	assert_int_equal(process_table_put(&t, &row), -ENOSPC);
	assert_null(process_table_find(&t, UINT64_MAX));
	process_table_end(&t);
	assert_int_equal(t.rows.v.len, 0);
	process_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_churn),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
