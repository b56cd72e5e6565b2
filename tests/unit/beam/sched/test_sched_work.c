/* SPDX-License-Identifier: BSD-2-Clause */
/* What schedulers do and how long they worked: of a node's memory, of spans, of records. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/sched/sched_work.h"
#include "lib/fakenode.h"
#include "event/event.h"
#include "model/stats/sched_use.h"
#include "probe/watch/sched_watch.h"

#define IDLE UINT64_MAX

/* 2 normal schedulers, 1 dirty CPU, 1 dirty IO. */
struct fixture {
	struct fakenode *f;
	raddr esdp[4];
	struct sched_work *w;
};

static raddr make_array(struct fakenode *f, uint32_t nr)
{
	return image_alloc(f->im, (size_t)f->node.layout.sched_stride * nr);
}

static void open_node(struct fixture *x, int otp)
{
	struct beam_anchors *a;

	x->f = fakenode_open(otp);
	a = &x->f->node.anchors;
	a->sched = x->esdp[0] = make_array(x->f, a->nr_sched = 2);
	x->esdp[1] = a->sched + (raddr)x->f->node.layout.sched_stride;
	a->dirty_cpu = x->esdp[2] = make_array(x->f, a->nr_dirty_cpu = 1);
	a->dirty_io = x->esdp[3] = make_array(x->f, a->nr_dirty_io = 1);
	assert_int_equal(sched_work_open(&x->w, &x->f->node, x->f->node.mem), 0);
}

static void close_node(struct fixture *x)
{
	sched_work_close(x->w);
	fakenode_close(x->f);
}

static void at_work(struct fixture *x, int at, uint32_t active, uint64_t process, uint64_t port)
{
	const struct beam_layout *l = &x->f->node.layout;

	image_u32(x->f->im, x->esdp[at] + (raddr)l->sched_thr_progress_active, active);
	image_u64(x->f->im, x->esdp[at] + (raddr)l->sched_current_process, process);
	image_u64(x->f->im, x->esdp[at] + (raddr)l->sched_current_port, port);
}

static void counted(struct fixture *x, int at, uint32_t enabled, uint64_t start, uint64_t total,
		    uint64_t since)
{
	const struct beam_layout *l = &x->f->node.layout;

	image_u32(x->f->im, x->esdp[at] + (raddr)l->sched_wall_time_enabled, enabled);
	image_u64(x->f->im, x->esdp[at] + (raddr)l->sched_wall_time_start, start);
	image_u64(x->f->im, x->esdp[at] + (raddr)l->sched_working_total, total);
	image_u64(x->f->im, x->esdp[at] + (raddr)l->sched_working_start, since);
}

static void assert_doing(struct fixture *x, enum sched_doing a, enum sched_doing b,
			 enum sched_doing c, enum sched_doing d)
{
	const enum sched_doing wanted[] = {a, b, c, d};
	uint32_t nr, nr_normal;
	const struct sched_worker *all = sched_work_all(x->w, &nr, &nr_normal);

	assert_int_equal(nr, 4);
	assert_int_equal(nr_normal, 2);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(all[i].doing, wanted[i]);
	assert_int_equal(all[1].number, 2);
	assert_int_equal(all[3].type, THREAD_DIRTY_IO);
}

static void test_samples(void **state)
{
	static const int releases[] = {24, 25, 27, 29};

	UNUSED(state);
	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		struct fixture x;

		open_node(&x, releases[r]);
		counted(&x, 2, 1, 5, 0, IDLE);
		counted(&x, 3, 1, 5, 0, IDLE);
		at_work(&x, 1, 0, 0x1000, 0); /* it was there, but waits by now */
		sched_work_sample(x.w, true);
		assert_doing(&x, SCHED_DOING_NOTHING, SCHED_DOING_NOTHING, SCHED_DOING_NOTHING,
			     SCHED_DOING_NOTHING);
		at_work(&x, 0, 1, 0x1000, 0x2000); /* a process that calls a port itself */
		at_work(&x, 1, 1, 0, 0x2000);
		at_work(&x, 2, 0, 0x1000, 0); /* dirty ones have no progress to tell */
		counted(&x, 2, 1, 5, 0, 7);
		counted(&x, 3, 1, 5, 0, 7);
		sched_work_sample(x.w, true);
		assert_doing(&x, SCHED_DOING_PROCESS, SCHED_DOING_PORT, SCHED_DOING_PROCESS,
			     SCHED_DOING_OTHER);
		at_work(&x, 1, 1, 0, 0);
		sched_work_sample(x.w, false);
		assert_doing(&x, SCHED_DOING_PROCESS, SCHED_DOING_OTHER, SCHED_DOING_UNKNOWN,
			     SCHED_DOING_UNKNOWN);
		image_unmap(x.f->im, x.esdp[3]);
		sched_work_sample(x.w, true);
		assert_doing(&x, SCHED_DOING_PROCESS, SCHED_DOING_OTHER, SCHED_DOING_PROCESS,
			     SCHED_DOING_UNKNOWN);
		close_node(&x);
	}
}

