/* SPDX-License-Identifier: BSD-2-Clause */
/* What schedulers are in the middle of, and whether two samples saw the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/sched/running.h"
#include "beam/sched/sched_work.h"
#include "lib/fakenode.h"

enum { NORMAL, OTHER, CPU, IO, NR };

struct fixture {
	struct fakenode *f;
	const struct beam_layout *l;
	raddr esdp[NR], process;
	struct running *r;
	struct running_key was[NR_RUNNING_SPANS];
};

static void put(struct fixture *x, raddr of, int32_t field, uint64_t value)
{
	image_u64(x->f->im, of + (raddr)field, value);
}

static void put32(struct fixture *x, raddr of, int32_t field, uint32_t value)
{
	image_u32(x->f->im, of + (raddr)field, value);
}

static raddr make_array(struct fixture *x, uint32_t nr)
{
	return image_alloc(x->f->im, (size_t)x->l->sched_stride * nr);
}

static void open_node(struct fixture *x, int otp)
{
	struct beam_anchors *a;

	*x = (struct fixture){.f = fakenode_open(otp)};
	x->l = &x->f->node.layout;
	a = &x->f->node.anchors;
	a->sched = x->esdp[NORMAL] = make_array(x, a->nr_sched = 2);
	x->esdp[OTHER] = a->sched + (raddr)x->l->sched_stride;
	a->dirty_cpu = x->esdp[CPU] = make_array(x, a->nr_dirty_cpu = 1);
	a->dirty_io = x->esdp[IO] = make_array(x, a->nr_dirty_io = 1);
	put(x, x->esdp[CPU], x->l->sched_working_start, SCHED_WTIME_IDLE);
	put(x, x->esdp[IO], x->l->sched_working_start, SCHED_WTIME_IDLE);
	x->process = image_alloc(x->f->im, (size_t)x->l->process_size);
	put(x, x->process, x->l->process_id, 0x503);
	assert_int_equal(running_open(&x->r, &x->f->node, x->f->node.mem), 0);
}

static void close_node(struct fixture *x)
{
	running_close(x->r);
	fakenode_close(x->f);
}

static const struct running_one *sample(struct fixture *x, int at)
{
	const struct running_one *all;
	uint32_t nr;

	running_sample(x->r);
	all = running_all(x->r, &nr);
	assert_int_equal(nr, NR);
	return &all[at];
}

/* It is in these, the same as at the sample before, or new ones. */
static void assert_in(struct fixture *x, int at, const char *slice, const char *gc, const char *nif)
{
	const char *const wanted[] = {slice, gc, nif};
	const struct running_one *one = sample(x, at);

	assert_true(one->known && one->parts_known);
	for (int i = 0; i < NR_RUNNING_SPANS; i++) {
		const struct running_key *key = &one->in[i];
		const char *is = !key->of						  ? "none"
				 : running_is_same((enum running_span)i, &x->was[i], key) ? "same"
											  : "new";

		assert_string_equal(is, wanted[i]);
		x->was[i] = *key;
	}
}

static void normal(void **state)
{
	struct fixture x;
	raddr sched;

	UNUSED(state);
	for (int otp = 25; otp <= 29; otp += 2) {
		open_node(&x, otp);
		sched = x.esdp[NORMAL];
		assert_in(&x, NORMAL, "none", "none", "none");
		put32(&x, sched, x.l->sched_thr_progress_active, 1);
		put(&x, sched, x.l->sched_current_process, x.process);
		put32(&x, x.process, x.l->process_fcalls, 3000);
		assert_in(&x, NORMAL, "new", "none", "none");
		assert_in(&x, NORMAL, "same", "none", "none");
		/* A match specification is part of the slice. */
		put(&x, x.process, x.l->process_id,
		    otp == 25 ? TERM_INVALID_PID_25 : TERM_INVALID_PID);
		assert_false(sample(&x, NORMAL)->known);
		put(&x, x.process, x.l->process_id, 0x503);
		assert_in(&x, NORMAL, "same", "none", "none");
		/* Calls of a NIF, and one that takes the rest of the slice. */
		put(&x, sched, x.l->sched_current_nif, 0x7fff0000);
		assert_in(&x, NORMAL, "same", "none", "new");
		assert_in(&x, NORMAL, "same", "none", "same");
		put32(&x, x.process, x.l->process_fcalls, 2999);
		assert_in(&x, NORMAL, "same", "none", "new");
		put32(&x, x.process, x.l->process_fcalls, 0);
		assert_in(&x, NORMAL, "same", "none", "same");
		assert_in(&x, NORMAL, "same", "none", "same");
		put(&x, sched, x.l->sched_current_nif, 0);
		/* Two collections. */
		put32(&x, x.process, x.l->process_state, PSFLG_GC);
		assert_in(&x, NORMAL, "same", "new", "none");
		assert_in(&x, NORMAL, "same", "same", "none");
		put(&x, sched, x.l->sched_gc_count, 1);
		assert_in(&x, NORMAL, "same", "new", "none");
		put32(&x, x.process, x.l->process_state, 0);
		/* The next slice of the same process. */
		put(&x, sched, x.l->sched_reductions, 4000);
		assert_in(&x, NORMAL, "new", "none", "none");
		close_node(&x);
	}
}

