/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model/top/top_window: the samples of the last seconds, from records as a capture has them and
 * over a dictionary that others fill; another dictionary in between changes nothing that is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "base/compiler.h"
#include "lib/records.h"
#include "lib/snapcheck.h"
#include "model/top/top_window.h"

#define S 1000000000ull

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9);
}

/* Records from *at on that are not yet in the window. */
static void feed(struct top_window *w, const struct records *r, size_t *at)
{
	const struct rec_header *rec;
	struct event ev;

	while ((rec = records_next(r, at)) != NULL) {
		assert_true(event_decode(&ev, rec, rec->size) > 0);
		assert_true(top_window_apply(w, &ev) >= 0);
	}
}

struct replay {
	struct records r;
	struct top_window *w;
	size_t at;
	uint32_t busy, other, stack, deep, idle, normal, second, dirty;
};

static void replay_open(struct replay *p, struct top_window_options o)
{
	memset(p, 0, sizeof(*p));
	records_open(&p->r);
	records_meta(&p->r, "freq", "100");
	records_meta(&p->r, "node", "a@b");
	p->busy = records_process(&p->r, 1, "<0.80.0>", "busy", NULL, 0);
	p->other = records_process(&p->r, 2, "<0.81.0>", NULL, NULL, 0);
	p->stack = records_stack_text(&p->r, "m:f/1");
	p->deep = records_stack_text(&p->r, "m:f/1 m:g/2");
	p->idle = records_stack_text(&p->r, "[idle]");
	p->normal = records_thread(&p->r, 10, THREAD_NORMAL, 1, "erts_sched_1");
	p->second = records_thread(&p->r, 11, THREAD_NORMAL, 2, "erts_sched_2");
	p->dirty = records_thread(&p->r, 12, THREAD_DIRTY_CPU, 1, "erts_dcpus_1");
	p->w = top_window_open(&o);
	feed(p->w, &p->r, &p->at);
}

static void replay_close(struct replay *p)
{
	top_window_close(p->w);
	records_close(&p->r);
}

static void sample(struct replay *p, uint64_t ts_ns, uint32_t process, uint32_t stack,
		   uint32_t thread, uint32_t weight, enum sample_kind kind)
{
	records_sample(&p->r, ts_ns, process, stack, thread, weight, kind, SAMPLE_STATUS_COMPLETE);
	feed(p->w, &p->r, &p->at);
}

static struct snapshot *snapshot_of(struct top_window *w, struct snapshot_options options)
{
	struct snapshot *s;
	struct error err;

	assert_int_equal(top_window_snapshot(w, &options, &s, &err), 0);
	return s;
}

static void test_empty(void **state)
{
	struct replay p;
	struct top_frame f;
	struct snapshot *s;
	struct snapshot_options o = {.by = SNAPSHOT_BY_NONE};

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.start_ns = S});
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 1, 0, 0);
	assert_int_equal(top_window_snapshot(p.w, &o, &s, NULL), -ENODATA);
	top_window_shares(p.w, &f);
	assert_false(f.schedulers[0].known);
	assert_true(isnan(f.window_s));
	top_window_step(p.w, S); /* of no length */
	assert_int_equal(top_window_snapshot(p.w, &o, &s, NULL), -ENODATA);
	top_window_step(p.w, 2 * S);
	s = snapshot_of(p.w, o);
	assert_int_equal(s->samples, 0);
	assert_string_equal(snapshot_meta(s, "node"), "a@b");
	assert_string_equal(snapshot_meta(s, "duration_ns"), "1000000000");
	snapshot_close(s);
	top_window_shares(p.w, &f);
	assert_true(f.schedulers[0].known); /* it slept all the time */
	assert_near(f.schedulers[0].share[TOP_SHARE_WAITING], 1);
	top_frame_free(&f);
	replay_close(&p);
}