static void test_clocks(void **state)
{
	uint64_t before = clock_monotonic_ns(), start = before - 1000000000;
	struct sched_clock_read c;
	struct fixture x;

	UNUSED(state);
	open_node(&x, 27);
	/* Normal ones count if that is on, and go on while they are active. */
	counted(&x, 0, 0, start, 5000, 7000);
	sched_work_clock(x.w, 0, &c);
	assert_false(c.known);
	counted(&x, 0, 1, start, 5000, 7000);
	sched_work_clock(x.w, 0, &c);
	assert_true(c.known);
	assert_int_equal(c.working_ns, 5000);
	assert_int_equal(c.start_ns, start);
	at_work(&x, 0, 1, 0, 0);
	sched_work_clock(x.w, 0, &c);
	assert_true(c.known && c.at_ns >= before);
	assert_int_equal(c.working_ns, 5000 + c.at_ns - start - 7000);
	/* Dirty ones say themselves whether they work. */
	counted(&x, 2, 1, start, 5000, IDLE);
	at_work(&x, 2, 1, 0, 0);
	sched_work_clock(x.w, 2, &c);
	assert_int_equal(c.working_ns, 5000);
	counted(&x, 2, 1, start, 5000, 6000);
	sched_work_clock(x.w, 2, &c);
	assert_int_equal(c.working_ns, 5000 + c.at_ns - start - 6000);
	/* While it is written; of another clock; what cannot be. */
	image_u32(x.f->im, x.esdp[2] + (raddr)x.f->node.layout.sched_wall_time, 1);
	sched_work_clock(x.w, 2, &c);
	assert_false(c.known);
	counted(&x, 3, 1, before + 3600000000000u, 0, IDLE);
	sched_work_clock(x.w, 3, &c);
	assert_false(c.known);
	counted(&x, 3, 1, start, 3600000000000u, IDLE);
	sched_work_clock(x.w, 3, &c);
	assert_false(c.known);
	counted(&x, 3, 1, start, 0, 3600000000000u);
	sched_work_clock(x.w, 3, &c);
	assert_false(c.known);
	image_unmap(x.f->im, x.esdp[3]);
	sched_work_clock(x.w, 3, &c);
	assert_false(c.known);
	close_node(&x);
}

static void test_not_known(void **state)
{
	struct sched_work *w;
	struct fakenode *f = fakenode_open(25);

	UNUSED(state);
	f->node.anchors.sched = 0;
	assert_int_equal(sched_work_open(&w, &f->node, f->node.mem), -ENOENT);
	f->node.anchors.sched = make_array(f, f->node.anchors.nr_sched = 1);
	f->node.layout.sched_thr_progress_active = LAYOUT_ABSENT;
	assert_int_equal(sched_work_open(&w, &f->node, f->node.mem), -ENOENT);
	assert_null(w);
	sched_work_close(NULL);
	fakenode_close(f);
}

/* ---- when it is sampled, and what is believed ------------------------------------------------ */

