/* SPDX-License-Identifier: BSD-2-Clause */
/* model/process/process_table: rows that come, go and are replaced from reading to reading. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/process/process_table.h"

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
	process_table_begin(&t, 5 * SECOND, 0);
	put(&t, 7, 100, 1000);
	process_table_end(&t);
	assert_true(isnan(process_table_find(&t, 7)->reductions_rate));
	process_table_begin(&t, 7 * SECOND, 0);
	put(&t, 7, 100, 5000);
	process_table_end(&t);
	row = process_table_find(&t, 7);
	assert_float_equal(row->reductions_rate, 2000, 0.01);
	assert_true(isnan(row->cpu));
	/* Another process in the same slot. */
	process_table_begin(&t, 8 * SECOND, 0);
	put(&t, 7, 101, 10);
	process_table_end(&t);
	assert_true(isnan(process_table_find(&t, 7)->reductions_rate));
	assert_int_equal(t.rows.v.len, 1);
	process_table_free(&t);
}

/* In a reading that takes a second each row has its own time; and what is too old says nothing. */
static void test_times(void **state)
{
	struct process_table t = {0};

	(void)state;
	process_table_begin(&t, 10 * SECOND, 10 * SECOND);
	put(&t, 1, 100, 1000);
	process_table_now(&t, 11 * SECOND);
	put(&t, 2, 200, 1000);
	process_table_end(&t);
	process_table_begin(&t, 12 * SECOND, 10 * SECOND);
	put(&t, 1, 100, 2000); /* 2 s */
	process_table_now(&t, 12 * SECOND + SECOND / 2);
	put(&t, 2, 200, 4000); /* 1.5 s */
	process_table_end(&t);
	assert_float_equal(process_table_find(&t, 1)->reductions_rate, 500, 0.01);
	assert_float_equal(process_table_find(&t, 2)->reductions_rate, 2000, 0.01);
	/* An hour elsewhere. */
	process_table_begin(&t, 3612 * SECOND, 3611 * SECOND);
	put(&t, 1, 100, 9000);
	put(&t, 2, 200, 9000);
	process_table_end(&t);
	assert_true(isnan(process_table_find(&t, 1)->reductions_rate));
	assert_true(isnan(process_table_find(&t, 2)->memory_rate));
	/* Even in the same nanosecond it is another reading. */
	process_table_begin(&t, 3612 * SECOND, 3611 * SECOND);
	put(&t, 1, 100, 9000);
	process_table_end(&t);
	assert_null(process_table_find(&t, 2));
	process_table_free(&t);
}

static const char *text(const struct process_strings *s, uint32_t id)
{
	return process_strings_get(s, id)->text;
}

/* Names stay with their rows; what nobody has goes. */
static void test_strings(void **state)
{
	struct process_strings s = {0};
	struct process_row rows[3] = {{0}};
	char name[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		process_strings_add(&s, name, strlen(name));
	}
	rows[0].registered = rows[0].written = process_strings_add(&s, "name 7", 6);
	rows[0].label = process_strings_add(&s, "name 990", 8);
	rows[0].parent = PROCESS_PID_NONE;
	rows[0].group_leader = PROCESS_PID_TEXT | process_strings_add(&s, "name 500", 8);
	rows[1].initial_call = rows[0].label;
	rows[1].function = process_strings_add(&s, "name 1", 6);
	rows[1].parent = (uint64_t)1 << 32 | 80;
	rows[2].file = 5000; /* that there is not */
	process_strings_keep(&s, rows, 3);
	assert_int_equal(s.v.len, 1 + 4); /* and none */
	assert_string_equal(text(&s, rows[0].registered), "name 7");
	assert_int_equal(rows[0].written, rows[0].registered);
	assert_string_equal(text(&s, rows[0].label), "name 990");
	assert_true(rows[0].parent == PROCESS_PID_NONE);
	assert_true(rows[0].group_leader & PROCESS_PID_TEXT);
	assert_string_equal(text(&s, (uint32_t)rows[0].group_leader), "name 500");
	assert_int_equal(rows[1].initial_call, rows[0].label);
	assert_string_equal(text(&s, rows[1].function), "name 1");
	assert_true(rows[1].parent == ((uint64_t)1 << 32 | 80));
	assert_int_equal(rows[2].file, 0);
	/* Those that stayed are found again. */
	assert_int_equal(process_strings_add(&s, "name 7", 6), rows[0].registered);
	process_strings_keep(&s, NULL, 0);
	assert_int_equal(s.v.len, 0);
	process_strings_free(&s);
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

		process_table_begin(&t, (uint64_t)reading * SECOND, 0);
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
	const struct process_cpu cpu[] = {
		{999, 80, "a:b/0"}, {100, 12.5f, "c:d/1"}, {998, 3, "a:b/0"}, {997, 1, NULL}};
	struct process_table t = {0};

	(void)state;
	process_table_begin(&t, SECOND, 0);
	put(&t, 1, 100, 0);
	put(&t, 2, 200, 0);
	process_table_end(&t);
	process_table_cpu(&t, cpu, 4);
	assert_float_equal(process_table_find(&t, 1)->cpu, 12.5, 0.001);
	assert_float_equal(process_table_find(&t, 2)->cpu, 0, 0.001);
	/* Of those that nobody read. */
	assert_float_equal(t.ended_cpu, 84, 0.001);
	assert_int_equal(t.nr_ended, 2);
	assert_string_equal(t.ended[0].initial_call, "a:b/0");
	assert_float_equal(t.ended[0].percent, 83, 0.001);
	assert_string_equal(t.ended[1].initial_call, "?");
	/* It stays until the next samples. */
	process_table_begin(&t, 2 * SECOND, 0);
	put(&t, 1, 100, 0);
	process_table_end(&t);
	assert_float_equal(process_table_find(&t, 1)->cpu, 12.5, 0.001);
	process_table_cpu(&t, cpu + 1, 1);
	assert_float_equal(t.ended_cpu, 0, 0.001);
	process_table_cpu(&t, NULL, 0);
	assert_float_equal(process_table_find(&t, 1)->cpu, 0, 0.001);
	process_table_forget_cpu(&t);
	assert_true(isnan(process_table_find(&t, 1)->cpu));
	process_table_free(&t);
}

static void test_bounds(void **state)
{
	struct process_row row = {.slot = PROCESS_TABLE_SLOTS};
	struct process_table t = {0};

	(void)state;
	process_table_begin(&t, SECOND, 0);
	assert_int_equal(process_table_put(&t, &row), -ENOSPC);
	assert_null(process_table_find(&t, UINT64_MAX));
	process_table_end(&t);
	assert_int_equal(t.rows.v.len, 0);
	process_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_churn),
		cmocka_unit_test(test_cpu),	cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