static void dirty(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_node(&x, 27);
	put(&x, x.esdp[CPU], x.l->sched_working_start, 5);
	put(&x, x.esdp[CPU], x.l->sched_current_process, x.process);
	put(&x, x.esdp[CPU], x.l->sched_current_nif, 0x7fff0000);
	assert_in(&x, CPU, "new", "none", "new");
	/* What else it leaves undone tells nothing: a dirty one has one call at a time. */
	put32(&x, x.process, x.l->process_fcalls, 17);
	assert_in(&x, CPU, "same", "none", "same");
	/* It had another one in between, and did not rest. */
	put(&x, x.process, x.l->process_reds, 40);
	assert_in(&x, CPU, "new", "none", "new");
	put(&x, x.esdp[CPU], x.l->sched_current_nif, 0);
	put32(&x, x.process, x.l->process_state, PSFLG_GC);
	assert_in(&x, CPU, "same", "new", "none");
	assert_in(&x, CPU, "same", "same", "none");
	close_node(&x);
}

static void facts(void **state)
{
	struct running_process p;
	struct fixture x;
	const struct running_one *one;

	UNUSED(state);
	open_node(&x, 29);
	put32(&x, x.esdp[NORMAL], x.l->sched_thr_progress_active, 1);
	put(&x, x.esdp[NORMAL], x.l->sched_current_process, x.process);
	put(&x, x.esdp[NORMAL], x.l->sched_gc_count, 3);
	put(&x, x.esdp[NORMAL], x.l->sched_gc_reclaimed, 900);
	put(&x, x.process, x.l->process_heap_sz, 233);
	put(&x, x.process, x.l->process_old_heap, 0x1000);
	put(&x, x.process, x.l->process_old_hend, 0x1100);
	one = sample(&x, NORMAL);
	assert_true(one->process.epid == 0x503 && one->process.heap == 233);
	assert_true(one->process.old_heap == 32 && one->process.collections == 3);
	assert_true(running_process_read(x.r, one, x.process, 0x503, &p));
	assert_true(p.reclaimed == 900 && p.heap == 233);
	assert_false(running_process_read(x.r, one, x.process, 0x603, &p));
	put32(&x, x.process, x.l->process_state, PSFLG_FREE);
	assert_false(running_process_read(x.r, one, x.process, 0x503, &p));
	/* It cannot be read any more: the slice is known, what it does is not. */
	put(&x, x.esdp[NORMAL], x.l->sched_current_process, 8);
	one = sample(&x, NORMAL);
	assert_true(one->known && !one->parts_known && one->in[RUNNING_SLICE].of == 8);
	image_unmap(x.f->im, x.esdp[IO]);
	assert_false(sample(&x, IO)->known);
	close_node(&x);
}

static void text(struct fixture *x, raddr of, int32_t field, const char *value)
{
	raddr at = image_alloc(x->f->im, 64);

	image_put(x->f->im, at, value, strlen(value) + 1);
	put(x, of, field, at);
}

static void ports(void **state)
{
	struct running_port p;
	struct fixture x;
	raddr port, driver;

	UNUSED(state);
	open_node(&x, 25);
	port = image_alloc(x.f->im, (size_t)x.l->port_size);
	driver = image_alloc(x.f->im, 1024);
	put32(&x, x.esdp[OTHER], x.l->sched_thr_progress_active, 1);
	put(&x, x.esdp[OTHER], x.l->sched_current_port, port);
	assert_in(&x, OTHER, "new", "none", "none");
	assert_in(&x, OTHER, "same", "none", "none");
	assert_true(sample(&x, OTHER)->port);
	/* Its next tasks. */
	put(&x, x.esdp[OTHER], x.l->sched_reductions, 200);
	assert_in(&x, OTHER, "new", "none", "none");
	put(&x, port, x.l->port_id, 0x47);
	running_port_read(x.r, port, &p);
	assert_true(p.id == 0x47 && !p.name[0] && !p.driver[0]);
	text(&x, port, x.l->port_name, "cat -n");
	put(&x, port, x.l->port_drv_ptr, driver);
	text(&x, driver, x.l->driver_name, "spawn");
	running_port_read(x.r, port, &p);
	assert_string_equal(p.name, "cat -n");
	assert_string_equal(p.driver, "spawn");
	running_port_read(x.r, 8, &p);
	assert_true(p.id == 0 && !p.name[0] && !p.driver[0]);
	/* What a process has a port do is its own slice. */
	put(&x, x.esdp[OTHER], x.l->sched_current_process, x.process);
	assert_in(&x, OTHER, "new", "none", "none");
	assert_false(sample(&x, OTHER)->port);
	close_node(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal),
		cmocka_unit_test(dirty),
		cmocka_unit_test(facts),
		cmocka_unit_test(ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