static void test_pace(void **state)
{
	uint64_t random = 42, low = UINT64_MAX, high = 0, sum = 0;

	UNUSED(state);
	for (int i = 0; i < 10000; i++) {
		uint64_t at = sched_watch_next(&random, 5000000, 1000000) - 5000000;

		assert_true(at < 1000000);
		low = at < low ? at : low;
		high = at > high ? at : high;
		sum += at;
	}
	assert_true(low < 2000 && high > 998000);
	assert_true(sum / 10000 > 480000 && sum / 10000 < 520000);
	/* 2 % of a core, within limits. */
	assert_int_equal(sched_watch_period(32 * 20000, 32), 1000000);
	assert_int_equal(sched_watch_period(32 * 100, 32), 500000);
	assert_int_equal(sched_watch_period(32 * 10000000ull, 32), 20000000);
	assert_int_equal(sched_watch_period(0, 0), 1000000);
	/* Samples that see one thing as often as the other: a thousand a second. */
	assert_in_range(sched_watch_enough(4000, 1000, 500), 999000, 1001000);
	/* All the same: the fewer they were the more. */
	assert_in_range(sched_watch_enough(4000, 40, 40), 10000000, 12000000);
	assert_int_equal(sched_watch_enough(4000, 40, 0), sched_watch_enough(4000, 40, 40));
	assert_in_range(sched_watch_enough(4000, 10, 0), 3000000, 4000000);
	assert_int_equal(sched_watch_enough(4000, 0, 0), 1000000);
}

static void test_agrees(void **state)
{
	UNUSED(state);
	assert_true(sched_watch_agrees(250, 1000, 0, 400, 100));
	assert_true(sched_watch_agrees(0, 1000, 0, 400, 0));
	assert_true(sched_watch_agrees(1000, 1000, 0, 400, 400));
	assert_true(sched_watch_agrees(900, 1000, 0, 10, 0)); /* of few samples nothing is said */
	assert_false(sched_watch_agrees(900, 1000, 0, 400, 100));
	assert_false(sched_watch_agrees(0, 1000, 0, 400, 100));
	assert_false(sched_watch_agrees(1001, 1000, 0, 0, 0));
	/* What was not sampled may have been anything. */
	assert_true(sched_watch_agrees(900, 1000, 700, 400, 100));
	assert_false(sched_watch_agrees(900, 1000, 400, 400, 100));
}

/* ---- of records ------------------------------------------------------------------------------ */

static void add(struct sched_use *u, uint64_t ns, uint64_t working_ns, uint32_t samples,
		uint32_t working)
{
	struct event ev = {.type = REC_SCHEDULER};

	ev.u.scheduler.duration_ns = ns;
	ev.u.scheduler.working_ns = working_ns;
	ev.u.scheduler.samples = samples;
	ev.u.scheduler.working = working;
	ev.u.scheduler.process = working / 2;
	ev.u.scheduler.port = working / 4;
	ev.u.scheduler.on_cpu_ns = ns / 2;
	ev.u.scheduler.cpu_wait_ns = ns / 10;
	sched_use_add(u, &ev);
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 0.001);
}

static void test_use(void **state)
{
	struct sched_use u = {0};
	struct sched_parts p;

	UNUSED(state);
	assert_true(isnan(sched_use_work(&u)) && isnan(sched_use_seen(&u)) &&
		    isnan(sched_use_counted(&u)) && isnan(sched_use_cpu_wait(&u)));
	add(&u, 1000, SCHEDULER_UNKNOWN, 100, 40);
	assert_near(sched_use_work(&u), 40);
	assert_true(isnan(sched_use_counted(&u)));
	assert_false(sched_use_is_exact(&u));
	assert_true(sched_use_error(&u) > 9.7 && sched_use_error(&u) < 10);
	/* What the VM counts is taken instead of samples: 400 of 1000, 300 of 3000. */
	add(&u, 3000, 300, 100, 20);
	assert_near(sched_use_counted(&u), 10);
	assert_near(sched_use_seen(&u), 25);
	assert_near(sched_use_work(&u), 17.5);
	assert_true(sched_use_error(&u) < 2.6);
	assert_false(sched_use_is_exact(&u));
	p = sched_use_parts(&u, sched_use_work(&u));
	assert_near(p.process, 17.5 * 0.5);
	assert_near(p.port, 17.5 * 0.25);
	assert_near(p.process + p.port + p.other, 17.5);
	assert_near(sched_use_on_cpu(&u), 50);
	assert_near(sched_use_cpu_wait(&u), 10);
	assert_near(sched_use_waited(&u), 100.0 / 6);
	add(&u, 996000, 0, 0, 0);
	assert_true(sched_use_is_exact(&u));
	u = (struct sched_use){0};
	add(&u, 1000, 0, 10, 0);
	p = sched_use_parts(&u, 0);
	assert_near(p.process + p.port + p.other, 0);
	assert_true(isnan(sched_use_parts(&u, 0.5).process)); /* never seen at it */
}

