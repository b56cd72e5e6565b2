/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing line, and the exit code that follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/run/summary.h"
#include "lib/snapfix.h"

static void expect(const struct summary *s, const char *want)
{
	struct strbuf line = STRBUF_INIT;

	summary_format(&line, s);
	assert_string_equal(line.buf, want);
	strbuf_free(&line);
}

static void everything_stands_in_one_line(void **state)
{
	struct summary s = {
		.samples = 10000,
		.by_status = {[SAMPLE_STATUS_COMPLETE] = 9960,
			      [SAMPLE_STATUS_TRUNCATED] = 20,
			      [SAMPLE_STATUS_BAD_BOUNDS] = 20},
		.counters = {[COUNTER_HITS] = 10012,
			     [COUNTER_RING_FULL] = 12,
			     [COUNTER_CODE_LOADS] = 3},
		.own_cpu = 0.214,
		.cost.percent = 0.03,
		.path = "out.html",
	};

	UNUSED(state);
	expect(&s, "Samples: 10,000  complete 99.6%  truncated 0.2%  bad_bounds 0.2%  "
		   "lost 12 (ring_full 12)  own CPU 0.21%  "
		   "cost to the node ~0.03% of its own CPU  -> out.html");
}

static void what_is_not_known_is_not_said(void **state)
{
	struct summary s = {.samples = 1,
			    .by_status = {[SAMPLE_STATUS_COMPLETE] = 1},
			    .own_cpu = -1,
			    .cost.percent = NAN};

	UNUSED(state);
	expect(&s, "Samples: 1  complete 100.0%  lost 0");
	s.samples = 0;
	expect(&s, "Samples: 0  lost 0");
}

static void every_loss_has_a_name(void **state)
{
	struct summary s = {
		.samples = 100,
		.by_status = {[SAMPLE_STATUS_COMPLETE] = 100},
		.counters = {[COUNTER_RING_FULL] = 1000,
			     [COUNTER_BAD_RECORD] = 2,
			     [COUNTER_READ_FAULT] = 7},
		.dropped_unknown = 3,
		.own_cpu = -1,
		.cost.percent = NAN,
	};

	UNUSED(state);
	expect(&s, "Samples: 100  complete 100.0%  lost 1,005 (undefined 3, ring_full 1000, "
		   "bad_record 2)  noted (read_fault 7)");
}

static void nearly_complete_is_not_complete(void **state)
{
	struct summary s = {
		.samples = 100000,
		.by_status = {[SAMPLE_STATUS_COMPLETE] = 99999, [SAMPLE_STATUS_AMBIGUOUS] = 1},
		.own_cpu = -1,
		.cost.percent = NAN};

	UNUSED(state);
	expect(&s, "Samples: 100,000  complete 99.9%  ambiguous 0.0%  lost 0");
	assert_int_equal(summary_exit_code(&s, 99.9), 0);
	assert_int_equal(summary_exit_code(&s, 100), 7);
}

static void completeness_decides_the_exit_code(void **state)
{
	struct summary s = {.samples = 10, .by_status = {[SAMPLE_STATUS_COMPLETE] = 9}};
	struct summary none = {0};

	UNUSED(state);
	assert_int_equal(summary_exit_code(&s, 0), 0);
	assert_int_equal(summary_exit_code(&s, 90), 0);
	assert_int_equal(summary_exit_code(&s, 90.1), 7);
	assert_int_equal(summary_exit_code(&none, 100), 0);
}

static void a_snapshot_fills_it(void **state)
{
	struct snapfix *fix = snapfix_open(NULL);
	struct summary s;
	uint32_t thread;

	UNUSED(state);
	thread = snapfix_thread(fix, THREAD_NORMAL, 1, 100, "1_scheduler");
	snapfix_text(fix, "a:b/1", SNAPSHOT_NONE, thread, SAMPLE_ERLANG, 40);
	snapfix_status(fix, SAMPLE_STATUS_COMPLETE, 30);
	snapfix_status(fix, SAMPLE_STATUS_TRUNCATED, 10);
	snapfix_counter(fix, "ring_full", 4);
	summary_of_snapshot(&s, snapfix_snapshot(fix));
	snapfix_close(fix);
	assert_int_equal(s.samples, 40);
	assert_true(summary_complete(&s) == 75.0);
	assert_int_equal(s.counters[COUNTER_RING_FULL], 4);
	assert_true(s.own_cpu < 0 && isnan(s.cost.percent));
	assert_null(s.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_stands_in_one_line),
		cmocka_unit_test(what_is_not_known_is_not_said),
		cmocka_unit_test(every_loss_has_a_name),
		cmocka_unit_test(nearly_complete_is_not_complete),
		cmocka_unit_test(completeness_decides_the_exit_code),
		cmocka_unit_test(a_snapshot_fills_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
