/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of programs that cost too much, simulated: the limit holds, and sums are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "probe/limit/record_windows.h"

#define STEP_NS 5e7
#define STEPS	2000 /* 100 s */

/* A node that uses half a core, and waits in 0.4 of each second: then programs cost `cost` of a
 * core.  Returns what was counted by what there was. */
static double run(double percent, double cost, uint64_t seed, struct record_windows *w,
		  struct sample_clocks *c)
{
	double truth = 0, counted = 0, window = 0;

	record_windows_init(w, percent, STEPS * STEP_NS, seed);
	*c = (struct sample_clocks){0};
	for (int i = 0; i < STEPS; i++) {
		bool busy = i % 20 < 8;
		enum record_windows_step step;

		truth += busy;
		c->wall_ns += STEP_NS;
		c->own_ns += 0.5 * STEP_NS;
		if (!w->paused) {
			c->spent_ns += busy ? cost * STEP_NS : 0;
			window += busy;
		}
		step = record_windows_step(w, c, STEP_NS);
		if (step == RECORD_WINDOWS_PAUSE) {
			counted += window * w->stands_for;
			window = 0;
		}
	}
	if (!w->begun)
		return window / truth;
	if (record_windows_end(w, c))
		counted += window * w->stands_for;
	return counted / truth * c->wall_ns / w->covered_ns;
}

static void holds_the_limit(void **state)
{
	struct record_windows w;
	struct sample_clocks c;
	double sum = 0;

	UNUSED(state);
	for (uint64_t seed = 1; seed <= 100; seed++) {
		sum += run(1, 0.06, seed * 7919, &w, &c);
		assert_true(w.begun && w.nr >= 20);
		assert_true(100 * c.spent_ns / c.own_ns < 1.25);
		assert_true(w.on_ns < 0.5 * c.wall_ns);
	}
	/* The error of one run is some 10 %. */
	assert_true(fabs(sum / 100 - 1) < 0.06);
}

static void all_of_it_if_it_may(void **state)
{
	struct record_windows w;
	struct sample_clocks c;

	UNUSED(state);
	assert_true(run(1, 0.004, 1, &w, &c) == 1);
	assert_false(w.begun);
	/* Whatever they cost: by the clocks that may be more than all, if the node gets no CPU. */
	assert_true(run(100, 3, 1, &w, &c) == 1);
	assert_false(w.begun);
}

static void a_window_stands_for_its_span(void **state)
{
	struct record_windows w;
	struct sample_clocks c = {.spent_ns = 1e8, .own_ns = 1e8, .wall_ns = 1e9};

	UNUSED(state);
	record_windows_init(&w, 1, 0, 1);
	assert_int_equal(record_windows_step(&w, &c, STEP_NS), RECORD_WINDOWS_PAUSE);
	/* What came before stands for itself. */
	assert_true(w.stands_for == 1 && w.nr == 1 && w.covered_ns == 1e9);
	assert_false(record_windows_end(&w, &c));
	c.wall_ns = w.window_ns;
	assert_int_equal(record_windows_step(&w, &c, STEP_NS), RECORD_WINDOWS_RESUME);
	c.wall_ns += STEP_NS;
	assert_true(record_windows_end(&w, &c));
	assert_true(fabs(w.stands_for - (w.covered_ns - 1e9) / STEP_NS) < 1e-6);
	assert_true(w.stands_for > 1);
	/* The span ends with the run. */
	assert_true(w.covered_ns == c.wall_ns);
}

/* A window that has hardly begun at the end is left out. */
static void the_last_window_may_be_short(void **state)
{
	struct record_windows w;
	struct sample_clocks c = {.spent_ns = 1e8, .own_ns = 1e8, .wall_ns = 1e9};

	UNUSED(state);
	record_windows_init(&w, 1, 0, 1);
	assert_int_equal(record_windows_step(&w, &c, STEP_NS), RECORD_WINDOWS_PAUSE);
	c.wall_ns = w.window_ns;
	assert_int_equal(record_windows_step(&w, &c, STEP_NS), RECORD_WINDOWS_RESUME);
	c.wall_ns += STEP_NS / 100;
	assert_true(record_windows_end(&w, &c));
	assert_true(w.stands_for == 0 && w.nr == 1 && w.covered_ns == 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_the_limit),
		cmocka_unit_test(all_of_it_if_it_may),
		cmocka_unit_test(a_window_stands_for_its_span),
		cmocka_unit_test(the_last_window_may_be_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
