/* SPDX-License-Identifier: BSD-2-Clause */
/* Records -> profile -> snapshot: sums, filters, changes of names, limits, damaged input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/event.h"
#include "lib/records.h"
#include "lib/snapcheck.h"

/* ---- sums ------------------------------------------------------------------------------------ */

static void test_recursion(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	records_sample(&r, 1, 0, records_stack_text(&r, "m:a/0 m:f/1 m:f/1 m:f/1 m:b/0"), thread, 3,
		       SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 1, 0, records_stack_text(&r, "m:a/0 m:f/1 m:f/1"), thread, 2,
		       SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->nr_functions, 3);
	assert_string_equal(s->functions[0].name, "m:b/0");
	assert_int_equal(s->functions[0].self, 3);
	assert_string_equal(s->functions[1].name, "m:f/1");
	assert_int_equal(s->functions[1].self, 2);
	assert_int_equal(s->functions[1].total, 5);
	assert_string_equal(s->functions[2].name, "m:a/0");
	assert_int_equal(s->functions[2].self, 0);
	assert_int_equal(s->functions[2].total, 5);
	snapshot_close(s);
	profile_close(p);
}

static void test_filters(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread, frames[7];

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	frames[0] = records_frame(&r, records_function(&r, "m", "f", 1, FRAME_ERLANG), "m.erl", 7);
	frames[1] = records_frame(
		&r, records_function(&r, NULL, "[... 9 frames ...]", -1, FRAME_ELIDED), NULL, 0);
	frames[2] = records_frame(&r, records_function(&r, "ets", "lookup", 2, FRAME_BIF), NULL, 0);
	frames[3] = records_frame(&r, records_function(&r, NULL, "global::call", -1, FRAME_RUNTIME),
				  NULL, 0);
	frames[4] = records_frame(&r, records_function(&r, "beam.smp", "copy", -1, FRAME_NATIVE),
				  NULL, 0);
	frames[5] = records_frame(&r, records_function(&r, "libc.so.6", "memcpy", -1, FRAME_NATIVE),
				  NULL, 0);
	frames[6] = records_frame(
		&r, records_function(&r, "kernel", "do_page_fault", -1, FRAME_KERNEL), NULL, 0);
	records_sample(&r, 1, 0, records_stack(&r, frames, 7), thread, 1, SAMPLE_ETS,
		       SAMPLE_STATUS_TRUNCATED);
	records_sample(&r, 1, 0, records_stack(&r, frames, 3), thread, 2, SAMPLE_ETS,
		       SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);

	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->nr_stacks, 2);
	assert_stack(s, 0, "m:f/1;[... 9 frames ...];ets:lookup/2", 2);
	assert_stack(
		s, 1,
		"m:f/1;[... 9 frames ...];ets:lookup/2;global::call;beam.smp:copy;libc.so.6:memcpy;"
		"do_page_fault",
		1);
	assert_int_equal(s->nr_functions, 6);
	assert_null(find_function(s, "[... 9 frames ...]"));
	assert_int_equal(find_function(s, "ets:lookup/2")->self, 2);
	assert_int_equal(find_function(s, "do_page_fault")->self, 1);
	assert_string_equal(find_function(s, "m:f/1")->file, "m.erl");
	snapshot_close(s);

	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .no_kernel = true});
	assert_stack(
		s, 1,
		"m:f/1;[... 9 frames ...];ets:lookup/2;global::call;beam.smp:copy;libc.so.6:memcpy",
		1);
	assert_int_equal(find_function(s, "libc.so.6:memcpy")->self, 1);
	assert_int_equal(s->nr_frames, 6);
	snapshot_close(s);

	/* What differed only in dropped frames is one stack. */
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE,
						       .no_kernel = true,
						       .native = SNAPSHOT_NATIVE_NONE});
	assert_int_equal(s->nr_stacks, 1);
	assert_stack(s, 0, "m:f/1;[... 9 frames ...];ets:lookup/2", 3);
	assert_int_equal(s->nr_functions, 2);
	assert_int_equal(find_function(s, "ets:lookup/2")->self, 3);
	snapshot_close(s);

	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE,
						       .native = SNAPSHOT_NATIVE_LEAF});
	assert_stack(s, 1,
		     "m:f/1;[... 9 frames ...];ets:lookup/2;global::call;libc.so.6:memcpy;"
		     "do_page_fault",
		     1);
	assert_null(find_function(s, "beam.smp:copy"));
	snapshot_close(s);

	/* Without native frames the kernel's stay. */
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE,
						       .native = SNAPSHOT_NATIVE_NONE});
	assert_stack(s, 1, "m:f/1;[... 9 frames ...];ets:lookup/2;do_page_fault", 1);
	snapshot_close(s);
	profile_close(p);
}

