/* SPDX-License-Identifier: BSD-2-Clause */
/* view/events/locks_view: the answer of `locks`, as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/locks_view.h"

static const struct lock_row locks[] = {
	{.lock = "ets table routes",
	 .kind = "lock: ets",
	 .waits = 1200,
	 .waits_margin = 30,
	 .total_ns = 3000000,
	 .margin_ns = 70000,
	 .max_ns = 900000,
	 .objects = 6,
	 .write_concurrency = "auto",
	 .read_concurrency = "false"},
	{.kind = "lock: other",
	 .waits = 1,
	 .total_ns = 12000,
	 .max_ns = 12000,
	 .objects = UINT64_MAX},
};
static const struct lock_row places[] = {
	{.waits = 1200, .function = "ets:insert/2", .caller = "m:f/1", .lock = "ets table routes"},
	{.waits = 2, .function = "m:g/1"},
	{.waits = 1},
};
static const struct lock_row groups[] = {
	{.waits = 1200, .nr = 16, .name = "viewer:loop/1", .lock = "ets table routes"},
	{.waits = 3, .nr = 2},
	{.waits = 2, .nr = 1, .pid = "<0.80.0>", .name = "router"},
	{.waits = 1, .nr = 1, .pid = "<0.81.0>"},
};
static const struct lock_row waiters[] = {
	{.lock = "ets table routes",
	 .kind = "lock: ets",
	 .pid = "<0.80.0>",
	 .name = "router",
	 .waits = 1200,
	 .total_ns = 3000000},
	{.kind = "lock: other", .waits = 1, .total_ns = 12000},
};
static uint64_t margins[HISTOGRAM_POWERS];
static struct histogram lengths;
static struct locks_answer answer = {
	.duration_ns = 2000000000,
	.all = {.waits = 1201,
		.waits_margin = 30,
		.total_ns = 3012000,
		.margin_ns = 70000,
		.max_ns = 900000},
	.spin_ns = 40000000,
	.spin_samples = 4,
	.locks = locks,
	.places = places,
	.nr_places = ARRAY_SIZE(places),
	.waiter_groups = groups,
	.nr_waiter_groups = ARRAY_SIZE(groups),
	.waiters = waiters,
	.nr_locks = ARRAY_SIZE(locks),
	.nr_waiters = ARRAY_SIZE(waiters),
	.waits = &lengths,
	.waits_margins = margins,
};

static int set_up(void **state)
{
	UNUSED(state);
	histogram_add(&lengths, 3000, 1200);
	histogram_add(&lengths, 12000, 1);
	margins[histogram_power(3000)] = 30;
	return 0;
}

static void text(void **state)
{
	const struct table_options o = {0};
	struct page p;

	UNUSED(state);
	page_answer(&p, &locks_view, &answer, &o);
	page_has(&p, "2.0 s  waits 1,201 +- 30  blocked 3.01 ms +- 70.0 us  longest 900.0 us  "
		     "on CPUs for locks 40.0 ms\n");
	page_has(&p, "\nLocks\n");
	page_has(&p, "1,200  30  3.00 ms  70.0 us");
	page_has(&p, "lock: ets    ets table routes        6  auto         false\n");
	page_has(&p, "lock: other  -                       -  -            -\n");
	page_has(&p, "\nWhere they waited\n");
	page_has(&p, "ets:insert/2 in m:f/1  -     ets table routes\n");
	page_has(&p, "  m:g/1 ");
	page_has(&p, "\nWho waited\n");
	page_has(&p, "16 x viewer:loop/1 ");
	page_has(&p, "2 x processes without a name ");
	page_has(&p, "<0.80.0> router ");
	page_has(&p, "1,200 +- 30 ");
	page_close(&p);
}

static void what_is_not_known_is_said(void **state)
{
	const struct table_options o = {0};
	struct locks_answer a = answer;
	struct page p;

	UNUSED(state);
	a.not_copied_ns = 30000000;
	a.overflows = 7;
	page_answer(&p, &locks_view, &a, &o);
	page_has(&p, "30.0 ms in futexes of which it is not known whether they are locks");
	page_has(&p, "7 waits have none\n");
	page_close(&p);
}

static void nothing_waited(void **state)
{
	static const struct histogram none;
	const struct locks_answer a = {
		.duration_ns = 1000000000, .waits = &none, .waits_margins = margins};
	const struct table_options o = {0};
	struct page p;

	UNUSED(state);
	page_answer(&p, &locks_view, &a, &o);
	page_has(&p, "1.0 s  waits 0 +- 0  blocked 0 ns");
	page_close(&p);
}

static void json(void **state)
{
	const struct table_options o = {.limit = 1};
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &locks_view, &answer, &o);
	page_has(&p, "\"waits\": 1201, \"waits_margin\": 30, \"total_ns\": 3012000, "
		     "\"margin_ns\": 70000, \"max_ns\": 900000, \"spin_ns\": 40000000");
	page_has(&p, "\"kind\": \"lock: ets\", \"lock\": \"ets table routes\"}");
	page_has(&p, "\"pid\": \"<0.80.0>\", \"name\": \"router\"");
	page_has(&p, "{\"from\": 2048, \"to\": 4095, \"count\": 1200, \"margin\": 30}");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),
		cmocka_unit_test(what_is_not_known_is_said),
		cmocka_unit_test(nothing_waited),
		cmocka_unit_test(json),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
