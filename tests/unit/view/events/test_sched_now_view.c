/* SPDX-License-Identifier: BSD-2-Clause */
/* An answer of `ebeam sched --now` as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/sched_now_view.h"

#define UNKNOWN_TIMES .at_least_ns = UINT64_MAX, .at_most_ns = UINT64_MAX

static struct sched_now_row rows[] = {
	{.type = "normal",
	 .number = 2,
	 .doing = "process",
	 .pid = "<0.9.0>",
	 .registered_name = "my-server",
	 .function = "m:f/1",
	 .function_from = "slice_start",
	 .slice_start = true,
	 .at_least_ns = 200000000u,
	 .at_most_ns = UINT64_MAX,
	 .run_queue = 3,
	 .os_tid = 12345,
	 .on_cpu = 99.6,
	 .cpu_wait = NAN,
	 .holds_progress = "behind",
	 .holds_how = "has not confirmed it",
	 .native = {"a", "b", "c", "d"},
	 .nr_native = 4,
	 .longest = {300000000u, "<0.7.0>", "Elixir.My.Worker", true}},
	{.type = "dirty_cpu",
	 .number = 1,
	 .doing = "idle",
	 .rests = true,
	 UNKNOWN_TIMES,
	 .run_queue = UINT64_MAX,
	 .os_tid = UINT32_MAX,
	 .on_cpu = NAN,
	 .cpu_wait = NAN,
	 .file = "pipe:[1]",
	 .native = {"wait"},
	 .nr_native = 1},
};
static const char *const blockers[] = {"<0.1.0>", "<0.2.0>"};

static const struct sched_now_answer answer = {
	.live = true,
	.nr_samples = 6,
	.duration_ns = 200000000u,
	.rows = rows,
	.nr = ARRAY_SIZE(rows),
	.progress = {PROGRESS_STILL, UINT64_MAX, 200000000u, NULL},
	.block = {true, false, 3, 2, blockers},
};

static void as_text(void **state)
{
	const struct table_options o = {
		.sort = "os_tid",
		.columns = "type,scheduler,os_tid,registered_name,function,at_least_ns,run_queue,"
			   "on_cpu,file,native_stack"};
	struct error err;
	struct page p;

	UNUSED(state);
	assert_int_equal(sched_now_view_write(page_open(&p), &answer, &o, &err), 0);
	page_expect(
		&p,
		"SCHEDULER  NO  OS TID  NAME         FUNCTION          FOR  QUEUE  ON CPU  FILE  "
		"NATIVE STACK\n"
		"normal      2   12345  'my-server'  m:f/1 ~   >= 200.0 ms      3    100%  -     "
		"a < b < c < ...\n"
		"dirty_cpu   1       -  -            -                   -      -       -  -     "
		"-\n"
		"\n"
		"6 samples in 200.0 ms; thread progress stands still for >= 200.0 ms: "
		"scheduler 2 with <0.9.0>, whose time slice began in m:f/1, has not confirmed it\n"
		"multi-scheduling is blocked: only scheduler 1 runs, and the dirty ones, until "
		"<0.1.0>, <0.2.0> and 1 more have unblocked it "
		"(erlang:system_flag(multi_scheduling, unblock_normal)) or exited\n"
		"normal scheduler 2 ran <0.7.0> My.Worker for >= 300.0 ms in one time slice "
		"(ebeam sched -d 10 shows the function)\n"
		"~ function in which the time slice began; the current one is only in registers "
		"of the CPU (ebeam record shows it)\n");
}

static void as_json(void **state)
{
	struct page p;

	UNUSED(state);
	sched_now_view_json(page_open_json(&p), &answer,
			    &(struct table_options){.sort = "scheduler", .limit = 1});
	page_expect(
		&p,
		"{\"data\": {\"samples\": 6, \"duration_ns\": 200000000, \"stopped\": false, "
		"\"thread_progress\": {\"state\": \"still\", \"value\": null, "
		"\"at_least_ns\": 200000000, \"waits_for\": null}, \"multi_scheduling\": "
		"{\"state\": \"blocked_normal\", \"blocked_by\": [\"<0.1.0>\", \"<0.2.0>\"], "
		"\"blockers\": 3}, \"schedulers\": [{\"type\": \"dirty_cpu\", \"scheduler\": 1, "
		"\"doing\": \"idle\", \"pid\": null, \"port\": null, \"registered_name\": null, "
		"\"function\": null, \"function_from\": null, \"at_least_ns\": null, "
		"\"at_most_ns\": null, \"run_queue\": null, \"os_tid\": null, "
		"\"thread_state\": null, \"on_cpu\": null, \"cpu_wait\": null, "
		"\"syscall\": null, \"file\": \"pipe:[1]\", \"wchan\": null, "
		"\"holds_progress\": null, \"native_stack\": [\"wait\"], \"longest_ns\": null, "
		"\"longest_pid\": null, \"lock\": null}]}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("sched_now_view", tests, NULL, NULL);
}