static void test_window(void **state)
{
	struct replay p;
	struct snapshot *s;

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.span_ns = 2 * S, .start_ns = S});
	assert_int_equal(top_window_freq(p.w), 100);
	for (uint64_t t = 1; t <= 10; t++) {
		sample(&p, t * S + 1, p.busy, p.stack, p.normal, (uint32_t)t, SAMPLE_ERLANG);
		sample(&p, t * S + 2, p.other, p.deep, p.normal, 1, SAMPLE_GC);
		sample(&p, t * S + 3, 0, p.idle, p.second, 50, SAMPLE_WAIT); /* left out */
		top_window_step(p.w, (t + 1) * S);
		assert_int_equal(top_window_ns(p.w), MIN(t, (uint64_t)2) * S);
	}
	assert_int_equal(top_window_samples(p.w), 9 + 1 + 10 + 1);
	s = snapshot_of(p.w, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->samples, 21);
	assert_int_equal(s->by_kind[SAMPLE_GC], 2);
	assert_string_equal(s->processes[0].name, "busy");
	assert_int_equal(s->processes[0].samples, 19);
	assert_int_equal(find_function(s, "m:f/1")->self, 19);
	assert_int_equal(find_function(s, "m:f/1")->total, 21);
	assert_int_equal(find_function(s, "m:g/2")->self, 2);
	assert_int_equal(s->first_ns, 9 * S + 1);
	assert_int_equal(s->last_ns, 10 * S + 2);
	snapshot_close(s);
	s = snapshot_of(
		p.w, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .only_process = "<0.81.0>"});
	assert_int_equal(s->samples, 2);
	assert_int_equal(s->nr_processes, 1);
	snapshot_close(s);
	/* Longer than the window: it is still there. */
	sample(&p, 12 * S, p.busy, p.stack, p.normal, 7, SAMPLE_ERLANG);
	top_window_step(p.w, 30 * S);
	assert_int_equal(top_window_samples(p.w), 7);
	assert_int_equal(top_window_ns(p.w), 19 * S);
	/* Nothing for long. */
	top_window_step(p.w, 40 * S);
	assert_int_equal(top_window_samples(p.w), 0);
	/* All over again: what came before counts no more. */
	sample(&p, 40 * S + 1, p.busy, p.stack, p.normal, 7, SAMPLE_ERLANG);
	top_window_restart(p.w, 50 * S);
	assert_int_equal(top_window_ns(p.w), 0);
	sample(&p, 50 * S + 1, p.busy, p.stack, p.normal, 3, SAMPLE_ERLANG);
	top_window_step(p.w, 51 * S);
	assert_int_equal(top_window_samples(p.w), 3);
	assert_int_equal(top_window_ns(p.w), S);
	replay_close(&p);
}

/* A capture may claim what it likes. */
static void test_numbers(void **state)
{
	uint32_t normal, dirty_cpu, dirty_io, last, beyond;
	struct top_frame f;
	struct replay p;

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.start_ns = S});
	last = records_thread(&p.r, 20, THREAD_NORMAL, 1024, "erts_sched_1024");
	beyond = records_thread(&p.r, 21, THREAD_NORMAL, 65535, "erts_sched_65535");
	sample(&p, S + 1, p.busy, p.stack, beyond, 40, SAMPLE_ERLANG);
	sample(&p, S + 2, p.busy, p.stack, last, 50, SAMPLE_ERLANG);
	top_window_step(p.w, 2 * S);
	top_window_schedulers(p.w, &normal, &dirty_cpu, &dirty_io);
	assert_int_equal(normal, 1024);
	assert_int_equal(dirty_cpu + dirty_io, 0);
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 65535, 65535, 2);
	assert_int_equal(f.nr_schedulers, 1024 + 1024 + 2);
	top_window_shares(p.w, &f);
	assert_near(top_frame_scheduler(&f, THREAD_NORMAL, 1024)->share[TOP_SHARE_ERLANG], 0.5);
	assert_null(top_frame_scheduler(&f, THREAD_NORMAL, 1025));
	assert_null(top_frame_scheduler(&f, THREAD_NORMAL, 0));
	assert_null(top_frame_scheduler(&f, THREAD_UNKNOWN, 1));
	assert_int_equal(top_frame_scheduler(&f, THREAD_DIRTY_IO, 2)->type, THREAD_DIRTY_IO);
	assert_int_equal(top_window_samples(p.w), 90); /* its functions are there */
	top_frame_free(&f);
	replay_close(&p);
}

