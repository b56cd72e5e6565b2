/* SPDX-License-Identifier: BSD-2-Clause */
/* How many samples one stands for, of nodes whose samples cost what is known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "probe/limit/sample_limit.h"

/* Seconds of a node that uses `cores`, each sample of which costs cost_ns at freq Hz: percent that
 * all took in the end. */
static double run(struct sample_limit *l, double cores, unsigned int freq, double cost_ns,
		  int seconds)
{
	struct sample_clocks c = {0};

	for (int i = 0; i < seconds; i++) {
		c.spent_ns += cores * freq / l->weight * cost_ns;
		c.own_ns += cores * 1e9;
		c.wall_ns += 1e9;
		sample_limit_step(l, &c);
	}
	return 100 * c.spent_ns / c.own_ns;
}

static void test_allowed(void **state)
{
	struct sample_limit l;

	UNUSED(state);
	sample_limit_init(&l, 1, 99);
	assert_true(run(&l, 2, 99, 50000, 60) < 0.5);
	assert_int_equal(l.weight, 1);
}

static void test_too_much(void **state)
{
	struct sample_limit l;

	UNUSED(state);
	sample_limit_init(&l, 1, 99);
	/* 9.9 %: 16 times fewer at once, and once more for what the first second took. */
	assert_true(run(&l, 2, 99, 1e6, 60) < 1);
	assert_int_equal(l.weight, 32);
}

static void test_least(void **state)
{
	struct sample_limit l;

	UNUSED(state);
	sample_limit_init(&l, 1, 99);
	run(&l, 2, 99, 1e8, 60);
	assert_int_equal(l.weight, 64);
	sample_limit_init(&l, 1, 1);
	run(&l, 2, 1, 1e8, 60);
	assert_int_equal(l.weight, 1);
}

/* The same cost of one that is idle is limited as if it used a tenth of a core. */
static void test_idle(void **state)
{
	struct sample_clocks c = {.spent_ns = 2e6, .own_ns = 6e8, .wall_ns = 1e10};
	struct sample_limit l;

	UNUSED(state);
	sample_limit_init(&l, 1, 99);
	assert_false(sample_limit_step(&l, &c));
	c.spent_ns = 1.5e7;
	c.own_ns = 1.2e9;
	c.wall_ns = 2e10;
	assert_true(sample_limit_step(&l, &c));
	assert_true(l.of_core);
	assert_int_equal(l.weight, 2);
}

/* A span in which the node used next to nothing says nothing. */
static void test_short(void **state)
{
	struct sample_clocks c = {.spent_ns = 1e7, .own_ns = 4e8, .wall_ns = 1e9};
	struct sample_limit l;

	UNUSED(state);
	sample_limit_init(&l, 1, 99);
	assert_false(sample_limit_step(&l, &c));
	c.own_ns = 6e8;
	assert_true(sample_limit_step(&l, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed), cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_least),	cmocka_unit_test(test_idle),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