static void test_idle(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	records_sample(&r, 100, 0, records_stack_text(&r, "[idle]"), thread, 1000, SAMPLE_WAIT,
		       SAMPLE_STATUS_COMPLETE);
	/* Spinning burns CPU; and a state of that name in another kind is not sleep. */
	records_sample(&r, 200, 0, records_stack_text(&r, "[wait]"), thread, 3, SAMPLE_WAIT,
		       SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 300, 0, records_stack_text(&r, "[idle]"), thread, 2, SAMPLE_OTHER,
		       SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	assert_int_equal(profile_samples(p), 5);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->samples, 5);
	assert_int_equal(s->by_kind[SAMPLE_WAIT], 3);
	assert_int_equal(s->first_ns, 200);
	assert_int_equal(s->threads[0].samples, 5);
	/* But no function does. */
	assert_int_equal(s->nr_functions, 1);
	assert_string_equal(s->functions[0].name, "[idle]");
	assert_int_equal(s->functions[0].self, 2);
	assert_int_equal(s->nr_frames, 2);
	for (uint32_t i = 0; i < s->nr_frames; i++)
		assert_int_equal(s->frames[i].function,
				 strcmp(s->frames[i].name, "[idle]") == 0 ? 0 : SNAPSHOT_NONE);
	snapshot_close(s);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .idle = true});
	assert_int_equal(s->nr_functions, 2);
	assert_int_equal(s->functions[0].self, 1002);
	assert_int_equal(s->functions[1].self, 3);
	assert_int_equal(s->samples, 1005);
	assert_int_equal(s->first_ns, 100);
	assert_int_equal(s->last_ns, 300);
	assert_int_equal(s->threads[0].samples, 1005);
	snapshot_close(s);
	profile_close(p);
}

/* ---- processes and threads that change ------------------------------------------------------- */

static void test_renamed_process(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread, stack, young, named;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	stack = records_stack_text(&r, "m:f/1");
	named = records_process(&r, 0x50, "<0.5.0>", "server", NULL, 0);
	young = records_process(&r, 0x50, "<0.5.0>", NULL, NULL,
				records_function(&r, "m", "init", 1, FRAME_ERLANG));
	/* The id that came first in the stream was the state that was seen last. */
	records_sample(&r, 10, young, stack, thread, 2, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 20, named, stack, thread, 3, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NAME});
	assert_int_equal(s->nr_processes, 1);
	assert_string_equal(s->processes[0].name, "server");
	assert_int_equal(s->processes[0].samples, 5);
	assert_int_equal(s->nr_stacks, 2);
	assert_stack(s, 0, "m:init/1;m:f/1", 2);
	assert_stack(s, 1, "server;m:f/1", 3);
	snapshot_close(s);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_PROCESS});
	assert_int_equal(s->nr_stacks, 1);
	assert_stack(s, 0, "<0.5.0> server;m:f/1", 5);
	snapshot_close(s);
	profile_close(p);
}

