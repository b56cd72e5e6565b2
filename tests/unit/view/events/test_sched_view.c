/* SPDX-License-Identifier: BSD-2-Clause */
/* view/events/sched_view: the answer of `sched`, its parts scaled by what was seen of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "lib/page.h"
#include "view/events/sched_view.h"

struct fixture {
	struct names *names;
	struct sched_stats stats;
	struct sched_answer answer;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct sched_count seen = {
		.slices = 3,
		.time_ns = 3000,
		.dirty_ns = 1000,
		.max_ns = 2000000,
		.max_cut = true,
		.seen_long = {.nr = 1, .ns = 1500},
		.all_long = {.nr = 2, .ns = 5000},
		.reductions = 400,
		.waits = 2,
		.wait_ns = 600,
		.max_wait_ns = 500,
	};
	/* In an order that is not theirs. */
	const struct sched_cpu offline = {.type = THREAD_NORMAL, .number = 2, .use.offline_ns = 9};
	const struct sched_cpu busy = {.type = THREAD_NORMAL,
				       .number = 1,
				       .slices = 3,
				       .use = {.counted_ns = 1000,
					       .counted_work_ns = 500,
					       .thread_ns = 1000,
					       .on_cpu_ns = 400,
					       .cpu_wait_ns = 100,
					       .online_ns = 1000}};
	const struct sched_cpu idle = {.type = THREAD_DIRTY_IO, .number = 1};

	f->names = names_open();
	process_groups_open(&f->stats.groups, f->names, PROCESS_GROUP_NAME, 0);
	vec_push(&f->stats.counts, seen);
	vec_push(&f->stats.cpus, offline);
	vec_push(&f->stats.cpus, idle);
	vec_push(&f->stats.cpus, busy);
	f->stats.total = seen;
	f->stats.nr_long = 2;
	f->stats.long_ns = 10000000;
	f->stats.left[SCHED_LEFT_YIELDED] = 3;
	f->answer = (struct sched_answer){
		.stats = &f->stats,
		.scale = 2,
		.long_scale = 1,
		.time_scale = 3,
		.dirty_scale = 4,
		.by_memory = true,
		.joined = true,
		.duration_ns = 1000000000,
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_groups_close(&f->stats.groups);
	vec_free(&f->stats.counts);
	vec_free(&f->stats.cpus);
	names_close(f->names);
	free(f);
	return 0;
}

static void long_slices_are_not_scaled(void **state)
{
	const struct fixture *f = *state;
	const struct table_options o = {.sort = "time_ns"};
	struct page p;

	page_answer(&p, &sched_view, &f->answer, &o);
	page_has(&p, "1.0 s  schedulers 50.0 % busy  slices 6 (6/s)  longer than 10.0 ms: 2\n"
		     "Slices and waits that a sampling window truncated are excluded: counts");
	page_has(&p, "normal      1        50.0%      50.0%      -      -   40.0%     10.0%"
		     "       6\n");
	page_has(&p, "1 schedulers are offline");
	page_has(&p, "1 dirty schedulers did nothing");
	page_has(&p, "slices ended: 6 yielded\n");
	/* 2 short ones stand for 4; 500 ns on normal schedulers for 1500, 1000 ns on dirty ones
	 * for 4000, and 5000 ns of long ones for themselves. */
	page_has(&p, "   TIME  SHARE  SLICES         MAX  REDS   WAITED  MAX WAIT  WHOSE\n"
		     "10.5 us   0.0%       6  >= 2.00 ms   800  1.80 us    500 ns  [none]\n");
	page_close(&p);
}

static void json_has_what_text_leaves_out(void **state)
{
	const struct fixture *f = *state;
	const struct table_options o = {.sort = "time_ns"};
	struct page p;

	page_answer_json(&p, &sched_view, &f->answer, &o);
	page_has(&p, "\"utilization\": {\"normal\": 50, \"dirty_cpu\": null, "
		     "\"dirty_io\": null}");
	page_has(&p, "{\"type\": \"dirty_io\", \"utilization\": null");
	page_has(&p, "\"scheduler\": 2, \"online\": false");
	page_has(&p, "{\"time_ns\": 10500, \"dirty_ns\": 4000, \"slices\": 6, "
		     "\"mean_ns\": 1750, \"max_ns\": 2000000, \"reductions\": 800, "
		     "\"wait_ns\": 1800, \"mean_wait_ns\": 300, \"max_wait_ns\": 500, "
		     "\"group\": \"[none]\", \"max_at_least\": true, \"waits\": 4}");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(long_slices_are_not_scaled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(json_has_what_text_leaves_out, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
