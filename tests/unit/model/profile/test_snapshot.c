/* SPDX-License-Identifier: BSD-2-Clause */
/* What a snapshot looks like: groups, lines, order; and that the order of records does not show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "lib/records.h"
#include "lib/snapcheck.h"

/* ---- grouping -------------------------------------------------------------------------------- */

/* One process with each sort of name, one thread without a process. */
static struct profile *make_groups(void)
{
	struct records r;
	uint32_t call, stack, sched, dirty, aux, odd;

	records_open(&r);
	call = records_function(&r, "Elixir.MyApp.Worker", "init", 1, FRAME_ERLANG);
	stack = records_stack_text(&r, "m:f/1");
	sched = records_thread(&r, 11, THREAD_NORMAL, 1, "erts_sched_1");
	dirty = records_thread(&r, 12, THREAD_DIRTY_IO, 3, "erts_dios_3");
	aux = records_thread(&r, 13, THREAD_OTHER, 0, "erts_aux_1");
	odd = records_thread(&r, 14, THREAD_OTHER, 0, NULL);
	records_sample(&r, 10, records_process(&r, 0x10, "<0.80.0>", "my reg", "label", call),
		       stack, sched, 1, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 20, records_process(&r, 0x11, "<0.9.0>", NULL, "{label,1}", call), stack,
		       sched, 2, SAMPLE_GC, SAMPLE_STATUS_TRUNCATED);
	records_sample(&r, 30, records_process(&r, 0x12, "<0.100.0>", NULL, NULL, call), stack,
		       sched, 3, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 40, records_process(&r, 0x13, "<0.7.0>", NULL, NULL, 0), stack, dirty, 4,
		       SAMPLE_NIF, SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 50, 0, records_stack_text(&r, "[poll]"), aux, 5, SAMPLE_POLL,
		       SAMPLE_STATUS_COMPLETE);
	records_sample(&r, 60, records_process(&r, 0x14, "<0.8.0>", "Elixir.MyApp.Repo", NULL, 0),
		       0, odd, 6, SAMPLE_OTHER, SAMPLE_STATUS_STACK_UNREADABLE);
	return apply_records(&r);
}

static void assert_groups(enum snapshot_by by, const char *const expect[6])
{
	static const uint64_t counts[6] = {6, 5, 4, 3, 2, 1};
	struct profile *p = make_groups();
	struct snapshot *s = take_snapshot(p, (struct snapshot_options){.by = by});

	/* Each count appears once, which tells the samples apart. */
	assert_int_equal(s->nr_stacks, 6);
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t at = 0;

		while (at < s->nr_stacks && s->stacks[at].count != counts[i])
			at++;
		assert_stack(s, at, expect[i], counts[i]);
	}
	snapshot_close(s);
	profile_close(p);
}

static void test_by(void **state)
{
	UNUSED(state);
	assert_groups(SNAPSHOT_BY_NAME,
		      (const char *const[]){"MyApp.Repo", "erts_aux_1;[poll]", "<0.7.0>;m:f/1",
					    "MyApp.Worker.init/1;m:f/1", "{label,1};m:f/1",
					    "'my reg';m:f/1"});
	assert_groups(SNAPSHOT_BY_PROCESS,
		      (const char *const[]){"<0.8.0> MyApp.Repo", "erts_aux_1;[poll]",
					    "<0.7.0>;m:f/1", "<0.100.0> MyApp.Worker.init/1;m:f/1",
					    "<0.9.0> {label,1};m:f/1", "<0.80.0> 'my reg';m:f/1"});
	assert_groups(
		SNAPSHOT_BY_INITIAL_CALL,
		(const char *const[]){"[unknown initial call]", "erts_aux_1;[poll]",
				      "[unknown initial call];m:f/1", "MyApp.Worker.init/1;m:f/1",
				      "MyApp.Worker.init/1;m:f/1", "MyApp.Worker.init/1;m:f/1"});
	assert_groups(SNAPSHOT_BY_SCHEDULER,
		      (const char *const[]){"thread 14", "erts_aux_1;[poll]", "dirty io 3;m:f/1",
					    "scheduler 1;m:f/1", "scheduler 1;m:f/1",
					    "scheduler 1;m:f/1"});
	assert_groups(SNAPSHOT_BY_NONE,
		      (const char *const[]){"", "[poll]", "m:f/1", "m:f/1", "m:f/1", "m:f/1"});
}

