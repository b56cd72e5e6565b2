/* SPDX-License-Identifier: BSD-2-Clause */
/* What probes cost: found from nodes whose truth is known, left alone where it does not show. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "probe/limit/cost_fit.h"

static uint32_t seed = 1;

/* 1 +- part */
static double noise(double part)
{
	seed = seed * 1103515245u + 12345u;
	return 1 + part * ((seed >> 16) % 2001 / 1000.0 - 1);
}

/* Windows of `on` ns and pauses of `off` ns of CPU on a node that needs 190 ns for a unit of work,
 * with `hits` of 1000 ns as calibrated for each, truly `factor` times that. */
static double fitted(double factor, double hits, double on, double off, double part)
{
	struct cost_fit f = {0};
	double unit_on = 190 + hits * 1000 * factor;

	for (unsigned int i = 0; i < 200; i++) {
		double cpu = on * noise(0.3), units = cpu / unit_on;

		cost_fit_add(&f, units * 10, units * hits * 1000, cpu * noise(part));
		cpu = off * noise(0.3);
		cost_fit_add(&f, cpu / 190 * 10, 0, cpu * noise(part));
	}
	return cost_fit_factor(&f);
}

static void test_found(void **state)
{
	UNUSED(state);
	for (double factor = 1.1; factor < 4; factor += 0.3) {
		assert_true(fabs(fitted(factor, 1, 5e6, 5e8, 0) - factor) < 0.001);
		assert_true(fabs(fitted(factor, 1.5, 5e6, 5e8, 0.1) / factor - 1) < 0.1);
		assert_true(fabs(fitted(factor, 0.5, 1e8, 1e8, 0.1) / factor - 1) < 0.1);
	}
}

static void test_bounds(void **state)
{
	UNUSED(state);
	assert_true(fitted(20, 1, 5e6, 5e8, 0) == COST_FIT_MOST);
	assert_true(fitted(0.01, 1, 5e6, 5e8, 0) == COST_FIT_LEAST);
	assert_true(fitted(0.8, 1, 5e6, 5e8, 0) == COST_FIT_LEAST);
}

/* Nothing was switched, nothing was hit, or it costs too little to show. */
static void test_unknown(void **state)
{
	struct cost_fit f = {0};

	UNUSED(state);
	assert_true(cost_fit_factor(&f) == 1);
	for (unsigned int i = 0; i < 100; i++) {
		cost_fit_add(&f, 1000 * noise(0.5), 0, 1e6);
		assert_true(cost_fit_factor(&f) == 1);
	}
	f = (struct cost_fit){0};
	for (unsigned int i = 0; i < 100; i++) {
		double units = 1000 * noise(0.5);

		cost_fit_add(&f, units, units * 100, units * 400);
		assert_true(cost_fit_factor(&f) == 1); /* always on: work and cost are the same */
	}
	assert_true(fitted(3, 0.001, 5e6, 5e8, 0.3) == 1);
	cost_fit_add(&f, 0, 0, 0);
	assert_true(cost_fit_factor(&f) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
