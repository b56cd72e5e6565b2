/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the VM counts of itself: sums over schedulers and run queues, what is not there, what cannot
 * be read; and the two variables that are found in the code that uses them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/otp/layout.h"
#include "beam/vm/vm_counters.h"
#include "beam/vm/vm_totals.h"
#include "lib/fakenode.h"

static const int releases[] = {24, 25, 27, 29};

#define NR_SCHED 3
#define NR_DIRTY 2

struct world {
	struct fakenode *f;
	raddr queues[NR_SCHED + 2]; /* normal, dirty CPU, dirty IO */
};

static void put(struct world *w, raddr base, int32_t offset, uint64_t value)
{
	image_u64(w->f->im, base + (raddr)offset, value);
}

static raddr make_queue(struct world *w, uint32_t ix, uint32_t length)
{
	const struct beam_layout *l = &w->f->node.layout;
	raddr queue = image_alloc(w->f->im, (size_t)l->runq_stride);

	w->queues[ix] = queue;
	image_u32(w->f->im, queue + (raddr)l->runq_ix, ix);
	image_u32(w->f->im, queue + (raddr)l->runq_len, length);
	put(w, queue, l->runq_reductions, 1000 * (ix + 1));
	put(w, queue, l->runq_context_switches, 10 * (ix + 1));
	return queue;
}

static raddr make_array(struct world *w, uint32_t nr)
{
	return image_alloc(w->f->im, (size_t)w->f->node.layout.sched_stride * nr);
}

static raddr esdp_of(const struct world *w, raddr array, uint32_t i)
{
	return array + (raddr)i * (uint32_t)w->f->node.layout.sched_stride;
}

static void make_schedulers(struct world *w)
{
	const struct beam_layout *l = &w->f->node.layout;
	struct beam_anchors *a = &w->f->node.anchors;
	int32_t ets =
		l->sched_u_ets_count == LAYOUT_ABSENT ? l->sched_ets_count : l->sched_u_ets_count;

	a->nr_sched = NR_SCHED;
	a->sched = make_array(w, NR_SCHED);
	a->nr_dirty_cpu = a->nr_dirty_io = NR_DIRTY;
	a->dirty_cpu = make_array(w, NR_DIRTY);
	a->dirty_io = make_array(w, NR_DIRTY);
	for (uint32_t i = 0; i < NR_SCHED; i++) {
		raddr esdp = esdp_of(w, a->sched, i);

		put(w, esdp, l->sched_run_queue, make_queue(w, i, i));
		put(w, esdp, l->sched_gc_count, 100 + i);
		put(w, esdp, l->sched_gc_reclaimed, 5000 + i);
		put(w, esdp, l->sched_io_in, 7 + i);
		put(w, esdp, l->sched_io_out, 70 + i);
		put(w, esdp, ets, 4 + i);
	}
	make_queue(w, NR_SCHED, 8);
	make_queue(w, NR_SCHED + 1, 9);
	for (uint32_t i = 0; i < NR_DIRTY; i++) {
		put(w, esdp_of(w, a->dirty_cpu, i), l->sched_run_queue, w->queues[NR_SCHED]);
		put(w, esdp_of(w, a->dirty_io, i), l->sched_run_queue, w->queues[NR_SCHED + 1]);
	}
}

static void make_tables(struct world *w)
{
	const struct beam_layout *l = &w->f->node.layout;
	struct beam_anchors *a = &w->f->node.anchors;

	a->proc_tab = image_alloc(w->f->im, (size_t)l->ptab_size);
	image_u32(w->f->im, a->proc_tab + (raddr)l->ptab_count, 50);
	image_u32(w->f->im, a->proc_tab + (raddr)l->ptab_max, 1024);
	a->port_tab = image_alloc(w->f->im, (size_t)l->ptab_size);
	image_u32(w->f->im, a->port_tab + (raddr)l->ptab_count, 2049);
	image_u32(w->f->im, a->port_tab + (raddr)l->ptab_max, 2048);
	a->atom_table = image_alloc(w->f->im, (size_t)l->index_table_size);
	image_u32(w->f->im, a->atom_table + (raddr)l->index_table_entries, 9000);
	image_u32(w->f->im, a->atom_table + (raddr)l->index_table_limit, 1u << 20);
	a->counters_sought = true;
	a->dirty_gc = image_alloc(w->f->im, 16);
	put(w, a->dirty_gc, 0, 1000000);
	put(w, a->dirty_gc, 8, 20);
	a->ets_limit = image_alloc(w->f->im, 16);
	image_u32(w->f->im, a->ets_limit, 8192);
}

