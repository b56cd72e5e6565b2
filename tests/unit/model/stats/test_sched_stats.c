/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/sched_stats: scheduling added up, from made-up events. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/catalogue.h"
#include "event/event.h"
#include "model/stats/sched_stats.h"
#include "model/stream/event_stream.h"

#define START 1000u

struct fixture {
	struct event_stream stream;
	struct names *n; /* of the stream */
	uint32_t a, b, normal, second, dirty, other;
	struct sched_stats s;
};

static uint32_t process(struct names *n, uint64_t epid)
{
	char pid[32];
	int len = snprintf(pid, sizeof(pid), "<0.%u.0>", (unsigned int)epid);

	return names_intern_process(n, epid, names_intern_string(n, pid, (size_t)len, NULL), 0, 0,
				    0, NULL);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	event_stream_open(&f->stream);
	f->n = f->stream.names;
	f->a = process(f->n, 80);
	f->b = process(f->n, 81);
	f->normal = names_intern_thread(f->n, 10, THREAD_NORMAL, 1, 0, NULL);
	f->second = names_intern_thread(f->n, 11, THREAD_NORMAL, 2, 0, NULL);
	f->dirty = names_intern_thread(f->n, 12, THREAD_DIRTY_CPU, 1, 0, NULL);
	f->other = names_intern_thread(f->n, 13, THREAD_OTHER, 0, 0, NULL);
	sched_stats_open(&f->s, &f->stream, PROCESS_GROUP_PROCESS, 0, 0, START);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sched_stats_close(&f->s);
	event_stream_close(&f->stream);
	free(f);
	return 0;
}

static uint32_t word_id(struct fixture *f, enum event_word word)
{
	const char *text = event_word_text(word);

	return word ? names_intern_string(f->n, text, strlen(text), NULL) : 0;
}

static void add(struct fixture *f, enum event_kind kind, uint64_t ts_ns, uint32_t thread,
		uint32_t who, uint64_t reductions, enum event_word word, enum event_word status)
{
	struct event ev = {
		.type = REC_EVENT,
		.ts_ns = ts_ns,
		.u.vm = {.process = who, .thread = thread, .nr_values = 4},
	};

	ev.u.vm.values[EVENT_AT(PROCESS_SCHEDULED, REDUCTIONS)] = reductions;
	if (kind == EVENT_SCHEDULER_ACTIVE) {
		ev.u.vm.values[EVENT_AT(SCHEDULER_ACTIVE, STATE)] = word_id(f, word);
	} else {
		ev.u.vm.values[EVENT_AT(PROCESS_SCHEDULED, TYPE)] = word_id(f, word);
		ev.u.vm.values[EVENT_AT(PROCESS_SCHEDULED, STATUS)] = word_id(f, status);
	}
	sched_stats_take(&f->s, kind, &ev);
}

static void in(struct fixture *f, uint64_t ts_ns, uint32_t thread, uint32_t who)
{
	add(f, EVENT_PROCESS_SCHEDULED, ts_ns, thread, who, EVENT_UNKNOWN, EVENT_WORD_IN,
	    EVENT_WORD_NONE);
}

static void out(struct fixture *f, uint64_t ts_ns, uint32_t thread, uint32_t who,
		uint64_t reductions, enum event_word status)
{
	add(f, EVENT_PROCESS_SCHEDULED, ts_ns, thread, who, reductions, EVENT_WORD_OUT, status);
}

static void runnable(struct fixture *f, uint64_t ts_ns, uint32_t who)
{
	add(f, EVENT_PROCESS_RUNNABLE, ts_ns, f->normal, who, 0, EVENT_WORD_NONE, EVENT_WORD_NONE);
}

static void active(struct fixture *f, uint64_t ts_ns, uint32_t thread, enum event_word word)
{
	add(f, EVENT_SCHEDULER_ACTIVE, ts_ns, thread, 0, 0, word, EVENT_WORD_NONE);
}

static const struct sched_count *count_of(struct fixture *f, uint32_t who)
{
	return &f->s.counts.data[process_groups_of(&f->s.groups, who)];
}

static void assert_percent(const struct sched_clock *c, double percent)
{
	assert_true(fabs(sched_clock_percent(c) - percent) < 0.001);
}

