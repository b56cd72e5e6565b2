/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run of a program takes: the least of several stretches, once it matters. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "probe/attach/run_times.h"

static void test_learns(void **state)
{
	struct run_time r = {0};
	uint64_t runs = 0, ns = 0;

	UNUSED(state);
	assert_false(run_time_wanted(&r, RUN_TIME_WANTED - 1));
	assert_true(run_time_wanted(&r, RUN_TIME_WANTED));
	assert_float_equal(run_time_ns(&r), RUN_TIME_GUESS_NS, 0);
	/* The second stretch was preempted, the third is the least. */
	for (unsigned int i = 0; i < RUN_TIME_STRETCHES; i++) {
		assert_false(run_time_known(&r));
		runs += 100;
		ns += 100 * (i == 1 ? 40000 : i == 2 ? 80 : 90);
		run_time_take(&r, runs, ns);
	}
	assert_true(run_time_known(&r));
	assert_float_equal(run_time_ns(&r), 80, 1e-9);
	assert_false(run_time_wanted(&r, 1000000));
}

/* A few runs are no stretch: they count with those after them.  Nor are none. */
static void test_few(void **state)
{
	struct run_time r = {0};

	UNUSED(state);
	run_time_take(&r, 0, 0);
	run_time_take(&r, RUN_TIME_RUNS - 1, 1000000);
	assert_int_equal(r.stretches, 0);
	run_time_take(&r, RUN_TIME_RUNS, RUN_TIME_RUNS * 100);
	assert_int_equal(r.stretches, 1);
	assert_float_equal(r.least_ns, 100, 1e-9);
	run_time_take(&r, RUN_TIME_RUNS, RUN_TIME_RUNS * 100);
	assert_int_equal(r.stretches, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