static struct world open_world(int otp)
{
	struct world w = {.f = fakenode_open(otp)};

	make_schedulers(&w);
	make_tables(&w);
	return w;
}

static void read_world(struct world *w, struct vm_totals *t)
{
	struct vm_totals_reader *r;
	struct error err;

	*t = (struct vm_totals){0};
	assert_int_equal(vm_totals_open(&r, &w->f->node, &err), 0);
	assert_int_equal(vm_totals_read(r, t, &err), 0);
	assert_int_equal(vm_totals_read(r, t, &err), 0); /* as often as one likes */
	vm_totals_close(r);
}

static void test_all(void **state)
{
	static const uint64_t expected[NR_VM_TOTALS] = {
		[VM_PROCESS_COUNT] = 50,
		[VM_PROCESS_LIMIT] = 1024,
		[VM_PORT_COUNT] = 2048, /* not more than there can be */
		[VM_PORT_LIMIT] = 2048,
		[VM_ATOM_COUNT] = 9000,
		[VM_ATOM_LIMIT] = 1u << 20,
		[VM_ETS_COUNT] = 4 + 5 + 6,
		[VM_ETS_LIMIT] = 8192,
		[VM_RUN_QUEUE] = 0 + 1 + 2 + 8 + 9,
		[VM_REDUCTIONS] = 1000 * (1 + 2 + 3 + 4 + 5),
		[VM_CONTEXT_SWITCHES] = 10 * (1 + 2 + 3 + 4 + 5),
		[VM_GC_COUNT] = 100 + 101 + 102 + 20,
		[VM_GC_WORDS] = 5000 + 5001 + 5002 + 1000000,
		[VM_INPUT] = 7 + 8 + 9,
		[VM_OUTPUT] = 70 + 71 + 72,
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(releases); k++) {
		struct world w = open_world(releases[k]);
		struct vm_totals t;

		read_world(&w, &t);
		for (size_t i = 0; i < NR_VM_TOTALS; i++) {
			assert_int_equal(t.value[i], expected[i]);
			assert_null(t.why[i]);
		}
		assert_int_equal(t.queues.len, NR_SCHED + 2);
		for (uint32_t i = 0; i < NR_SCHED; i++) {
			assert_int_equal(t.queues.data[i].type, VM_QUEUE_NORMAL);
			assert_int_equal(t.queues.data[i].scheduler, i + 1);
			assert_int_equal(t.queues.data[i].length, i);
			assert_int_equal(t.queues.data[i].gcs, 100 + i);
		}
		assert_int_equal(t.queues.data[NR_SCHED].type, VM_QUEUE_DIRTY_CPU);
		assert_int_equal(t.queues.data[NR_SCHED].gcs, VM_UNKNOWN);
		assert_int_equal(t.queues.data[NR_SCHED + 1].length, 9);
		vm_totals_free(&t);
		fakenode_close(w.f);
	}
}

