/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that were missed while a breakpoint was off, of loads whose calls are known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "probe/breakpoint/gap_estimate.h"

#define WINDOW 10e6 /* ns */
#define GAP    200e6
#define NR     60 /* windows of a run */

struct load {
	double rate;	   /* calls a ns in a burst */
	double on, period; /* ns: length of a burst, from one to the next; 0 = steady */
};

static double uniform(void)
{
	return (drand48() * 4294967295.0 + 1) / 4294967297.0;
}

/* The next call after t. */
static double next_call(const struct load *l, double t)
{
	double left = -log(uniform()) / l->rate, at, room;

	if (l->period <= 0)
		return t + left;
	for (;;) {
		at = fmod(t, l->period);
		room = at < l->on ? l->on - at : 0;
		if (left < room)
			return t + left;
		left -= room;
		t += l->period - at;
	}
}

/* One run: windows of at most `hits`; how far off the estimate is, and what it says that it may be,
 * both of the true number. */
static double run(const struct load *l, uint64_t hits, double *error)
{
	struct gap_estimate e = {0};
	double t = uniform() * 1e9, truth = 0, missed;

	for (int i = 0; i < NR; i++) {
		double begin = t, at, gap = i ? GAP * (0.5 + uniform()) : 0;
		uint64_t nr = 0;

		for (at = next_call(l, begin); at < begin + gap; at = next_call(l, at))
			truth++;
		begin += gap;
		for (at = next_call(l, begin); at < begin + WINDOW && nr < hits;
		     at = next_call(l, t)) {
			nr++;
			t = at;
		}
		t = nr == hits ? t : begin + WINDOW;
		gap_estimate_add(&e, gap, nr, t - begin, nr == hits);
	}
	missed = gap_estimate_missed(&e, 0, error);
	*error /= truth;
	return missed / truth - 1;
}

/* The truth lies in the interval that is stated as often as it should. */
static void check_interval(const struct load *l, uint64_t hits)
{
	double error, off, sum = 0;
	int inside = 0;

	srand48(4711);
	for (int i = 0; i < 200; i++) {
		off = run(l, hits, &error);
		sum += off;
		inside += fabs(off) <= error;
		assert_true(error < 1);
	}
	assert_true(inside >= 180);
	assert_true(fabs(sum / 200) < 0.03);
}

static void steady(void **state)
{
	const struct load l = {.rate = 20e-6};

	UNUSED(state);
	check_interval(&l, 10000);
	/* Each window is cut by its hits: as good, where nothing comes in bursts. */
	check_interval(&l, 50);
}

static void bursts(void **state)
{
	const struct load l = {.rate = 100e-6, .on = 60e6, .period = 300e6};

	UNUSED(state);
	check_interval(&l, 100000);
}

static void nothing(void **state)
{
	struct gap_estimate e = {0};
	double error;

	UNUSED(state);
	assert_true(gap_estimate_missed(&e, 1e9, &error) == 0 && error == 0);
	gap_estimate_add(&e, 5, 1, 0, true); /* no time at all */
	assert_int_equal(e.windows, 0);
	gap_estimate_add(&e, 0, 0, 1e6, false);
	assert_true(gap_estimate_missed(&e, 1e9, &error) == 0 && error == 0);
	/* One window says nothing of how they differ. */
	gap_estimate_add(&e, 1e6, 11, 1e6, true);
	assert_true(fabs(gap_estimate_missed(&e, 0, &error) - 10) < 1e-9);
	assert_true(error > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady),
		cmocka_unit_test(bursts),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
