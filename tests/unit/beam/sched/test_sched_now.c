/* SPDX-License-Identifier: BSD-2-Clause */
/* What schedulers do now: slices over several samples, thread progress, the kernel's side. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "beam/sched/sched_now.h"
#include "lib/fakenode.h"
#include "target/thread_state.h"

/* 2 normal schedulers, 1 dirty CPU, 1 dirty IO; a process. */
struct fixture {
	struct fakenode *f;
	raddr esdp[4], queue[3], registers, process, port;
	struct sched_now *s;
	const struct sched_one *all;
};

#define NO_FRAGMENTS	       ((struct address_range){0})
#define AT(x, at, field)       ((x)->esdp[at] + (raddr)(x)->f->node.layout.field)
#define PUT32(x, at, field, v) image_u32((x)->f->im, AT(x, at, field), v)
#define PUT64(x, at, field, v) image_u64((x)->f->im, AT(x, at, field), v)

static void rest(struct fixture *x, int at)
{
	PUT32(x, at, sched_thr_progress_active, 0);
	PUT64(x, at, sched_thr_progress_confirmed, PROGRESS_WAITING);
	PUT64(x, at, sched_thr_progress_current, PROGRESS_WAITING);
	PUT32(x, at, sched_thr_progress_unmanaged, UINT32_MAX);
	PUT64(x, at, sched_current_process, 0);
	PUT64(x, at, sched_current_port, 0);
	PUT32(x, at, sched_wall_time_enabled, 1);
	PUT64(x, at, sched_wall_time_start, 1000);
	PUT64(x, at, sched_working_start, SCHED_WTIME_IDLE);
}

static void run(struct fixture *x, int at, uint64_t confirmed)
{
	PUT32(x, at, sched_thr_progress_active, 1);
	PUT64(x, at, sched_thr_progress_confirmed, confirmed);
	PUT64(x, at, sched_current_process, x->process);
}

static void open_node(struct fixture *x, int otp)
{
	struct beam_anchors *a;
	const struct beam_layout *l;
	raddr reg;
	size_t nr;

	memset(x, 0, sizeof(*x));
	x->f = fakenode_open(otp);
	l = &x->f->node.layout;
	a = &x->f->node.anchors;
	a->sched = x->esdp[0] = image_alloc(x->f->im, 2 * (size_t)l->sched_stride);
	a->nr_sched = 2;
	x->esdp[1] = a->sched + (raddr)l->sched_stride;
	a->dirty_cpu = x->esdp[2] = image_alloc(x->f->im, (size_t)l->sched_stride);
	a->dirty_io = x->esdp[3] = image_alloc(x->f->im, (size_t)l->sched_stride);
	a->nr_dirty_cpu = a->nr_dirty_io = 1;
	x->process = image_alloc(x->f->im, (size_t)l->process_size);
	image_u64(x->f->im, x->process + (raddr)l->process_id, 0x503);
	reg = image_alloc(x->f->im, 64);
	image_u64(x->f->im, reg + (raddr)l->regproc_name, fakenode_atom(x->f, "worker"));
	image_u64(x->f->im, x->process + (raddr)l->process_reg, reg);
	x->port = image_alloc(x->f->im, (size_t)l->port_size);
	x->registers = image_alloc(x->f->im, 16 + (size_t)l->registers_size) + 16;
	image_u64(x->f->im, x->registers - 8, 0x4711);
	for (int i = 0; i < 4; i++) {
		if (i < 3)
			x->queue[i] = image_alloc(x->f->im, (size_t)l->runq_stride);
		PUT64(x, i, sched_run_queue, x->queue[MIN(i, 2)]);
		PUT64(x, i, sched_registers, x->registers);
		rest(x, i);
	}
	image_u32(x->f->im, x->queue[0] + (raddr)l->runq_len, 7);
	assert_int_equal(sched_now_open(&x->s, &x->f->node, NO_FRAGMENTS), 0);
	x->all = sched_now_all(x->s, &nr);
	assert_int_equal(nr, 4);
}

static void close_node(struct fixture *x)
{
	sched_now_close(x->s);
	fakenode_close(x->f);
}

static const int releases[] = {24, 25, 27, 29};