static void test_arrays(void **state)
{
	struct profile *p = make_groups();
	struct snapshot *s = take_snapshot(
		p, (struct snapshot_options){.by = SNAPSHOT_BY_NAME, .kind_root = true});

	UNUSED(state);
	assert_int_equal(s->samples, 21);
	assert_int_equal(profile_samples(p), 21);
	assert_int_equal(s->by_kind[SAMPLE_ERLANG], 4);
	assert_int_equal(s->by_status[SAMPLE_STATUS_COMPLETE], 13);
	assert_int_equal(s->by_status[SAMPLE_STATUS_STACK_UNREADABLE], 6);
	assert_int_equal(s->first_ns, 10);
	assert_int_equal(s->last_ns, 60);
	assert_false(s->ended);
	/* Most samples first. */
	assert_int_equal(s->nr_processes, 5);
	assert_string_equal(s->processes[0].pid, "<0.8.0>");
	assert_string_equal(s->processes[0].registered, "MyApp.Repo");
	assert_null(s->processes[0].initial_call);
	assert_string_equal(s->processes[4].name, "'my reg'");
	assert_string_equal(s->processes[4].label, "label");
	assert_string_equal(s->processes[4].initial_call, "MyApp.Worker.init/1");
	/* Schedulers first. */
	assert_int_equal(s->nr_threads, 4);
	assert_string_equal(s->threads[0].display, "scheduler 1");
	assert_string_equal(s->threads[0].name, "erts_sched_1");
	assert_int_equal(s->threads[0].samples, 6);
	assert_string_equal(s->threads[1].display, "dirty io 3");
	/* Groups and kinds are frames, but no functions; states are. */
	assert_int_equal(s->nr_functions, 2);
	assert_string_equal(s->functions[0].name, "m:f/1");
	assert_int_equal(s->functions[0].self, 10);
	assert_string_equal(s->functions[1].name, "[poll]");
	assert_stack(s, 0, "[erlang];'my reg';m:f/1", 1);
	snapshot_close(s);
	profile_close(p);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void test_lines(void **state)
{
	static const struct {
		uint32_t line, weight;
	} lines[] = {{30, 1}, {10, 5}, {20, 4}, {0, 9}};
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread, function, frame;

	UNUSED(state);
	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "x");
	function = records_function(&r, "m", "f", 1, FRAME_ERLANG);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		frame = records_frame(&r, function, lines[i].line ? "m.erl" : NULL, lines[i].line);
		records_sample(&r, 1, 0, records_stack(&r, &frame, 1), thread, lines[i].weight,
			       SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	}
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->nr_frames, 1);
	assert_string_equal(s->frames[0].name, "m:f/1");
	assert_string_equal(s->frames[0].module, "m");
	assert_string_equal(s->frames[0].file, "m.erl");
	assert_int_equal(s->frames[0].line, 10); /* most samples among the known ones */
	assert_stack(s, 0, "m:f/1", 19);
	snapshot_close(s);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .lines = true});
	assert_int_equal(s->nr_frames, 4);
	assert_int_equal(s->nr_functions, 1);
	assert_int_equal(s->functions[0].self, 19);
	assert_stack(s, 0, "m:f/1", 9);
	assert_stack(s, 1, "m:f/1:10", 5);
	assert_stack(s, 2, "m:f/1:20", 4);
	assert_stack(s, 3, "m:f/1:30", 1);
	assert_int_equal(s->frames[3].line, 30);
	assert_null(s->frames[0].file);
	snapshot_close(s);
	profile_close(p);
}

/* A native function without a name is known by who called it most, if that is more than half. */
static void test_callers_of_the_unnamed(void **state)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t leaf, deeper, thread, by[4], frames[4];

	UNUSED(state);
	records_open(&r);
	for (uint32_t i = 0; i < 3; i++) {
		char name[] = {'f', (char)('0' + i), 0};

		by[i] = records_frame(&r, records_function(&r, "m", name, 1, FRAME_ERLANG), NULL,
				      0);
	}
	by[3] = records_frame(&r, records_function(&r, NULL, "[scheduler]", -1, FRAME_STATE), NULL,
			      0);
	deeper = records_frame(&r, records_function(&r, NULL, "x.so+0x20", -1, FRAME_NATIVE), NULL,
			       0);
	leaf = records_frame(&r, records_function(&r, NULL, "x.so+0x10", -1, FRAME_NATIVE), NULL,
			     0);
	thread = records_thread(&r, 100, THREAD_NORMAL, 1, "sched");
	for (uint32_t i = 0; i < 7; i++) {
		/* f0 three times, f1 and f2 once, nobody twice: f0 has 60 % by weight. */
		static const uint32_t who[] = {1, 0, 3, 0, 2, 0, 3},
				      weight[] = {1, 4, 3, 4, 1, 4, 3};

		frames[0] = by[who[i]];
		frames[1] = deeper;
		frames[2] = leaf;
		records_sample(&r, 1000 + i, 0, records_stack(&r, frames, 3), thread, weight[i],
			       SAMPLE_NIF, SAMPLE_STATUS_COMPLETE);
	}
	/* Half of the samples of this one only. */
	frames[1] = records_frame(&r, records_function(&r, NULL, "x.so+0x30", -1, FRAME_NATIVE),
				  NULL, 0);
	for (uint32_t i = 0; i < 2; i++) {
		frames[0] = by[i];
		records_sample(&r, 2000 + i, 0, records_stack(&r, frames, 2), thread, 5, SAMPLE_NIF,
			       SAMPLE_STATUS_COMPLETE);
	}
	p = apply_records(&r);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		const struct snap_function *f = &s->functions[i];

		if (strcmp(f->name, "x.so+0x10") == 0 || strcmp(f->name, "x.so+0x20") == 0) {
			assert_string_equal(f->caller, "m:f0/1");
			assert_int_equal(f->called, 12);
			assert_int_equal(f->total, 20);
		} else {
			assert_null(f->caller);
		}
	}
	snapshot_close(s);
	profile_close(p);
}

