/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of loads whose waits are known, with first hits that take what they do on busy hosts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "abi/config.h"
#include "base/compiler.h"
#include "probe/breakpoint/gap_estimate.h"
#include "probe/breakpoint/window_wait.h"

#define FAST 1.6 /* ns of a reduction */
#define HIT  6400.0
#define GAP  1e7
#define NR   20 /* windows of a run */

/* What a first hit takes: 3 usual hits, and as much again in one window of three. */
static double first_hit_ns(void)
{
	return HIT * (2.5 + drand48() + (drand48() < 0.33 ? 1 + 4 * drand48() : 0));
}

/* A process has done part of its slice as a window begins. */
static double seen_wait(struct window_waits *w, double wait, double reduction_ns, double between,
			uint64_t hits)
{
	const struct window_first_hit first = {
		.ns = wait * reduction_ns + first_hit_ns(),
		.hit_ns = HIT,
		.reduction_ns = reduction_ns,
		.room = wait + drand48() * (BEAM_CONTEXT_REDS - 1),
		.between = between,
		.hits = hits,
	};
	double seen = window_wait(w, &first);

	assert_true(seen <= first.room);
	return seen;
}

/* At each reduction a call. */
static void full_speed_of(double reduction_ns)
{
	srand48(4711);
	for (int run = 0; run < 100; run++) {
		struct window_waits w = {0};
		struct gap_estimate e = {0};
		double error, missed;

		for (int i = 0; i < NR; i++) {
			uint64_t hits = 10 + (uint64_t)(50 * drand48());
			double wait = seen_wait(&w, 0, reduction_ns, 1, hits);

			gap_estimate_add(&e, GAP, hits, wait + (double)hits - 1, true);
		}
		missed = gap_estimate_missed(&e, 0, &error);
		assert_true(missed > 0.96 * NR * GAP && missed < 1.001 * NR * GAP);
		error += window_wait_error(&w) * missed;
		assert_true(missed + error >= NR * GAP && error < 0.1 * missed);
		assert_int_equal(w.waited, 0);
	}
}

static void full_speed(void **state)
{
	static const double speeds[] = {FAST, 6, 12, 16, 25, 50};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		full_speed_of(speeds[i]);
}

/* Calls at each reduction, and then none for 20,000: in those nearly all windows begin. */
static void bursts(void **state)
{
	struct window_waits w = {0};
	double all = 0, seen = 0;

	UNUSED(state);
	srand48(4711);
	for (int i = 0; i < 1000; i++) {
		double wait = 20000 * drand48();

		all += wait;
		seen += seen_wait(&w, wait, FAST, 1, 20);
	}
	assert_true(seen > 0.9 * all && seen < 1.3 * all);
	/* What is not known is taken for a wait. */
	assert_true(window_wait(&w, &(struct window_first_hit){
					    .ns = 5 * HIT,
					    .hit_ns = HIT,
					    .reduction_ns = FAST,
					    .room = 1000,
					    .between = 1,
				    }) == 1000);
}

/* Code of which a slice takes longer than any hit: time tells. */
static void slow(void **state)
{
	struct window_waits w = {0};

	UNUSED(state);
	srand48(4711);
	for (int i = 0; i < 1000; i++) {
		double wait = 1000 + 3000 * drand48(), seen = seen_wait(&w, wait, 100, 1, 20);

		assert_true(seen >= wait && seen <= wait + 10 * HIT / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_speed),
		cmocka_unit_test(bursts),
		cmocka_unit_test(slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