static void test_learned_thread(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t stack, before, after, reused;

	UNUSED(state);
	records_open(&r);
	stack = records_stack_text(&r, "m:f/1");
	before = records_thread(&r, 7, THREAD_UNKNOWN, 0, "erts_sched_1");
	after = records_thread(&r, 7, THREAD_NORMAL, 1, "erts_sched_1");
	reused = records_thread(&r, 7, THREAD_OTHER, 0, "async"); /* another thread by its name */
	records_sample(&r, 1, 0, stack, before, 1, SAMPLE_ERLANG, SAMPLE_STATUS_UNKNOWN_THREAD);
	records_sample(&r, 2, 0, stack, after, 2, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 3, 0, stack, reused, 4, SAMPLE_OTHER, SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_SCHEDULER});
	assert_int_equal(s->nr_threads, 2);
	assert_string_equal(s->threads[0].display, "scheduler 1");
	assert_int_equal(s->threads[0].samples, 3);
	assert_string_equal(s->threads[1].display, "async");
	assert_int_equal(s->nr_stacks, 2);
	assert_stack(s, 0, "async;m:f/1", 4);
	assert_stack(s, 1, "scheduler 1;m:f/1", 3);
	snapshot_close(s);
	profile_close(p);
}

static void test_pid_order(void **state)
{
	static const char *const pids[] = {"<0.100.0>", "<0.9.0>", "odd", "<0.9.1>", "<0.10.0>"};
	static const char *const order[] = {"<0.9.0>", "<0.9.1>", "<0.10.0>", "<0.100.0>", "odd"};
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	for (uint32_t i = 0; i < ARRAY_SIZE(pids); i++)
		records_sample(&r, 1, records_process(&r, i, pids[i], NULL, NULL, 0),
			       records_stack_text(&r, "m:f/1"), thread, 1, SAMPLE_ERLANG,
			       SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->nr_processes, ARRAY_SIZE(order));
	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++)
		assert_string_equal(s->processes[i].pid, order[i]);
	snapshot_close(s);
	profile_close(p);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void test_facts(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;

	UNUSED(state);
	records_open(&r);
	records_meta(&r, "otp", "25");
	records_meta(&r, "node", "first@host");
	records_meta(&r, "node", "a\nb\377");
	records_counter(&r, 20, "hits", 7);
	records_counter(&r, 10, "hits", 9); /* older */
	records_counter(&r, 20, "late", 1);
	records_counter(&r, 20, "late", 2);
	records_end(&r, 99);
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){0});
	assert_int_equal(s->nr_meta, 2);
	assert_string_equal(snapshot_meta(s, "node"), "a\\nb\357\277\275");
	assert_string_equal(snapshot_meta(s, "otp"), "25");
	assert_null(snapshot_meta(s, "erts"));
	assert_int_equal(snapshot_counter(s, "hits"), 7);
	assert_int_equal(snapshot_counter(s, "late"), 2);
	assert_int_equal(snapshot_counter(s, "no_such_counter"), 0);
	assert_true(s->ended);
	assert_int_equal(s->samples, 0);
	assert_int_equal(s->first_ns, 0);
	snapshot_close(s);
	profile_close(p);
}

static void test_enum_texts(void **state)
{
	UNUSED(state);
	assert_string_equal(sample_kind_name(SAMPLE_GC), "gc");
	assert_string_equal(sample_kind_title(SAMPLE_GC), "GC");
	assert_string_equal(sample_kind_name(NR_SAMPLE_KINDS), "unknown");
	for (int i = 0; i < NR_SAMPLE_KINDS; i++)
		assert_string_not_equal(sample_kind_name((enum sample_kind)i), "unknown");
	assert_string_equal(sample_status_name(SAMPLE_STATUS_BAD_BOUNDS), "bad_bounds");
	for (int i = 0; i <= FRAME_STATE; i++)
		assert_string_not_equal(frame_kind_name((enum frame_kind)i), "unknown");
	assert_string_equal(snapshot_by_name(SNAPSHOT_BY_INITIAL_CALL), "initial-call");
}

/* ---- what is wrong or too much --------------------------------------------------------------- */