static void test_slices(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct fixture x;
		const struct beam_layout *l;

		open_node(&x, releases[i]);
		l = &x.f->node.layout;
		sched_now_sample(x.s, 10000);
		for (int k = 0; k < 4; k++)
			assert_int_equal(x.all[k].now.doing, SCHED_DOING_NOTHING);
		assert_int_equal(x.all[0].now.run_queue, 7);
		run(&x, 0, 5);
		PUT64(&x, 2, sched_working_start, 500);
		PUT64(&x, 2, sched_current_process, x.process);
		sched_now_sample(x.s, 20000);
		assert_int_equal(x.all[0].now.doing, SCHED_DOING_PROCESS);
		assert_int_equal(x.all[0].now.epid, 0x503);
		assert_int_equal(x.all[0].now.registered, fakenode_atom(x.f, "worker"));
		assert_int_equal(x.all[0].now.call_ra, 0x4711);
		assert_int_equal(x.all[0].same_ns, 20000);
		assert_int_equal(x.all[0].before_ns, 10000);
		assert_int_equal(x.all[1].same_ns, 10000);
		assert_int_equal(x.all[1].before_ns, 0);
		assert_int_equal(x.all[2].working_ns, 1500);
		assert_int_equal(x.all[3].working_ns, 0);
		/* The same slice; what cannot be read in between does not end it. */
		sched_now_sample(x.s, 30000);
		image_unmap(x.f->im, x.esdp[3]);
		sched_now_sample(x.s, 40000);
		assert_int_equal(x.all[0].same_ns, 20000);
		assert_false(x.all[3].now.known);
		assert_int_equal(x.all[3].last_ns, 30000);
		/* The same process again, in another slice. */
		image_u64(x.f->im, x.process + (raddr)l->process_reds, 4000);
		sched_now_sample(x.s, 50000);
		assert_int_equal(x.all[0].same_ns, 50000);
		assert_int_equal(x.all[0].before_ns, 40000);
		assert_int_equal(x.all[2].same_ns, 50000);
		PUT64(&x, 0, sched_reductions, 4000);
		sched_now_sample(x.s, 60000);
		assert_int_equal(x.all[0].same_ns, 60000);
		assert_int_equal(x.all[2].same_ns, 50000);
		/* A port, whose tasks count when they are done; then nothing that can be named. */
		PUT64(&x, 0, sched_current_process, 0);
		PUT64(&x, 0, sched_current_port, x.port);
		sched_now_sample(x.s, 70000);
		sched_now_sample(x.s, 80000);
		assert_int_equal(x.all[0].now.doing, SCHED_DOING_PORT);
		assert_int_equal(x.all[0].same_ns, 70000);
		PUT64(&x, 0, sched_current_port, 0);
		sched_now_sample(x.s, 90000);
		sched_now_sample(x.s, 100000);
		assert_int_equal(x.all[0].now.doing, SCHED_DOING_OTHER);
		assert_int_equal(x.all[0].same_ns, 100000);
		close_node(&x);
	}
}

/* A clock that cannot be the host's is none. */
/* In a match specification the current process has no pid: the one that called counts, which is on
 * the C stack. */
static void test_match_specification(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct fixture x;
		const struct beam_layout *l;
		raddr pseudo;

		open_node(&x, releases[i]);
		l = &x.f->node.layout;
		pseudo = image_alloc(x.f->im, (size_t)l->process_size);
		image_u64(x.f->im, pseudo + (raddr)l->process_id,
			  releases[i] <= 25 ? TERM_INVALID_PID_25 : TERM_INVALID_PID);
		image_u64(x.f->im, pseudo + (raddr)l->process_scheduler_data, x.esdp[0]);
		image_u64(x.f->im, x.process + (raddr)l->process_scheduler_data, x.esdp[0]);
		run(&x, 0, 5);
		PUT64(&x, 0, sched_current_process, pseudo);
		image_u64(x.f->im, x.registers - 16, pseudo);
		sched_now_sample(x.s, 10000);
		assert_false(x.all[0].now.known);
		image_u64(x.f->im, x.registers - 16, x.process);
		sched_now_sample(x.s, 20000);
		assert_true(x.all[0].now.known);
		assert_int_equal(x.all[0].now.process, x.process);
		assert_int_equal(x.all[0].now.epid, 0x503);
		/* Whether it is in one or not at a sample: it is the same slice. */
		PUT64(&x, 0, sched_current_process, x.process);
		sched_now_sample(x.s, 30000);
		assert_int_equal(x.all[0].same_ns, 20000);
		close_node(&x);
	}
}

static void test_clock(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_node(&x, 27);
	PUT64(&x, 2, sched_current_process, x.process);
	PUT64(&x, 2, sched_working_start, 90000);
	sched_now_sample(x.s, 20000);
	assert_int_equal(x.all[2].now.doing, SCHED_DOING_PROCESS);
	assert_int_equal(x.all[2].working_ns, 0);
	PUT64(&x, 2, sched_working_start, 19000);
	sched_now_sample(x.s, 20000);
	assert_int_equal(x.all[2].working_ns, 20000);
	PUT32(&x, 2, sched_wall_time_enabled, 0);
	sched_now_sample(x.s, 20000);
	assert_int_equal(x.all[2].working_ns, 0);
	close_node(&x);
}

