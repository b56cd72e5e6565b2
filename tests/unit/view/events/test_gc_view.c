/* SPDX-License-Identifier: BSD-2-Clause */
/* view/events/gc_view: the answer of `gc`, scaled for what was sampled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "lib/page.h"
#include "model/stream/event_stream.h"
#include "view/events/gc_view.h"

struct fixture {
	struct names *names;
	struct gc_stats stats;
	struct gc_answer answer;
	struct event_stream stream; /* all of the calls were seen */
	struct node_wide wide;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct gc_count silent = {
		.minor = 2, .total_ns = 3000, .unknown = 2, .heap = EVENT_UNKNOWN};
	const struct gc_count seen = {.minor = 3,
				      .major = 1,
				      .continued = 1,
				      .total_ns = 6000,
				      .estimate_ns = 12000,
				      .max_ns = 4000,
				      .reclaimed = 500,
				      .allocated = 700,
				      .reported = 3,
				      .heap = 233,
				      .old_heap = 100};
	const struct node_wide_asker asker = {.what = (char *)"purge of m", .process = 1, .nr = 2};
	uint32_t process;

	f->names = names_open();
	process = names_intern_process(f->names, 1,
				       names_intern_string(f->names, "<0.80.0>", 8, NULL),
				       names_intern_string(f->names, "busy", 4, NULL), 0, 0, NULL);
	process_groups_open(&f->stats.groups, f->names, PROCESS_GROUP_PROCESS, 0);
	vec_push(&f->stats.counts, silent);
	vec_push(&f->stats.counts, seen);
	assert_int_equal(process_groups_of(&f->stats.groups, process), 1);
	f->stats.total = seen;
	f->answer = (struct gc_answer){
		.stats = &f->stats,
		.collections = "~8",
		.scale = 2,
		.waited = 50,
		.schedulers = 4,
		.duration_ns = 1000000,
		.time = {.normal_ns = 10000,
			 .dirty_ns = 2000,
			 .of_normal_ns = 4000000,
			 .error_ns = NAN,
			 .normal_error_ns = NAN},
	};
	f->wide.stream = &f->stream;
	f->wide.work[NODE_WIDE_PURGE] = (struct node_wide_count){
		.nr = 2, .total_ns = 3000, .max_ns = 2000, .since_ns = 10000};
	vec_push(&f->wide.work[NODE_WIDE_PURGE].askers, asker);
	f->answer.wide = (struct node_wide_answer){
		.work = &f->wide, .names = f->names, .end_ns = 15000, .duration_ns = 1000000};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_groups_close(&f->stats.groups);
	vec_free(&f->stats.counts);
	vec_free(&f->wide.work[NODE_WIDE_PURGE].askers);
	names_close(f->names);
	free(f);
	return 0;
}

static void text_is_scaled(void **state)
{
	const struct fixture *f = *state;
	const struct table_options o = {.sort = "total_ns", .limit = 1};
	struct page p;

	page_answer(&p, &gc_view, &f->answer, &o);
	page_has(&p,
		 "In 1.00 ms: ~8 collections (6 minor, 2 major; 2 minor went over into a major one "
		 "and share its pause; 0 on dirty schedulers), ~12.0 us (2.00 us of it on dirty "
		 "schedulers), ~0.25 % of the time of 4 normal schedulers; 1,000 words reclaimed "
		 "(7.8 KiB)\n");
	page_has(&p,
		 "\n\n"
		 "WORK OF THE WHOLE NODE            COUNT     /S    TOTAL      MAX  ASKED FOR BY\n"
		 "code purge              2 + 1 under way  2,000  8.00 us  5.00 us  purge of m of "
		 "<0.80.0> busy (2)\n"
		 "\n"
		 "minor pauses");
	page_has(&p, "\n"
		     "MINOR  MAJOR    TOTAL      MAX     MEAN  WORDS RECLAIMED  WORDS ALLOCATED  "
		     "HEAP WORDS AFTER  WHOSE     "
		     "NAME\n"
		     "    6      2  12.0 us  4.00 us  2.00 us            1,000            1,400    "
		     "           333  "
		     "<0.80.0>  "
		     "busy\n"
		     "(1 of 2; -n shows more)\n");
	page_close(&p);
}

static void what_is_not_known_is_null(void **state)
{
	const struct fixture *f = *state;
	const struct table_options o = {.sort = "-reclaimed", .limit = 1};
	struct page p;

	page_answer_json(&p, &gc_view, &f->answer, &o);
	page_has(&p, "\"error_ns\": null, \"scheduler_percent\": 0.25");
	page_has(&p, "\"mean_ns\": 2000, \"reclaimed\": 1000, \"allocated\": 1400, "
		     "\"minor_continued\": 2, \"reclaimed_unknown\": 0, \"dirty_ns\": 2000");
	page_has(&p, "\"allocated\": null, \"heap_after\": null, \"heap\": null, "
		     "\"old_heap\": 0, \"max_heap\": 0, \"group\": \"[none]\", "
		     "\"name\": null");
	page_has(&p, "\"code_purges\": {\"count\": 2, \"per_s\": 2000, \"total_ns\": 8000, "
		     "\"max_ns\": 5000, "
		     "\"under_way_ns\": 5000, \"asked_by\": [{\"what\": \"purge of m\", "
		     "\"key\": null, "
		     "\"pid\": \"<0.80.0>\", \"name\": \"busy\", \"function\": null, "
		     "\"count\": 2}]}");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(text_is_scaled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_null, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