static void test_unknown_ids(void **state)
{
	struct event ev = {.type = REC_SAMPLE, .u.sample = {.weight = 3}};
	struct records r;
	struct profile *p;
	struct snapshot *s;

	UNUSED(state);
	records_open(&r);
	records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	p = apply_records(&r);
	assert_int_equal(profile_apply(p, &ev), -EINVAL); /* no thread */
	ev.u.sample.thread = 2;
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev.u.sample.thread = 1;
	ev.u.sample.stack = 1;
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev.u.sample.stack = 0;
	ev.u.sample.process = 1;
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev.u.sample.process = 0;
	assert_int_equal(profile_apply(p, &ev), 0);
	ev.u.sample.weight = UINT64_MAX - 2; /* with the 3 before */
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev = (struct event){.type = REC_FUNCTION, .u.function = {.id = 5, .name = 1}};
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev = (struct event){.type = REC_COUNTER, .u.counter = {.name = 77}};
	assert_int_equal(profile_apply(p, &ev), -EINVAL);
	ev = (struct event){.type = (enum rec_type)999};
	assert_int_equal(profile_apply(p, &ev), 0); /* of a later version */
	s = take_snapshot(p, (struct snapshot_options){0});
	assert_int_equal(s->samples, 3);
	assert_int_equal(s->dropped_unknown, 4 * 3 + 3);
	snapshot_close(s);
	profile_close(p);
}

static void test_limit(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;
	char text[32];

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	for (unsigned int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "m:f%u/0", i % 10);
		records_sample(&r, i, 0, records_stack_text(&r, text), thread, 1, SAMPLE_ERLANG,
			       SAMPLE_STATUS_COMPLETE);
	}
	records_sample(&r, 30, 0, records_stack_text(&r, "[idle]"), thread, 50, SAMPLE_WAIT,
		       SAMPLE_STATUS_COMPLETE);
	p = profile_open_limited(4);
	records_apply(&r, p);
	records_close(&r);
	assert_int_equal(profile_samples(p), 20);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_SCHEDULER});
	assert_int_equal(s->samples, 20);
	assert_int_equal(s->nr_stacks, 5);
	assert_stack(s, 0, "[overflow];[overflow]", 12);
	assert_stack(s, 1, "scheduler 1;m:f0/0", 2);
	assert_int_equal(find_function(s, "[overflow]")->self, 12);
	assert_string_equal(s->threads[1].display, "[overflow]");
	snapshot_close(s);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .idle = true});
	assert_int_equal(s->samples, 70);
	assert_int_equal(s->by_kind[SAMPLE_WAIT], 50);
	snapshot_close(s);
	profile_close(p);
}

static void test_hostile_texts(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread, frame;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_OTHER, 0, "\033[31m\377");
	frame = records_frame(&r, records_function(&r, "\n", "\r\n\200", 1, FRAME_NATIVE), "\b.c",
			      1);
	records_sample(&r, 1, records_process(&r, 1, "<0.1.0>\n", "\t", "\177", 0),
		       records_stack(&r, &frame, 1), thread, 1, SAMPLE_OTHER,
		       SAMPLE_STATUS_COMPLETE);
	p = apply_records(&r);
	for (int by = SNAPSHOT_BY_NAME; by <= SNAPSHOT_BY_NONE; by++) {
		s = take_snapshot(
			p, (struct snapshot_options){.by = (enum snapshot_by)by, .lines = true});
		assert_clean_text(s->processes[0].pid);
		assert_clean_text(s->processes[0].label);
		assert_clean_text(s->processes[0].registered);
		assert_clean_text(s->threads[0].name);
		assert_clean_text(s->functions[0].file);
		snapshot_close(s);
	}
	profile_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),      cmocka_unit_test(test_filters),
		cmocka_unit_test(test_idle),	       cmocka_unit_test(test_renamed_process),
		cmocka_unit_test(test_learned_thread), cmocka_unit_test(test_pid_order),
		cmocka_unit_test(test_facts),	       cmocka_unit_test(test_enum_texts),
		cmocka_unit_test(test_unknown_ids),    cmocka_unit_test(test_limit),
		cmocka_unit_test(test_hostile_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