/* What was not found is unknown with its reason, and nothing else is. */
static void test_missing(void **state)
{
	(void)state;
	for (int what = 0; what < 5; what++) {
		struct world w = open_world(27);
		struct beam_anchors *a = &w.f->node.anchors;
		uint64_t gone = 0;
		struct vm_totals t;

		switch (what) {
		case 0:
			a->dirty_gc = 0;
			gone = 1u << VM_GC_COUNT | 1u << VM_GC_WORDS;
			break;
		case 1:
			a->dirty_io = 0;
			gone = 1u << VM_RUN_QUEUE | 1u << VM_REDUCTIONS | 1u << VM_CONTEXT_SWITCHES;
			break;
		case 2:
			a->port_tab = 0;
			gone = 1u << VM_PORT_COUNT | 1u << VM_PORT_LIMIT;
			break;
		case 3:
			image_u32(w.f->im, a->ets_limit, 17);
			gone = 1u << VM_ETS_LIMIT;
			break;
		default: /* not the queue that it should be */
			image_u32(w.f->im, w.queues[1] + (raddr)w.f->node.layout.runq_ix, 7);
			gone = 1u << VM_RUN_QUEUE | 1u << VM_REDUCTIONS | 1u << VM_CONTEXT_SWITCHES;
		}
		read_world(&w, &t);
		for (size_t i = 0; i < NR_VM_TOTALS; i++) {
			assert_int_equal(t.value[i] == VM_UNKNOWN, gone >> i & 1);
			assert_int_equal(t.why[i] != NULL, gone >> i & 1);
		}
		vm_totals_free(&t);
		fakenode_close(w.f);
	}
}

/* A scheduler whose memory is gone takes the sums with it. */
static void test_unreadable(void **state)
{
	struct world w = open_world(29);
	struct vm_totals_reader *r;
	struct vm_totals t = {0};
	struct error err;

	(void)state;
	assert_int_equal(vm_totals_open(&r, &w.f->node, &err), 0);
	image_unmap(w.f->im, w.queues[2]);
	assert_int_equal(vm_totals_read(r, &t, &err), 0);
	assert_int_equal(t.value[VM_RUN_QUEUE], VM_UNKNOWN);
	assert_int_equal(t.value[VM_REDUCTIONS], VM_UNKNOWN);
	assert_int_equal(t.value[VM_GC_COUNT], 323);
	assert_int_equal(t.queues.data[2].length, VM_UNKNOWN);
	assert_int_equal(t.queues.data[1].length, 1);
	vm_totals_free(&t);
	vm_totals_close(r);
	fakenode_close(w.f);
}

/* ---- variables found in code ---------------------------------------------------------------- */

#define TEXT	  0x10000
#define TEXT_SIZE 0x2000
#define DATA	  0x50000
#define MUTEX	  (DATA + 0x100)
#define INFO	  (MUTEX + 0x28)
#define LIMIT	  (DATA + 0x200)
#define ASKED	  (DATA + 0x210)

struct code {
	uint8_t bytes[TEXT_SIZE];
	size_t at;
	struct vm_code t;
};

static void emit(struct code *c, const char *bytes, size_t len)
{
	memcpy(c->bytes + c->at, bytes, len);
	c->at += len;
}

static void emit_u32(struct code *c, uint32_t value)
{
	memcpy(c->bytes + c->at, &value, 4);
	c->at += 4;
}

/* An instruction with a displacement to `to` at its end. */
static void emit_rip(struct code *c, const char *bytes, size_t len, raddr to)
{
	emit(c, bytes, len);
	emit_u32(c, (uint32_t)(to - (TEXT + c->at + 4)));
}

static void code_open(struct code *c)
{
	memset(c, 0, sizeof(*c));
	memset(c->bytes, 0x90, sizeof(c->bytes));
	c->at = 0x100;
	c->t = (struct vm_code){.bytes = c->bytes,
				.size = sizeof(c->bytes),
				.addr = TEXT,
				.data = DATA,
				.data_end = DATA + 0x1000};
}