static enum progress_holder holds(const struct fixture *x, int at)
{
	return sched_now_holds(x->s, &x->all[at], 10000);
}

static void test_progress(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct fixture x;

		/* All rest. */
		open_node(&x, releases[i]);
		sched_now_sample(x.s, 10000);
		assert_false(sched_now_progress(x.s)->known);
		assert_int_equal(holds(&x, 0), PROGRESS_HOLDER_NONE);
		close_node(&x);

		/* The first works and confirms nothing new; nobody leads. */
		open_node(&x, releases[i]);
		run(&x, 0, 6);
		sched_now_sample(x.s, 10000);
		sched_now_sample(x.s, 20000);
		assert_int_equal(holds(&x, 0), PROGRESS_HOLDER_ALONE);
		/* It leads: it is that which does not check. */
		PUT32(&x, 0, sched_thr_progress_leader, 1);
		PUT64(&x, 0, sched_thr_progress_current, 5);
		sched_now_sample(x.s, 30000);
		assert_true(sched_now_progress(x.s)->known);
		assert_int_equal(sched_now_progress(x.s)->value, 5);
		assert_int_equal(holds(&x, 0), PROGRESS_HOLDER_LEADER);
		close_node(&x);

		/* The second leads, and waits for the first. */
		open_node(&x, releases[i]);
		run(&x, 0, 5);
		run(&x, 1, 6);
		PUT32(&x, 1, sched_thr_progress_leader, 1);
		PUT64(&x, 1, sched_thr_progress_current, 5);
		sched_now_sample(x.s, 10000);
		sched_now_sample(x.s, 20000);
		assert_int_equal(holds(&x, 0), PROGRESS_HOLDER_BEHIND);
		assert_int_equal(holds(&x, 1), PROGRESS_HOLDER_NONE);
		assert_int_equal(sched_now_progress(x.s)->same_ns, 10000);
		assert_int_equal(sched_now_progress(x.s)->moves, 0);
		/* It went on. */
		PUT64(&x, 0, sched_thr_progress_confirmed, 6);
		PUT64(&x, 1, sched_thr_progress_confirmed, 7);
		PUT64(&x, 1, sched_thr_progress_current, 6);
		sched_now_sample(x.s, 30000);
		assert_int_equal(holds(&x, 0), PROGRESS_HOLDER_NONE);
		assert_int_equal(sched_now_progress(x.s)->moves, 1);
		assert_int_equal(sched_now_progress(x.s)->same_ns, 30000);
		close_node(&x);
	}
}

static void test_absent(void **state)
{
	struct fakenode *f = fakenode_open(25);
	struct sched_now *s;

	UNUSED(state);
	assert_int_not_equal(sched_now_open(&s, &f->node, NO_FRAGMENTS), 0);
	assert_null(s);
	sched_now_close(s);
	fakenode_close(f);
}

static void test_syscall(void **state)
{
	struct thread_state t = {0};
	bool fd;

	UNUSED(state);
	assert_true(thread_state_parse_syscall(&t, "running\n"));
	assert_int_equal(t.where, THREAD_ON_CPU);
	assert_true(thread_state_parse_syscall(&t, "-1 0x7ffc1000 0x401000\n"));
	assert_int_equal(t.where, THREAD_OFF_CPU);
	assert_int_equal(t.sp, 0x7ffc1000);
	assert_int_equal(t.ip, 0x401000);
	assert_true(
		thread_state_parse_syscall(&t, "0 0x11 0x2 0x3 0x4 0x5 0x6 0x7ffc2000 0x402000\n"));
	assert_int_equal(t.where, THREAD_IN_SYSCALL);
	assert_int_equal(t.syscall, 0);
	assert_int_equal(t.args[0], 0x11);
	assert_int_equal(t.args[5], 6);
	assert_int_equal(t.sp, 0x7ffc2000);
	assert_int_equal(t.ip, 0x402000);
	assert_false(thread_state_parse_syscall(&t, ""));
	assert_false(thread_state_parse_syscall(&t, "0 0x11 0x2\n"));
	assert_false(thread_state_parse_syscall(&t, "-1 0x7ffc1000\n"));
	assert_int_equal(t.where, 0);
	assert_string_equal(syscall_name(0, &fd), "read");
	assert_true(fd);
	assert_string_equal(syscall_name(202, &fd), "futex");
	assert_false(fd);
	assert_null(syscall_name(99999, &fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_match_specification),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_syscall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
