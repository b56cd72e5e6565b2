/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers of made-up processes; trees and lists that are none; the search for the node's clock. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "beam/locate/anchors.h"
#include "beam/process/timers.h"
#include "lib/fakenode.h"

#define WHEEL_POS   ((1 + 2 * 16384 + 1 + 2 * 64) * 8)
#define PROC_TREE   88
#define ALL_TREE    112
#define FLAGS_BIF   0x9001u
#define FLAGS_NAME  0x5001u
#define FLAG_PAUSED (1u << 18)
#define NOW	    5000
#define SMALL(i)    (((uint64_t)(i) << 4) | 15)

struct scene {
	struct fakenode *f;
	struct process_facts p;
	raddr service;
};

static struct scene scene_open(int otp)
{
	struct scene s = {.f = fakenode_open(otp)};
	const struct beam_layout *l = &s.f->node.layout;
	raddr sched = image_alloc(s.f->im, (size_t)l->sched_stride);
	raddr wheel = image_alloc(s.f->im, WHEEL_POS + 64);

	s.service = image_alloc(s.f->im, 256);
	s.p.addr = image_alloc(s.f->im, (size_t)l->process_size);
	image_u64(s.f->im, wheel + WHEEL_POS, NOW);
	image_u64(s.f->im, sched + (raddr)l->sched_timer_wheel, wheel);
	image_u64(s.f->im, sched + (raddr)l->sched_timer_service, s.service);
	s.f->node.anchors.sched = sched;
	s.f->node.anchors.nr_sched = 1;
	return s;
}

static raddr bif_timer(struct scene *s, int tree, raddr parent, uint32_t flags, uint64_t receiver,
		       uint32_t number)
{
	raddr a = image_alloc(s->f->im, 168);

	image_u32(s->f->im, a, flags);
	image_u64(s->f->im, a + 16, receiver);
	image_u64(s->f->im, a + 24, NOW + 10 * number);
	image_u32(s->f->im, a + 76, number);
	image_u64(s->f->im, a + (raddr)tree, parent ? parent | 1 : 0);
	image_u64(s->f->im, a + 136, SMALL(number));
	return a;
}

static void test_all(void **state)
{
	const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct scene s = scene_open(releases[i]);
		const struct beam_layout *l = &s.f->node.layout;
		struct image *im = s.f->im;
		raddr root, child, named, receive = image_alloc(im, 64);
		struct timer_list t;

		timers_read(&s.f->node, &s.p, &t);
		assert_int_equal(t.v.len + t.unreadable, 0);
		timers_free(&t);
		image_u64(im, receive + 24, NOW - 1); /* it should have gone off */
		image_u64(im, s.p.addr + (raddr)l->process_timer, receive);
		root = bif_timer(&s, PROC_TREE, 0, FLAGS_BIF, s.p.addr, 7);
		child = bif_timer(&s, PROC_TREE, root, FLAGS_BIF, s.p.addr, 3);
		image_u64(im, root + PROC_TREE + 16, child);
		child = bif_timer(&s, PROC_TREE, root, FLAGS_BIF, s.p.addr, 4);
		image_u32(im, child + 72, 1); /* cancelled */
		image_u64(im, root + PROC_TREE + 8, child);
		image_u64(im, s.p.addr + (raddr)l->process_bif_timers, root);
		s.p.registered = 0x4b;
		named = bif_timer(&s, ALL_TREE, 0, FLAGS_NAME, 0x4b, 5);
		child = bif_timer(&s, ALL_TREE, named, FLAGS_NAME, 0x8b, 6); /* another's */
		image_u64(im, named + ALL_TREE + 8, child);
		image_u64(im, s.service + 120, named);
		timers_read(&s.f->node, &s.p, &t);
		assert_int_equal(t.unreadable, 0);
		assert_false(t.clock_known);
		assert_int_equal(t.v.len, 4);
		assert_true(t.v.data[0].receive);
		assert_int_equal(t.v.data[0].left, -1);
		assert_int_equal(t.v.data[1].left, 30);
		assert_int_equal(t.v.data[1].message, SMALL(3));
		assert_int_equal(t.v.data[1].ref[0], 3);
		assert_int_equal(t.v.data[2].left, 50);
		assert_true(t.v.data[2].by_name);
		assert_int_equal(t.v.data[3].left, 70);
		timers_free(&t);
		/* a child that is the root, one with another parent */
		image_u64(im, root + PROC_TREE + 16, root);
		image_u64(im, root + PROC_TREE + 8, named);
		image_u64(im, s.p.addr + (raddr)l->process_timer, 0x123000);
		image_u64(im, s.service + 120, 0x123000);
		timers_read(&s.f->node, &s.p, &t);
		assert_int_equal(t.v.len, 1);
		assert_int_equal(t.unreadable, 4);
		timers_free(&t);
		fakenode_close(s.f);
	}
}