/* Two processes take turns; then one waits and is woken. */
static void slices_and_waits(void **state)
{
	struct fixture *f = *state;

	in(f, 2000, f->normal, f->a); /* since when it was to run is not known */
	runnable(f, 2100, f->b);
	out(f, 3000, f->normal, f->a, 4000, EVENT_WORD_RUNNABLE);
	in(f, 3010, f->normal, f->b);
	out(f, 3510, f->normal, f->b, 4100, EVENT_WORD_RUNNABLE);
	in(f, 3520, f->normal, f->a);
	out(f, 3620, f->normal, f->a, 12, EVENT_WORD_WAITING);
	in(f, 3630, f->normal, f->b);
	out(f, 3700, f->normal, f->b, 30, EVENT_WORD_RUNNABLE);
	runnable(f, 3800, f->a);
	/* Again: the first was a signal, which the VM handled without a slice. */
	runnable(f, 3850, f->a);
	in(f, 3900, f->normal, f->a);
	add(f, EVENT_PROCESS_SCHEDULED, 4000, f->normal, f->a, 5, EVENT_WORD_OUT_EXITED,
	    EVENT_WORD_NONE);

	assert_int_equal(count_of(f, f->a)->slices, 3);
	assert_int_equal(count_of(f, f->a)->time_ns, 1000 + 100 + 100);
	assert_int_equal(count_of(f, f->a)->max_ns, 1000);
	assert_int_equal(count_of(f, f->a)->reductions, 4017);
	assert_int_equal(count_of(f, f->a)->waits, 2);
	assert_int_equal(count_of(f, f->a)->wait_ns, 520 + 50);
	assert_int_equal(count_of(f, f->a)->max_wait_ns, 520);
	assert_int_equal(count_of(f, f->b)->wait_ns, 910 + 120);
	assert_int_equal(f->s.unknown_waits, 1);
	assert_int_equal(f->s.run_queue.nr, 4);
	assert_int_equal(f->s.slices.nr, 5);
	assert_int_equal(f->s.reductions.max, 4100);
	assert_int_equal(f->s.left[SCHED_LEFT_PREEMPTED], 2);
	assert_int_equal(f->s.left[SCHED_LEFT_YIELDED], 1);
	assert_int_equal(f->s.left[SCHED_LEFT_WAITING], 1);
	assert_int_equal(f->s.left[SCHED_LEFT_EXITED], 1);
	/* Only b is to run. */
	assert_int_equal(f->s.processes.nr, 1);
	assert_int_equal(f->s.total.slices, 5);
}

static void woken_while_it_begins_to_wait(void **state)
{
	struct fixture *f = *state;

	in(f, 2000, f->normal, f->a);
	runnable(f, 2090, f->a);
	out(f, 2100, f->normal, f->a, 10, EVENT_WORD_WAITING);
	in(f, 2400, f->normal, f->a);
	assert_int_equal(f->s.left[SCHED_LEFT_YIELDED], 1);
	assert_int_equal(count_of(f, f->a)->wait_ns, 300);
}

static void dirty_schedulers(void **state)
{
	struct fixture *f = *state;

	in(f, 2000, f->normal, f->a);
	out(f, 2100, f->normal, f->a, 10, EVENT_WORD_RUNNABLE);
	in(f, 2300, f->dirty, f->a);
	out(f, 5300, f->dirty, f->a, 1, EVENT_WORD_RUNNABLE);
	in(f, 5400, f->second, f->a);
	out(f, 5500, f->second, f->a, 2, EVENT_WORD_SUSPENDED);
	assert_int_equal(f->s.left[SCHED_LEFT_TO_DIRTY], 1);
	assert_int_equal(f->s.left[SCHED_LEFT_YIELDED], 0);
	assert_int_equal(f->s.left[SCHED_LEFT_SUSPENDED], 1);
	assert_int_equal(f->s.dirty_slices.sum, 3000);
	assert_int_equal(f->s.dirty_run_queue.sum, 200);
	assert_int_equal(f->s.run_queue.sum, 100);
	assert_int_equal(f->s.slices.nr, 2);
	assert_int_equal(f->s.reductions.nr, 2);
	assert_int_equal(count_of(f, f->a)->dirty_ns, 3000);
	assert_int_equal(count_of(f, f->a)->time_ns, 3200);
	sched_stats_advance(&f->s, START + 10000, true);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[1]) - 30) < 0.001);
}