/* r12: the base that takes one byte more. */
static void emit_reply(struct code *c, const struct beam_layout *l, bool r12, raddr mutex,
		       raddr info)
{
	size_t jump, target;

	emit(c, r12 ? "\x4d\x8b\xbc\x24" : "\x4c\x8b\xbb", r12 ? 4 : 3);
	emit_u32(c, (uint32_t)l->sched_gc_reclaimed);
	emit(c, "\x0f\x94\xc0\x0f\xb6\xc0", 6);
	emit(c, r12 ? "\x49\x8b\x84\x24" : "\x48\x8b\x83", r12 ? 4 : 3);
	emit_u32(c, (uint32_t)l->sched_gc_count);
	emit(c, "\x48\x89\x04\x24\x0f\x84", 6);
	jump = c->at;
	emit_u32(c, 0);
	c->at += 0x300;
	target = c->at - (jump + 4);
	emit_rip(c, "\x4c\x8d\x2d", 3, mutex);
	emit(c, "\x4c\x89\xef\xe8\x01\x02\x03\x04\x85\xc0", 10);
	emit_rip(c, "\x48\x8b\x35", 3, info + 8);
	emit_rip(c, "\x4c\x03\x3d", 3, info);
	memcpy(c->bytes + jump, &(uint32_t){(uint32_t)target}, 4);
}

static void test_dirty_gc(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(releases); k++) {
		struct fakenode *f = fakenode_open(releases[k]);
		const struct beam_layout *l = &f->node.layout;
		struct code c;

		for (int r12 = 0; r12 < 2; r12++) {
			code_open(&c);
			assert_int_equal(vm_code_find_dirty_gc(&c.t, l), 0);
			emit_reply(&c, l, r12, MUTEX, INFO);
			assert_int_equal(vm_code_find_dirty_gc(&c.t, l), INFO);
			for (size_t size = 0; size < c.at; size++) { /* cut off anywhere */
				c.t.size = size;
				assert_int_equal(vm_code_find_dirty_gc(&c.t, l), 0);
			}
			c.t.size = sizeof(c.bytes);
			emit_reply(&c, l, r12, MUTEX, INFO); /* the same again */
			assert_int_equal(vm_code_find_dirty_gc(&c.t, l), INFO);
			emit_reply(&c, l, r12, MUTEX + 8, INFO + 8);
			assert_int_equal(vm_code_find_dirty_gc(&c.t, l), 0);
		}
		code_open(&c); /* the lock is too far away, or behind */
		emit_reply(&c, l, false, INFO - 0x100, INFO);
		assert_int_equal(vm_code_find_dirty_gc(&c.t, l), 0);
		code_open(&c);
		emit_reply(&c, l, false, INFO + 16, INFO);
		assert_int_equal(vm_code_find_dirty_gc(&c.t, l), 0);
		fakenode_close(f);
	}
}

static void emit_limit(struct code *c, uint32_t least, raddr limit)
{
	emit_rip(c, "\x8b\x05", 2, ASKED);
	emit(c, "\xba", 1);
	emit_u32(c, least);
	emit(c, "\x39\xd0\x0f\x4c\xc2\x8d\x78\xff", 8);
	emit_rip(c, "\x89\x05", 2, limit);
}

static void test_ets_limit(void **state)
{
	struct code c;

	(void)state;
	code_open(&c);
	emit_limit(&c, 4096, LIMIT);
	assert_int_equal(vm_code_find_ets_limit(&c.t), 0);
	emit_limit(&c, 8192, LIMIT);
	assert_int_equal(vm_code_find_ets_limit(&c.t), LIMIT);
	for (size_t size = 0; size < c.at; size++) {
		c.t.size = size;
		assert_int_equal(vm_code_find_ets_limit(&c.t), 0);
	}
	c.t.size = sizeof(c.bytes);
	emit_limit(&c, 8192, DATA + 0x2000); /* not a variable */
	assert_int_equal(vm_code_find_ets_limit(&c.t), LIMIT);
	emit_limit(&c, 8192, LIMIT + 4);
	assert_int_equal(vm_code_find_ets_limit(&c.t), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	   cmocka_unit_test(test_missing),
		cmocka_unit_test(test_unreadable), cmocka_unit_test(test_dirty_gc),
		cmocka_unit_test(test_ets_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