static void add_parts(struct sched_use *u, uint32_t samples, uint32_t process, uint32_t port)
{
	struct event ev = {.type = REC_SCHEDULER};

	ev.u.scheduler.duration_ns = 1000;
	ev.u.scheduler.working_ns = SCHEDULER_UNKNOWN;
	ev.u.scheduler.samples = samples;
	ev.u.scheduler.working = process + port;
	ev.u.scheduler.process = process;
	ev.u.scheduler.port = port;
	sched_use_add(u, &ev);
}

/* Half of the time all at work with processes, of which few samples are enough; half of it half as
 * busy, with ports. */
static void test_spans_weigh_by_their_time(void **state)
{
	struct sched_use u = {0};
	struct sched_parts p;

	UNUSED(state);
	add_parts(&u, 20, 20, 0);
	add_parts(&u, 200, 0, 100);
	assert_near(sched_use_work(&u), 75);
	p = sched_use_parts(&u, sched_use_work(&u));
	assert_near(p.process, 50);
	assert_near(p.port, 25);
	assert_near(p.other, 0);
}

static void assert_gc(struct fixture *x, int at, bool known, bool gc)
{
	uint32_t nr, nr_normal;
	const struct sched_worker *all = sched_work_all(x->w, &nr, &nr_normal);

	assert_int_equal(all[at].gc_known, known);
	assert_int_equal(all[at].gc, gc);
}

static void test_collections(void **state)
{
	struct fixture x;
	raddr process;

	UNUSED(state);
	open_node(&x, 27);
	process = image_alloc(x.f->im, (size_t)x.f->node.layout.process_size);
	image_u32(x.f->im, process + (raddr)x.f->node.layout.process_state, PSFLG_GC);
	at_work(&x, 0, 1, process, 0);
	at_work(&x, 1, 0, process, 0); /* it has left */
	counted(&x, 2, 1, 5, 0, 7);
	at_work(&x, 2, 0, 0xdead000, 0); /* its process is gone */
	sched_work_sample(x.w, true);
	sched_work_sample_gc(x.w);
	assert_gc(&x, 0, true, true);
	assert_gc(&x, 1, true, false);
	assert_gc(&x, 2, false, false);
	image_u32(x.f->im, process + (raddr)x.f->node.layout.process_state, 0);
	sched_work_sample(x.w, false);
	sched_work_sample_gc(x.w);
	assert_gc(&x, 0, true, false);
	assert_gc(&x, 2, false, false); /* not sampled */
	close_node(&x);
}

static void add_gc(struct sched_use *u, uint64_t ns, uint32_t samples, uint32_t gc)
{
	struct event ev = {.type = REC_SCHEDULER};

	ev.u.scheduler.duration_ns = ns;
	ev.u.scheduler.working_ns = SCHEDULER_UNKNOWN;
	ev.u.scheduler.gc_samples = samples;
	ev.u.scheduler.gc = gc;
	sched_use_add(u, &ev);
}

/* 30 of 1000 ns, 60 of 3000. */
static void test_gc_share(void **state)
{
	struct sched_use u = {0};

	UNUSED(state);
	add_gc(&u, 1000, 0, 0);
	assert_true(isnan(sched_use_gc(&u)) && isnan(sched_use_gc_error(&u)));
	add_gc(&u, 1000, 1000, 30);
	add_gc(&u, 3000, 1000, 20);
	assert_near(sched_use_gc(&u), 2.25);
	/* 2 sigma of 51 of 2002 */
	assert_near(sched_use_gc_error(&u), 200 * sqrt(0.0254745 * 0.9745255 / 2000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_agrees),
		cmocka_unit_test(test_use),
		cmocka_unit_test(test_spans_weigh_by_their_time),
		cmocka_unit_test(test_collections),
		cmocka_unit_test(test_gc_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