/* Steps that are a little shorter or longer than they should be: as many intervals each time. */
static void test_uneven(void **state)
{
	struct replay p;
	uint64_t now = S;

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.start_ns = now});
	for (unsigned int t = 0; t < 40; t++) {
		sample(&p, now, p.busy, p.stack, p.normal, 1, SAMPLE_ERLANG);
		now += t % 3 ? S - 7000000 : S + 9000000;
		top_window_step(p.w, now);
		assert_int_equal(top_window_samples(p.w), MIN(t + 1, 5u));
	}
	replay_close(&p);
}

/* More intervals than there is room for; the window is shorter then. */
static void test_many(void **state)
{
	struct replay p;

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.span_ns = 1000 * S, .start_ns = S});
	for (uint64_t t = 1; t <= 3 * TOP_WINDOW_INTERVALS; t++) {
		sample(&p, t * S, p.busy, p.stack, p.normal, 1, SAMPLE_ERLANG);
		top_window_step(p.w, (t + 1) * S);
	}
	assert_int_equal(top_window_samples(p.w), TOP_WINDOW_INTERVALS);
	assert_int_equal(top_window_ns(p.w), TOP_WINDOW_INTERVALS * S);
	replay_close(&p);
}

static void test_shares(void **state)
{
	struct replay p;
	struct top_frame f;
	struct top_scheduler *s;
	uint32_t normal, dirty_cpu, dirty_io, unknown;

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.start_ns = S});
	/* What the thread is was not known at first. */
	unknown = records_thread(&p.r, 10, THREAD_UNKNOWN, 0, "beam.smp");
	sample(&p, S, p.busy, p.stack, unknown, 10, SAMPLE_ERLANG);
	sample(&p, S, p.busy, p.stack, p.normal, 30, SAMPLE_ERLANG);
	sample(&p, S, p.busy, p.stack, p.normal, 20, SAMPLE_ETS);
	sample(&p, S, 0, 0, p.normal, 4, SAMPLE_WAIT);
	sample(&p, S, 0, 0, p.normal, 6, SAMPLE_POLL);
	sample(&p, S, p.other, p.stack, p.dirty, 210, SAMPLE_NIF); /* by chance a few more */
	sample(&p, S, p.other, p.stack, p.dirty, 42, SAMPLE_GC);
	top_window_step(p.w, 3 * S); /* 200 samples of a busy thread */
	top_window_schedulers(p.w, &normal, &dirty_cpu, &dirty_io);
	assert_int_equal(normal, 1); /* the second one has no sample */
	assert_int_equal(dirty_cpu, 1);
	assert_int_equal(dirty_io, 0);
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 2, 1, 1);
	top_window_shares(p.w, &f);
	assert_near(f.window_s, 2);
	assert_int_equal(f.samples, 322);
	s = top_frame_scheduler(&f, THREAD_NORMAL, 1);
	assert_near(s->share[TOP_SHARE_ERLANG], 0.2);
	assert_near(s->share[TOP_SHARE_BIF], 0.1);
	assert_near(s->share[TOP_SHARE_BUSY_WAIT], 0.02);
	assert_near(s->share[TOP_SHARE_OTHER], 0.03);
	assert_near(s->share[TOP_SHARE_WAITING], 0.65);
	assert_near(top_scheduler_work(s), 0.33);
	s = top_frame_scheduler(&f, THREAD_DIRTY_CPU, 1);
	assert_near(s->share[TOP_SHARE_NIF], 210.0 / 252);
	assert_near(top_scheduler_work(s), 1);
	assert_near(top_frame_scheduler(&f, THREAD_NORMAL, 2)->share[TOP_SHARE_WAITING], 1);
	for (uint32_t i = 0; i < f.nr_schedulers; i++) {
		double sum = 0;

		for (size_t k = 0; k < NR_TOP_SHARES; k++)
			sum += f.schedulers[i].share[k];
		assert_near(sum, 1);
	}
	top_frame_free(&f);
	replay_close(&p);
}