static void utilization(void **state)
{
	struct fixture *f = *state;
	uint32_t order[3];

	sched_stats_begin(&f->s, THREAD_DIRTY_CPU, 1, true);
	sched_stats_begin(&f->s, THREAD_NORMAL, 1, false);
	/* The second worked when it all began; the first did not. */
	active(f, START + 2000, f->second, EVENT_WORD_INACTIVE);
	active(f, START + 4000, f->normal, EVENT_WORD_ACTIVE);
	active(f, START + 4500, f->other, EVENT_WORD_ACTIVE); /* no scheduler */
	active(f, START + 5000, f->normal, EVENT_WORD_INACTIVE);
	sched_stats_advance(&f->s, START + 10000, true);
	assert_int_equal(f->s.cpus.len, 3);
	sched_stats_order(&f->s, order);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[order[0]]) - 10) < 0.001);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[order[1]]) - 20) < 0.001);
	assert_int_equal(f->s.cpus.data[order[1]].number, 2);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[order[2]]) - 100) < 0.001);
	assert_percent(&f->s.cpus.data[order[0]].busy, 0);
	assert_true(isnan(sched_clock_percent(&f->s.cpus.data[order[1]].busy)));

	/* The next interval goes on from there. */
	sched_stats_restart(&f->s);
	active(f, START + 15000, f->normal, EVENT_WORD_ACTIVE);
	sched_stats_advance(&f->s, START + 20000, true);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[order[0]]) - 50) < 0.001);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[order[1]]) - 0) < 0.001);
}

/* One that was between two processes when watching began, and never waited for work since. */
static void active_by_slices(void **state)
{
	struct fixture *f = *state;

	sched_stats_begin(&f->s, THREAD_NORMAL, 1, false);
	sched_stats_begin(&f->s, THREAD_NORMAL, 2, false);
	in(f, START + 1000, f->normal, f->a);
	out(f, START + 2000, f->normal, f->a, 1, EVENT_WORD_WAITING);
	in(f, START + 3000, f->second, f->b);
	active(f, START + 4000, f->second, EVENT_WORD_INACTIVE);
	sched_stats_advance(&f->s, START + 10000, true);
	assert_percent(&f->s.cpus.data[0].active, 100);
	assert_percent(&f->s.cpus.data[0].busy, 10);
	assert_percent(&f->s.cpus.data[1].active, 40);
	/* That it came on again was lost. */
	sched_stats_restart(&f->s);
	in(f, START + 15000, f->second, f->b);
	sched_stats_advance(&f->s, START + 20000, true);
	assert_percent(&f->s.cpus.data[0].active, 100);
	assert_percent(&f->s.cpus.data[1].active, 50);
}

/* What nobody watched tells nothing by its silence: OTP 29 has no scheduler_active. */
static void not_watched(void **state)
{
	struct fixture *f = *state;

	f->stream.watched &= ~(1ull << EVENT_SCHEDULER_ACTIVE);
	sched_stats_begin(&f->s, THREAD_NORMAL, 1, true);
	sched_stats_begin(&f->s, THREAD_NORMAL, 2, false);
	in(f, START + 6000, f->second, f->b);
	sched_stats_advance(&f->s, START + 10000, true);
	for (int i = 0; i < 2; i++)
		assert_true(isnan(sched_cpu_by_events(&f->s.cpus.data[i])));
	assert_percent(&f->s.cpus.data[0].busy, 100);
	assert_percent(&f->s.cpus.data[1].busy, 40);
}

/* One that was on its way in when watching began: since when it is there is not known. */
static void came_unseen(void **state)
{
	struct fixture *f = *state;

	sched_stats_begin(&f->s, THREAD_DIRTY_CPU, 1, false);
	sched_stats_begin(&f->s, THREAD_NORMAL, 1, true);
	out(f, START + 5000, f->dirty, f->a, 1, EVENT_WORD_WAITING);
	in(f, START + 6000, f->dirty, f->a);
	out(f, START + 7000, f->dirty, f->a, 1, EVENT_WORD_WAITING);
	out(f, START + 5000, f->normal, f->b, 1, EVENT_WORD_WAITING);
	sched_stats_advance(&f->s, START + 9000, true);
	assert_int_equal(f->s.cpus.data[0].busy.known_ns, 4000);
	assert_int_equal(f->s.cpus.data[0].busy.on_ns, 1000);
	assert_int_equal(f->s.cpus.data[1].busy.known_ns, 9000);
	assert_int_equal(f->s.cpus.data[1].busy.on_ns, 5000);
	assert_int_equal(f->s.slices.nr + f->s.dirty_slices.nr, 1);
}

