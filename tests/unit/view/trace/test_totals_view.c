/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of `ebeam trace`, added up, as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/trace/totals_view.h"

static struct totals_row callers[] = {
	{.function = "m:f/1",
	 .what = "m:g/0 (m.erl:7)",
	 .share = 75,
	 .calls = 3,
	 .ends = 2,
	 .exceptions = 1,
	 .total_ns = 3001,
	 .max_ns = 2000},
	{.function = "[others]", .share = 25, .calls = 1},
};
static struct totals_row shapes[] = {
	{.function = "m:f/1", .what = "[N,N]", .share = 100, .calls = 3}};
static struct totals_durations durations[] = {{"m:f/1", NULL}};
static struct totals_slow slowest[] = {{2000, "m:f/1", "[1,2]"}};

static const struct totals_answer answer = {
	.count = true,
	.histogram = true,
	.args = true,
	.callers = callers,
	.shapes = shapes,
	.durations = durations,
	.slowest = slowest,
	.nr_callers = ARRAY_SIZE(callers),
	.nr_shapes = ARRAY_SIZE(shapes),
	.nr_durations = ARRAY_SIZE(durations),
	.nr_slowest = ARRAY_SIZE(slowest),
	.hit_ns = 4000,
	.unsure_ns = 1000,
};

static void as_text(void **state)
{
	struct page p;

	UNUSED(state);
	page_answer(&p, &totals_view, &answer, &(struct table_options){.limit = 1});
	page_expect(
		&p,
		"CALLS   SHARE  EXCEPTIONS     MEAN      MAX  FUNCTION  CALLER\n"
		"    3  75.0 %           1  1.50 us  2.00 us  m:f/1     m:g/0 (m.erl:7)\n"
		"(1 of 2; -n shows more)\n"
		"m:f/1: no durations, as no call was seen to return (a capture has returns if it "
		"was recorded with '-> return')\n"
		"CALLS    SHARE  MEAN  MAX  FUNCTION  ARGUMENTS\n"
		"    3  100.0 %     -    -  m:f/1     [N,N]\n"
		"\n"
		"The slowest\n"
		"  2.00 us  m:f/1  [1,2]\n"
		"\n"
		"Durations are without the time that tracing took, 4.00 us for a call without "
		"traced "
		"calls inside: one below 1.00 us may be zero.\n");
}

static void as_json(void **state)
{
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &totals_view, &answer, &(struct table_options){0});
	page_expect(&p,
		    "{\"callers\": [{\"calls\": 3, \"mfa\": \"m:f/1\", "
		    "\"caller\": \"m:g/0 (m.erl:7)\", \"ends\": 2, \"exceptions\": 1, "
		    "\"total_ns\": 3001, \"max_ns\": 2000}, {\"calls\": 1, \"mfa\": \"[others]\", "
		    "\"caller\": null, \"ends\": 0, \"exceptions\": 0, \"total_ns\": 0, "
		    "\"max_ns\": 0}], \"shapes\": [{\"calls\": 3, \"mfa\": \"m:f/1\", "
		    "\"args\": \"[N,N]\", \"ends\": 0, \"exceptions\": 0, \"total_ns\": 0, "
		    "\"max_ns\": 0}], \"durations\": [], \"slowest\": [{\"duration_ns\": 2000, "
		    "\"mfa\": \"m:f/1\", \"args\": \"[1,2]\"}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("totals_view", tests, NULL, NULL);
}