/* What was never defined is refused, and changes nothing. */
static void test_refused(void **state)
{
	struct replay p;
	struct event ev = {.type = REC_SAMPLE, .u.sample = {.thread = 99, .weight = 1}};

	UNUSED(state);
	replay_open(&p, (struct top_window_options){.start_ns = S});
	assert_int_equal(top_window_apply(p.w, &ev), -EINVAL);
	ev.u.sample.thread = p.normal;
	ev.u.sample.stack = 1000;
	assert_int_equal(top_window_apply(p.w, &ev), -EINVAL);
	ev.u.sample.stack = 0;
	ev.u.sample.process = 1000;
	assert_int_equal(top_window_apply(p.w, &ev), -EINVAL);
	ev = (struct event){.type = REC_STACK, .u.stack = {.id = 5000, .frame = 1}};
	assert_int_equal(top_window_apply(p.w, &ev), -EINVAL);
	top_window_step(p.w, 2 * S);
	assert_int_equal(top_window_samples(p.w), 0);
	replay_close(&p);
}

/* ---- over a dictionary of others ------------------------------------------------------------ */

static uint32_t text(struct names *n, const char *s)
{
	return names_intern_string(n, s, strlen(s), NULL);
}

/* Samples with stacks as deep as they are many, by two processes on three threads. */
static void live_samples(struct top_window *w, struct names *n, uint64_t ts_ns, unsigned int nr)
{
	uint32_t pids[2], threads[3], stack = 0;

	pids[0] = names_intern_process(n, 7, text(n, "<0.7.0>"), text(n, "seven"), 0, 0, NULL);
	pids[1] = names_intern_process(
		n, 8, text(n, "<0.8.0>"), 0, text(n, "{label}"),
		names_intern_function(n, text(n, "m"), text(n, "init"), 0, FRAME_ERLANG, NULL),
		NULL);
	for (uint16_t i = 0; i < 3; i++)
		threads[i] = names_intern_thread(n, 20u + i, THREAD_NORMAL, (uint16_t)(i + 1),
						 text(n, "sched"), NULL);
	for (unsigned int i = 0; i < nr; i++) {
		char name[16];
		struct event ev = {.type = REC_SAMPLE, .ts_ns = ts_ns + i};

		snprintf(name, sizeof(name), "f%u", i);
		stack = names_intern_stack(
			n, stack,
			names_intern_frame(n,
					   names_intern_function(n, text(n, "m"), text(n, name),
								 (int32_t)(i % 3), FRAME_ERLANG,
								 NULL),
					   i % 2 ? text(n, "m.erl") : 0, i % 2 ? i : 0, NULL),
			NULL);
		ev.u.sample.stack = stack;
		ev.u.sample.process = pids[i % 2];
		ev.u.sample.thread = threads[i % 3];
		ev.u.sample.weight = i + 1;
		ev.u.sample.kind = i % 5 ? SAMPLE_ERLANG : SAMPLE_GC;
		assert_true(top_window_apply(w, &ev) >= 0);
	}
}

static char *dump(struct top_window *w)
{
	struct snapshot *s =
		snapshot_of(w, (struct snapshot_options){.by = SNAPSHOT_BY_PROCESS, .lines = true});
	char *all = snapcheck_dump(s);

	snapshot_close(s);
	return all;
}