/* ---- order ----------------------------------------------------------------------------------- */

#define NR_SHUFFLED 60

/* Sample `i` of a recording, with all its definitions. */
static void add_shuffled(struct records *r, unsigned int i)
{
	char name[32], pid[32];
	uint32_t frames[6], nr = 0, call, process = 0, thread;

	for (unsigned int j = 0; j <= i % 5; j++) {
		snprintf(name, sizeof(name), "f%u", (i + j * j) % 7);
		frames[nr++] = records_frame(
			r, records_function(r, j % 2 ? "lists" : "Elixir.M", name, 1, FRAME_ERLANG),
			i % 3 ? "m.erl" : NULL, i % 4);
	}
	if (i % 6 == 0)
		frames[nr++] = records_frame(
			r, records_function(r, "beam.smp", "x", -1, FRAME_NATIVE), NULL, 0);
	call = records_function(r, "m", "init", (int32_t)(i % 3), FRAME_ERLANG);
	snprintf(pid, sizeof(pid), "<0.%u.0>", i % 8);
	if (i % 5)
		process = records_process(r, i % 8, pid, i % 8 == 3 ? "reg" : NULL,
					  i % 16 == 2 ? "label" : NULL, call);
	thread =
		records_thread(r, 100 + i % 3, i % 3 == 2 && i < 9 ? THREAD_UNKNOWN : THREAD_NORMAL,
			       i % 3 == 2 && i < 9 ? 0 : (uint16_t)(i % 3 + 1), "sched");
	records_sample(r, 1000 + i, process, records_stack(r, frames, nr), thread, 1 + i % 3,
		       (enum sample_kind)(i % NR_SAMPLE_KINDS),
		       (enum sample_status)(i % NR_SAMPLE_STATUSES));
	snprintf(name, sizeof(name), "counter%u", i % 4);
	records_counter(r, 1000 + i, name, i);
}

static char *dump_shuffled(const unsigned int *order, struct snapshot_options opts)
{
	struct records r;
	struct profile *p;
	struct snapshot *s;
	char *text;

	records_open(&r);
	for (unsigned int i = 0; i < NR_SHUFFLED; i++)
		add_shuffled(&r, order[i]);
	p = apply_records(&r);
	s = take_snapshot(p, opts);
	text = snapcheck_dump(s);
	snapshot_close(s);
	profile_close(p);
	return text;
}

static void test_order_does_not_show(void **state)
{
	unsigned int order[NR_SHUFFLED], seed = 1;

	UNUSED(state);
	for (int options = 0; options < 20; options++) {
		struct snapshot_options opts = {
			.by = (enum snapshot_by)(options % 5),
			.lines = options & 1,
			.native = options & 2 ? SNAPSHOT_NATIVE_NONE : SNAPSHOT_NATIVE_FULL,
			.kind_root = options & 4,
			.idle = true,
		};
		char *expect, *got;

		for (unsigned int i = 0; i < NR_SHUFFLED; i++)
			order[i] = i;
		expect = dump_shuffled(order, opts);
		for (int round = 0; round < 10; round++) {
			for (unsigned int i = NR_SHUFFLED - 1; i > 0; i--) {
				unsigned int j =
					(seed = seed * 1103515245 + 12345) / 65536 % (i + 1);
				unsigned int swap = order[i];

				order[i] = order[j];
				order[j] = swap;
			}
			got = dump_shuffled(order, opts);
			assert_string_equal(got, expect);
			free(got);
		}
		free(expect);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_callers_of_the_unnamed),
		cmocka_unit_test(test_order_does_not_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