/* A slice that goes on over two answers counts once, its time in both. */
static void unfinished(void **state)
{
	struct fixture *f = *state;

	f->s.long_ns = 3000;
	in(f, START + 1000, f->normal, f->a);
	sched_stats_advance(&f->s, START + 5000, false);
	assert_int_equal(count_of(f, f->a)->time_ns, 4000);
	assert_int_equal(count_of(f, f->a)->slices, 0);
	/* It is long, but no long_schedule tells of it until it ends. */
	assert_int_equal(count_of(f, f->a)->seen_long.ns, 0);
	sched_stats_restart(&f->s);
	out(f, START + 7000, f->normal, f->a, 1, EVENT_WORD_WAITING);
	assert_int_equal(count_of(f, f->a)->time_ns, 2000);
	assert_int_equal(count_of(f, f->a)->seen_long.ns, 2000);
	assert_int_equal(count_of(f, f->a)->slices, 1);
	assert_int_equal(count_of(f, f->a)->max_ns, 6000);
}

static void watch(struct fixture *f, uint64_t ts_ns, enum coverage_state state)
{
	coverage_take(&f->stream.coverage, EVENT_PROCESS_SCHEDULED, state, 500000, ts_ns);
	coverage_take(&f->stream.coverage, EVENT_SCHEDULER_ACTIVE, state, 500000, ts_ns);
}

/* What was not watched counts neither as time nor as the end of anything. */
static void sampled(void **state)
{
	struct fixture *f = *state;

	active(f, START + 1000, f->normal, EVENT_WORD_ACTIVE);
	in(f, START + 1000, f->normal, f->a);
	watch(f, START + 2000, COVERAGE_OFF);
	watch(f, START + 9000, COVERAGE_ON);
	out(f, START + 9500, f->normal, f->a, 1, EVENT_WORD_RUNNABLE);
	active(f, START + 9600, f->normal, EVENT_WORD_ACTIVE); /* it had stopped meanwhile */
	assert_int_equal(f->s.slices.nr, 0);
	in(f, START + 9700, f->normal, f->a);
	assert_int_equal(f->s.run_queue.sum, 200);
	active(f, START + 10000, f->normal, EVENT_WORD_INACTIVE);
	sched_stats_advance(&f->s, START + 10000, true);
	/* 1000 off, 1000 on, (gap), 600 off, 400 on. */
	assert_int_equal(f->s.cpus.data[0].active.known_ns, 3000);
	assert_int_equal(f->s.cpus.data[0].active.on_ns, 1400);
}

static void memory(struct fixture *f, uint64_t ns, uint64_t working_ns, uint32_t working)
{
	struct event ev = {.type = REC_SCHEDULER};

	ev.u.scheduler.type = THREAD_NORMAL;
	ev.u.scheduler.number = 1;
	ev.u.scheduler.duration_ns = ns;
	ev.u.scheduler.working_ns = working_ns;
	ev.u.scheduler.on_cpu_ns = ev.u.scheduler.cpu_wait_ns = SCHEDULER_UNKNOWN;
	ev.u.scheduler.samples = 100;
	ev.u.scheduler.working = ev.u.scheduler.process = working;
	sched_stats_memory(&f->s, &ev);
}

static void assert_utilization(struct fixture *f, enum sched_source source, double percent)
{
	struct sched_utilization u;

	sched_cpu_utilization(&f->s, &f->s.cpus.data[0], &u);
	assert_int_equal(u.source, source);
	assert_true(fabs(u.percent - percent) < 0.001);
	assert_true(source == SCHED_SOURCE_NONE || fabs(u.parts.process - percent) < 0.001);
	assert_true(u.error >= 0 && (u.error > 0) == (source == SCHED_SOURCE_SAMPLES));
}

