/* SPDX-License-Identifier: BSD-2-Clause */
/* view/events/alloc_view: the answer of `alloc`, of a node and of a capture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/alloc_view.h"

static const struct alloc_held held = {.mbcs = {2, 2048}, .pool = {1, 1024}};
static const struct alloc_row rows[] = {
	{.type = "ets_alloc", .c.mbcs = {.destroyed = 1, .destroyed_bytes = 512}, .delta = -512},
	{.type = "sl_alloc", .delta = NAN},
	{.type = "eheap_alloc",
	 .c = {.mbcs = {.created = 2, .created_bytes = 1024}, .sbcs = {.created = 1}},
	 .now = &held,
	 .delta = 1024,
	 .churn = 1.5},
};
static const struct histogram sizes;
static const struct alloc_answer answer = {.rows = rows,
					   .nr_rows = ARRAY_SIZE(rows),
					   .sizes = &sizes,
					   .sizes_scale = 1,
					   .share_seen = 1,
					   .duration_ns = 2000000000};

static void text_adds_both_kinds(void **state)
{
	const struct table_options o = {.columns = "type,created,destroyed,delta,carriers_now,now",
					.sort = "delta"};
	struct page p;

	UNUSED(state);
	page_answer(&p, &alloc_view, &answer, &o);
	page_expect(&p, "In 2.00 s: 3 carriers created (1.0 KiB), 1 destroyed (512 B)\n"
			"\n"
			"ALLOCATOR    CREATED  DESTROYED     DELTA  CARRIERS      NOW\n"
			"eheap_alloc        3          0  +1.0 KiB         3  3.0 KiB\n"
			"ets_alloc          0          1    -512 B         -        -\n"
			"sl_alloc           0          0         -         -        -\n");
}

static void json_keeps_them_apart(void **state)
{
	const struct table_options o = {.sort = "churn", .limit = 1};
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &alloc_view, &answer, &o);
	page_has(&p, "{\"type\": \"eheap_alloc\", \"churn\": 1.5, "
		     "\"resized\": 0, \"pool_put\": 0, \"pool_get\": 0, "
		     "\"mbcs\": {\"created\": 2, \"created_bytes\": 1024, ");
	page_has(&p, "\"begin\": null, \"now\": {\"mbcs\": 2, "
		     "\"mbcs_bytes\": 2048, ");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_adds_both_kinds),
		cmocka_unit_test(json_keeps_them_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
