/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam events --count` as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/count_view.h"

static const struct event_rates rates = {
	.rows = {{.name = "gc_minor_end",
		  .group = "gc",
		  .rate = 40,
		  .bytes = NAN,
		  .time = NAN,
		  .longest_ns = 5000,
		  .total = 80,
		  .seen = 20,
		  .lost = EVENT_UNKNOWN,
		  .share = 0.25,
		  .cost = NAN,
		  .state = EVENT_RATE_SAMPLED},
		 {.name = "nif_call",
		  .rate = NAN,
		  .bytes = NAN,
		  .time = NAN,
		  .total = NAN,
		  .share = NAN,
		  .cost = NAN,
		  .state = EVENT_RATE_MISSING,
		  .why = "not here"}},
	.nr = 2,
};

static void as_text(void **state)
{
	const struct table_options o = {.sort = "total"};
	struct count_answer a = {.rates = &rates, .duration_ns = 2000000000u};
	struct page p;

	UNUSED(state);
	page_answer(&p, &count_view, &a, &o);
	page_expect(&p, "EVENT         RATE/S  TOTAL  WATCHED  COST  STATE\n"
			"gc_minor_end      40    ~80      25%     -  sampled\n"
			"\n"
			"In 2.00 s; 1 other kinds did not happen\n");
	a.all = true;
	page_answer(&p, &count_view, &a, &o);
	page_has(&p, "nif_call           -      -        -     -  missing: not here\n");
	page_close(&p);
}

static void as_json(void **state)
{
	const struct count_answer a = {.rates = &rates, .start_ns = 7, .duration_ns = 2000000000u};
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &count_view, &a, &(struct table_options){.sort = "total", .limit = 1});
	page_expect(&p, "{\"start_ns\": 7, \"duration_ns\": 2000000000, \"rows\": [{"
			"\"event\": \"gc_minor_end\", \"rate\": 40, \"total\": 80, "
			"\"bytes_per_s\": null, \"time\": null, \"longest_ns\": 5000, "
			"\"share\": 0.25, \"seen\": 20, \"lost\": null, \"cost\": null, "
			"\"state\": \"sampled\", \"missing\": null}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("count_view", tests, NULL, NULL);
}