/* Counted by the VM; else by events of which none is missing; else by samples. */
static void utilization_of_three(void **state)
{
	struct fixture *f = *state;

	memory(f, 10000, SCHEDULER_UNKNOWN, 40);
	assert_utilization(f, SCHED_SOURCE_SAMPLES, 40);
	sched_stats_begin(&f->s, THREAD_NORMAL, 1, false);
	active(f, START + 4000, f->normal, EVENT_WORD_ACTIVE);
	active(f, START + 7000, f->normal, EVENT_WORD_INACTIVE);
	sched_stats_advance(&f->s, START + 9000, true);
	assert_utilization(f, SCHED_SOURCE_SAMPLES, 40);
	sched_stats_advance(&f->s, START + 10000, true);
	assert_utilization(f, SCHED_SOURCE_EVENTS, 30);
	f->s.partial = true;
	assert_utilization(f, SCHED_SOURCE_SAMPLES, 40);
	f->s.partial = false;
	f->stream.counters[COUNTER_EVENTS_LOST]++;
	assert_utilization(f, SCHED_SOURCE_SAMPLES, 40);
	sched_stats_restart(&f->s);
	memory(f, 10000, 3500, 40);
	assert_utilization(f, SCHED_SOURCE_VM, 35);
}

/* Only one that was offline all the time is no part of what the node may use. */
static void offline(void **state)
{
	struct event ev = {.type = REC_SCHEDULER};
	struct fixture *f = *state;

	ev.u.scheduler.type = THREAD_NORMAL;
	ev.u.scheduler.number = 1;
	ev.u.scheduler.duration_ns = 1000;
	ev.u.scheduler.working_ns = ev.u.scheduler.on_cpu_ns = ev.u.scheduler.cpu_wait_ns =
		SCHEDULER_UNKNOWN;
	ev.u.scheduler.samples = ev.u.scheduler.gc_samples = 10;
	ev.u.scheduler.offline = true;
	sched_stats_memory(&f->s, &ev);
	assert_true(sched_use_is_offline(&f->s.cpus.data[0].use));
	assert_true(isnan(sched_use_gc(&f->s.cpus.data[0].use)));
	ev.u.scheduler.offline = false;
	sched_stats_memory(&f->s, &ev);
	assert_false(sched_use_is_offline(&f->s.cpus.data[0].use));
}

/* One that does nothing is known to do nothing, also while nobody watches at the end. */
static void sampled_and_silent(void **state)
{
	struct fixture *f = *state;

	sched_stats_begin(&f->s, THREAD_DIRTY_CPU, 1, false);
	watch(f, START + 2000, COVERAGE_OFF);
	watch(f, START + 9000, COVERAGE_ON);
	watch(f, START + 9500, COVERAGE_OFF);
	sched_stats_advance(&f->s, START + 10000, true);
	assert_int_equal(f->s.cpus.data[0].busy.known_ns, 2500);
	assert_true(fabs(sched_cpu_by_events(&f->s.cpus.data[0]) - 0) < 0.001);
}

static void more_than_there_is_room_for(void **state)
{
	struct fixture *f = *state;

	sched_stats_close(&f->s);
	sched_stats_open(&f->s, &f->stream, PROCESS_GROUP_PROCESS, 0, 1, START);
	runnable(f, 2000, f->a);
	runnable(f, 2000, f->b);
	assert_int_equal(f->s.untracked, 1);
	in(f, 2100, f->normal, f->b);
	out(f, 2200, f->normal, f->b, 1, EVENT_WORD_WAITING);
	in(f, 2300, f->normal, f->a);
	assert_int_equal(f->s.run_queue.nr, 1);
	assert_int_equal(f->s.run_queue.sum, 300);
	runnable(f, 2400, 0); /* no process */
	runnable(f, 2400, 4711);
}