/* All timers of a node, by who gets their messages. */
static void test_totals(void **state)
{
	const int releases[] = {24, 25, 27, 29};
	const uint64_t name = 0x4b;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct scene s = scene_open(releases[i]);
		raddr root = bif_timer(&s, ALL_TREE, 0, FLAGS_BIF, s.p.addr, 1);
		raddr left = bif_timer(&s, ALL_TREE, root, FLAGS_NAME, name, 2);
		raddr right = bif_timer(&s, ALL_TREE, root, FLAGS_BIF, s.p.addr, 3);
		struct timer_totals t;

		timer_totals_read(&s.f->node, &t);
		assert_int_equal(t.nr + t.v.len + t.unreadable, 0);
		timer_totals_free(&t);
		image_u64(s.f->im, s.service + 120, root);
		image_u64(s.f->im, root + ALL_TREE + 16, left);
		image_u64(s.f->im, root + ALL_TREE + 8, right);
		timer_totals_read(&s.f->node, &t);
		assert_int_equal(t.nr, 3);
		assert_int_equal(t.v.len, 2);
		assert_true(t.v.data[0].to == s.p.addr && !t.v.data[0].by_name);
		assert_int_equal(t.v.data[0].nr, 2);
		assert_true(t.v.data[1].to == name && t.v.data[1].by_name);
		assert_int_equal(t.v.data[1].nr, 1);
		assert_false(t.cut);
		timer_totals_free(&t);
		image_u32(s.f->im, right + 72, 1);		/* cancelled */
		image_u64(s.f->im, left + ALL_TREE, root + 64); /* moved meanwhile */
		timer_totals_read(&s.f->node, &t);
		assert_int_equal(t.nr, 1);
		assert_int_equal(t.unreadable, 1);
		timer_totals_free(&t);
		fakenode_close(s.f);
	}
}

/* OTP 29 sets the timers of a suspended process aside. */
static void test_paused(void **state)
{
	struct scene s = scene_open(29);
	const struct beam_layout *l = &s.f->node.layout;
	raddr list = image_alloc(s.f->im, 16), receive = image_alloc(s.f->im, 64), at[3];
	struct timer_list t;

	(void)state;
	image_u32(s.f->im, receive, FLAG_PAUSED);
	image_u64(s.f->im, receive + 24, 1234);
	image_u64(s.f->im, s.p.addr + (raddr)l->process_timer, receive);
	image_u64(s.f->im, s.p.addr + (raddr)l->process_paused_bif_timers, list);
	for (uint32_t i = 0; i < 3; i++) {
		at[i] = bif_timer(&s, PROC_TREE, 0, FLAGS_BIF | FLAG_PAUSED, s.p.addr, i);
		image_u64(s.f->im, at[i] + 152, 300 - i);
		image_u64(s.f->im, i ? at[i - 1] + 160 : list, at[i]);
	}
	timers_read(&s.f->node, &s.p, &t);
	assert_int_equal(t.v.len, 4);
	assert_int_equal(t.unreadable, 0);
	assert_true(t.v.data[0].paused && t.v.data[0].receive);
	assert_int_equal(t.v.data[0].left, 1234);
	assert_true(t.v.data[1].paused);
	assert_int_equal(t.v.data[1].left, 298);
	assert_int_equal(t.v.data[1].message, SMALL(2));
	timers_free(&t);
	image_u64(s.f->im, at[1] + 160, list); /* no timer */
	timers_read(&s.f->node, &s.p, &t);
	assert_int_equal(t.v.len, 3);
	assert_int_equal(t.unreadable, 1);
	timers_free(&t);
	image_u64(s.f->im, at[1] + 160, at[0]); /* a ring */
	timers_read(&s.f->node, &s.p, &t);
	assert_true(t.cut);
	timers_free(&t);
	fakenode_close(s.f);
}

/* A chain deeper than any tree: cut. */
static void test_deep(void **state)
{
	struct scene s = scene_open(27);
	raddr root = bif_timer(&s, PROC_TREE, 0, FLAGS_BIF, s.p.addr, 1), at = root;
	struct timer_list t;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		raddr next = bif_timer(&s, PROC_TREE, at, FLAGS_BIF, s.p.addr, i);

		image_u64(s.f->im, at + PROC_TREE + 8, next);
		at = next;
	}
	image_u64(s.f->im, s.p.addr + (raddr)s.f->node.layout.process_bif_timers, root);
	timers_read(&s.f->node, &s.p, &t);
	assert_true(t.cut);
	assert_in_range(t.v.len, 40, 60);
	timers_free(&t);
	fakenode_close(s.f);
}

static void test_clock(void **state)
{
	enum { SIZE = 8192, WORDS = SIZE / 8, OFFSET = 10, INSTS = 40, MINIT = INSTS + 213 };
	static int64_t data[WORDS];
	struct anchor_space s = {.data = (uint8_t *)data, .data_size = SIZE, .data_addr = 0x400000};
	const int64_t minit = 777123456789;

	(void)state;
	data[5] = -1; /* of many */
	data[6] = INT64_MIN;
	assert_int_equal(shape_find_clock(&s), 0);
	data[OFFSET] = 1000000000 - minit;
	data[MINIT] = minit;
	data[INSTS] = 1000000000;
	data[INSTS + 1] = minit;
	data[INSTS + 4] = 61000000123;
	data[INSTS + 5] = minit + 60000000000;
	assert_int_equal(shape_find_clock(&s), 0x400000 + (INSTS + 4) * 8);
	data[INSTS + 4] += 20000000000; /* the clock does not run that fast */
	assert_int_equal(shape_find_clock(&s), 0);
	data[INSTS + 4] -= 20000000000;
	data[INSTS + 1] = data[INSTS + 5] + 1; /* the former is later */
	data[INSTS] = data[INSTS + 4];
	assert_int_equal(shape_find_clock(&s), 0);
	data[INSTS + 1] = minit;
	data[INSTS] = 1000000000;
	data[OFFSET + 1] = data[OFFSET]; /* two */
	assert_int_equal(shape_find_clock(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),    cmocka_unit_test(test_totals),
		cmocka_unit_test(test_paused), cmocka_unit_test(test_deep),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