static void test_move(void **state)
{
	struct names *names[2];
	struct top_window *w;
	struct top_frame before, after;
	char *a, *b;

	UNUSED(state);
	for (int i = 0; i < 2; i++)
		names[i] = names_open();
	assert_int_equal(text(names[1], "ids are not the same"), 1);
	w = top_window_open(
		&(struct top_window_options){.freq = 100, .names = names[0], .start_ns = S});
	live_samples(w, names[0], S, 40);
	top_window_step(w, 2 * S);
	live_samples(w, names[0], 2 * S, 60);
	top_window_step(w, 3 * S);
	assert_false(top_window_is_full(w));
	top_frame_init(&before);
	top_frame_set_schedulers(&before, 3, 0, 0);
	top_window_shares(w, &before);
	top_frame_init(&after);
	top_frame_set_schedulers(&after, 3, 0, 0);
	a = dump(w);
	top_window_move(w, names[1], 4 * S);
	names_close(names[0]);
	b = dump(w);
	assert_string_equal(a, b);
	top_window_shares(w, &after);
	for (uint32_t i = 0; i < 3; i++)
		assert_memory_equal(before.schedulers[i].share, after.schedulers[i].share,
				    sizeof(before.schedulers[i].share));
	free(a);
	free(b);
	/* It goes on over the new one; what was between is not in it. */
	live_samples(w, names[1], 4 * S, 40);
	top_window_step(w, 5 * S);
	assert_int_equal(top_window_ns(w), 3 * S);
	assert_int_equal(top_window_samples(w), 820 + 1830 + 820);
	top_frame_free(&before);
	top_frame_free(&after);
	top_window_close(w);
	names_close(names[1]);
}

static void test_full(void **state)
{
	struct names *n;
	struct top_window *w;

	UNUSED(state);
	n = names_open();
	w = top_window_open(&(struct top_window_options){.names = n});
	for (uint32_t i = 0; i < TOP_WINDOW_NAMES - 1; i++)
		names_intern_frame(n, 0, 0, i, NULL);
	assert_false(top_window_is_full(w));
	names_intern_frame(n, 0, 0, TOP_WINDOW_NAMES, NULL);
	assert_true(top_window_is_full(w));
	top_window_close(w);
	names_close(n);
}

/* More kinds of samples than an interval takes: none is lost, and times of threads are exact. */
static void test_overflow(void **state)
{
	struct names *n;
	struct top_window *w;
	struct snapshot *s;
	struct top_frame f;
	uint32_t thread;

	UNUSED(state);
	n = names_open();
	w = top_window_open(
		&(struct top_window_options){.freq = 1u << 18, .names = n, .start_ns = S});
	thread = names_intern_thread(n, 20, THREAD_NORMAL, 1, text(n, "sched"), NULL);
	for (uint32_t i = 0; i < TOP_WINDOW_LIMIT + 1000; i++) {
		struct event ev = {.type = REC_SAMPLE, .ts_ns = S + i};

		ev.u.sample.process = names_intern_process(n, i + 1, text(n, "p"), 0, 0, 0, NULL);
		ev.u.sample.thread = thread;
		ev.u.sample.weight = 1;
		assert_true(top_window_apply(w, &ev) >= 0);
	}
	top_window_step(w, 2 * S);
	s = snapshot_of(w, (struct snapshot_options){.by = SNAPSHOT_BY_NONE});
	assert_int_equal(s->samples, TOP_WINDOW_LIMIT + 1000);
	assert_int_equal(find_function(s, "[overflow]")->self, 1000);
	snapshot_close(s);
	top_frame_init(&f);
	top_frame_set_schedulers(&f, 1, 0, 0);
	top_window_shares(w, &f);
	assert_near(f.schedulers[0].share[TOP_SHARE_ERLANG],
		    (TOP_WINDOW_LIMIT + 1000) / (double)(1u << 18));
	top_frame_free(&f);
	top_window_close(w);
	names_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	 cmocka_unit_test(test_window),
		cmocka_unit_test(test_many),	 cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_shares),	 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_move),	 cmocka_unit_test(test_full),
		cmocka_unit_test(test_overflow), cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