/* What was missed in a gap, and what was lost, does not stay for ever. */
static void missed(void **state)
{
	struct fixture *f = *state;

	runnable(f, START + 100, f->a);
	in(f, START + 200, f->normal, f->b);
	watch(f, START + 300, COVERAGE_OFF);
	watch(f, START + 400, COVERAGE_ON);
	assert_int_equal(f->s.processes.nr, 2);
	sched_stats_advance(&f->s, START + 1000, true);
	sched_stats_restart(&f->s);
	assert_int_equal(f->s.processes.nr, 0);
	/* That b left was lost: its time ends where that is seen, and it is forgotten. */
	in(f, START + 1100, f->normal, f->b);
	in(f, START + 1200, f->normal, f->a);
	assert_int_equal(f->s.processes.nr, 1);
	sched_stats_advance(&f->s, START + 1300, true);
	assert_int_equal(f->s.counts.data[process_groups_of(&f->s.groups, f->a)].time_ns, 100);
	assert_int_equal(f->s.total.time_ns, 100);
	sched_stats_restart(&f->s);
	/* It went on elsewhere. */
	in(f, START + 1400, f->second, f->a);
	in(f, START + 1500, f->normal, f->b);
	assert_int_equal(f->s.processes.nr, 2);
	out(f, START + 1600, f->second, f->a, 1, EVENT_WORD_RUNNABLE);
	sched_stats_advance(&f->s, START + 2000, true);
	sched_stats_restart(&f->s);
	f->stream.counters[COUNTER_EVENTS_LOST]++;
	sched_stats_advance(&f->s, START + 3000, true);
	assert_int_equal(f->s.processes.nr, 2);
	sched_stats_restart(&f->s);
	assert_int_equal(f->s.processes.nr, 1); /* b runs all the time */
}

/* One that cannot be there any more makes room. */
static void room_after_a_gap(void **state)
{
	struct fixture *f = *state;

	sched_stats_close(&f->s);
	sched_stats_open(&f->s, &f->stream, PROCESS_GROUP_PROCESS, 0, 1, START);
	runnable(f, 2000, f->a);
	watch(f, 2100, COVERAGE_OFF);
	watch(f, 2200, COVERAGE_ON);
	runnable(f, 2300, f->b);
	assert_int_equal(f->s.untracked, 0);
	in(f, 2400, f->normal, f->b);
	assert_int_equal(f->s.run_queue.sum, 100);
}

/* Many come and go: those that are there are found, in a table that closes its holes. */
static void come_and_go(void **state)
{
	struct fixture *f = *state;
	enum { NR = 5000 };
	uint32_t *ids = calloc(NR, sizeof(*ids));
	uint64_t waited = 0;

	for (uint32_t i = 0; i < NR; i++) {
		ids[i] = process(f->n, 1000 + 64ull * i);
		runnable(f, 10000 + i, ids[i]);
	}
	assert_int_equal(f->s.processes.nr, NR);
	for (uint32_t i = 0; i < NR; i++) {
		uint32_t who = ids[(i * 7919u) % NR];

		in(f, 20000 + i, f->normal, who);
		waited += 20000 + i - (10000 + (i * 7919u) % NR);
		out(f, 20000 + i, f->normal, who, 1, EVENT_WORD_WAITING);
	}
	assert_int_equal(f->s.run_queue.nr, NR);
	assert_int_equal(f->s.run_queue.sum, waited);
	assert_int_equal(f->s.processes.nr, 0);
	free(ids);
}

static void longest_slices(void **state)
{
	struct fixture *f = *state;
	struct event ev = {
		.type = REC_EVENT, .ts_ns = 10000, .u.vm = {.process = f->a, .nr_values = 3}};

	for (unsigned int i = 0; i < 30; i++) {
		ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, DURATION)] = 1000 + (i * 7) % 30;
		sched_stats_take(&f->s, EVENT_LONG_SCHEDULE, &ev);
	}
	assert_int_equal(f->s.nr_long, 30);
	assert_int_equal(f->s.nr_longest, SCHED_STATS_LONGEST);
	for (unsigned int i = 0; i < SCHED_STATS_LONGEST; i++)
		assert_int_equal(f->s.longest[i].ns, 1029 - i);
	/* Longer than it was watched: its end is that of another one. */
	coverage_take(&f->stream.coverage, EVENT_LONG_SCHEDULE, COVERAGE_OFF, 500000, 11000);
	coverage_take(&f->stream.coverage, EVENT_LONG_SCHEDULE, COVERAGE_ON, 500000, 15000);
	ev.ts_ns = 17000;
	ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, DURATION)] = 7000;
	sched_stats_take(&f->s, EVENT_LONG_SCHEDULE, &ev);
	assert_int_equal(f->s.nr_long, 30);
	ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, DURATION)] = 1900;
	sched_stats_take(&f->s, EVENT_LONG_SCHEDULE, &ev);
	assert_int_equal(f->s.nr_long, 31);
	assert_int_equal(f->s.longest[0].ns, 1900);
}

static void was_long(struct fixture *f, uint64_t ts_ns, uint32_t thread, uint32_t who, uint64_t ns,
		     uint64_t reductions, uint64_t error_ns)
{
	struct event ev = {
		.type = REC_EVENT,
		.ts_ns = ts_ns,
		.u.vm = {.process = who, .thread = thread, .nr_values = EVENT_MAX_FIELDS}};

	memset(ev.u.vm.values, 0xff, sizeof(ev.u.vm.values));
	ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, DURATION)] = ns;
	ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, REDUCTIONS)] = reductions;
	ev.u.vm.values[EVENT_AT(LONG_SCHEDULE, ERROR)] = error_ns;
	sched_stats_take(&f->s, EVENT_LONG_SCHEDULE, &ev);
}

/* What is reported of a group has the long slices that watching saw and no process_scheduled
 * reported. */
static void long_slices_of_groups(void **state)
{
	struct fixture *f = *state;
	const struct sched_count *a, *b;

	f->s.long_ns = 500;
	in(f, START + 100, f->normal, f->a);
	out(f, START + 200, f->normal, f->a, 1, EVENT_WORD_WAITING);
	in(f, START + 300, f->normal, f->a);
	out(f, START + 900, f->normal, f->a, 1, EVENT_WORD_WAITING);
	was_long(f, START + 905, f->normal, f->a, 610, EVENT_UNKNOWN, 10);
	was_long(f, START + 5000, f->dirty, f->a, 3000, EVENT_UNKNOWN, EVENT_UNKNOWN);
	was_long(f, START + 5000, f->normal, f->b, 2000, EVENT_UNKNOWN, 10);
	was_long(f, START + 9000, f->normal, 0, 4000, EVENT_UNKNOWN, 10); /* a port's */
	a = &f->s.counts.data[1];
	b = &f->s.counts.data[2];
	/* Nothing else reported the one that was cut. */
	assert_int_equal(a->slices, 2);
	assert_int_equal(a->time_ns, 3700);
	assert_int_equal(a->dirty_ns, 3000);
	assert_int_equal(a->seen_long.nr, 1);
	assert_int_equal(a->seen_long.ns, 3600);
	assert_int_equal(a->all_long.nr, 2);
	assert_int_equal(a->all_long.ns, 3610);
	assert_int_equal(a->all_long.dirty_ns, 3000);
	assert_int_equal(a->max_ns, 3000);
	assert_true(a->max_cut);
	assert_int_equal(b->max_ns, 2000);
	assert_false(b->max_cut);
	assert_int_equal(f->s.total.all_long.ns, 5610);
	assert_int_equal(f->s.nr_long, 4);
	assert_true(f->s.longest[1].ns == 3000 && f->s.longest[1].cut);
	assert_false(f->s.longest[0].cut);
	/* Probes tell of reductions and of no error: they saw both ends. */
	was_long(f, START + 9000, f->normal, f->b, 5000, 7, EVENT_UNKNOWN);
	assert_false(f->s.longest[0].cut || f->s.counts.data[2].max_cut);
	/* Of one that was seen to begin its time is counted anyway. */
	in(f, START + 9000, f->second, f->b);
	was_long(f, START + 9900, f->second, f->b, 890, EVENT_UNKNOWN, EVENT_UNKNOWN);
	assert_int_equal(f->s.counts.data[2].time_ns, 0);
	/* Of an interval it has what was in it, though it is as long as it is. */
	sched_stats_advance(&f->s, START + 10000, true);
	sched_stats_restart(&f->s);
	was_long(f, START + 11000, f->normal, f->b, 4000, EVENT_UNKNOWN, 10);
	assert_int_equal(f->s.total.all_long.ns, 1000);
	assert_int_equal(f->s.total.max_ns, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slices_and_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(woken_while_it_begins_to_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dirty_schedulers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(utilization, set_up, tear_down),
		cmocka_unit_test_setup_teardown(utilization_of_three, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sampled_and_silent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(offline, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_watched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(active_by_slices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(came_unseen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unfinished, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sampled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_than_there_is_room_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(missed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(room_after_a_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(come_and_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(longest_slices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_slices_of_groups, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
