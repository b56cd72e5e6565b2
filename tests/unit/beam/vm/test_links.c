/* SPDX-License-Identifier: BSD-2-Clause */
/* Links and monitors of made-up processes, and trees and rings that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "beam/term/term_read.h"
#include "beam/vm/links.h"
#include "lib/fakenode.h"

#define PID(i) (((uint64_t)(i) << 4) | 3)
#define REF    0x7002ull

static uint32_t packed(int otp, uint32_t type, uint32_t flags)
{
	return otp >= 28 ? type | flags << 7 : flags | type << 16;
}

static raddr link_node(struct fakenode *f, uint64_t item, raddr parent, uint64_t unlinking)
{
	const struct beam_layout *l = &f->node.layout;
	raddr a = image_alloc(f->im, (size_t)l->link_size + 8);

	image_u64(f->im, a + (raddr)l->link_parent, parent ? parent | 1 : 0);
	image_u64(f->im, a + (raddr)l->link_item, item);
	image_u32(f->im, a + (raddr)l->link_flags, packed(f->node.identity.otp, 10, 2));
	image_u64(f->im, a + (raddr)l->link_size, unlinking);
	return a;
}

static void test_links(void **state)
{
	const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fakenode *f = fakenode_open(releases[i]);
		const struct beam_layout *l = &f->node.layout;
		raddr root = link_node(f, PID(1), 0, 0), left, right;
		struct link_list list;

		left = link_node(f, PID(2), root, 0);
		right = link_node(f, PID(3), root, 55);
		image_u64(f->im, root + (raddr)l->link_left, left);
		image_u64(f->im, root + (raddr)l->link_right, right);
		links_read(&f->node, 0, &list);
		assert_int_equal(list.v.len, 0);
		links_free(&list);
		links_read(&f->node, root, &list);
		assert_int_equal(list.v.len, 3);
		assert_int_equal(list.unreadable, 0);
		assert_int_equal(list.v.data[0].item, PID(1));
		assert_int_equal(list.v.data[1].item, PID(2));
		assert_false(list.v.data[1].unlinking);
		assert_true(list.v.data[2].unlinking);
		links_free(&list);
		/* a child that is the root, one with another parent, one that is nowhere */
		image_u64(f->im, left + (raddr)l->link_left, root);
		image_u64(f->im, left + (raddr)l->link_right, right);
		image_u64(f->im, right + (raddr)l->link_left, 0x123000);
		links_read(&f->node, root, &list);
		assert_int_equal(list.v.len, 3);
		assert_int_equal(list.unreadable, 3);
		links_free(&list);
		/* a node that is its own parent and child */
		image_u64(f->im, root + (raddr)l->link_parent, root);
		image_u64(f->im, root + (raddr)l->link_left, root);
		links_read(&f->node, root, &list);
		assert_int_equal(list.v.len, 0);
		assert_int_equal(list.unreadable, 1);
		links_free(&list);
		fakenode_close(f);
	}
}

/* A chain deeper than any tree: cut. */
static void test_deep(void **state)
{
	struct fakenode *f = fakenode_open(27);
	const struct beam_layout *l = &f->node.layout;
	raddr root = link_node(f, PID(1), 0, 0), at = root;
	struct link_list list;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		raddr next = link_node(f, PID(2 + i), at, 0);

		image_u64(f->im, at + (raddr)l->link_left, next);
		at = next;
	}
	links_read(&f->node, root, &list);
	assert_true(list.cut);
	assert_in_range(list.v.len, 40, 60);
	links_free(&list);
	fakenode_close(f);
}

/* One half of a monitor; returns the address of that half. */
static raddr monitor(struct fakenode *f, uint32_t type, uint32_t flags, bool target, uint64_t item)
{
	const struct beam_layout *l = &f->node.layout;
	raddr data = image_alloc(f->im, 2 * (size_t)l->monitor_size + 64);
	raddr a = data + (target ? (raddr)l->monitor_size : 0);

	image_u64(f->im, a + (raddr)l->monitor_item, item);
	image_u16(f->im, a + (raddr)l->monitor_offset, target ? (uint16_t)l->monitor_size : 0);
	image_u32(f->im, a + (raddr)l->monitor_flags,
		  packed(f->node.identity.otp, type, flags | (target ? 1 : 0)));
	image_u64(f->im, data + 2 * (raddr)l->monitor_size, type == MONITOR_SUSPEND ? 0x3b : REF);
	return a;
}

static void ring(struct fakenode *f, const raddr *nodes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		image_u64(f->im, nodes[i], nodes[(i + 1) % nr]);
		image_u64(f->im, nodes[i] + 8, nodes[(i + nr - 1) % nr]);
	}
}

static void test_monitors(void **state)
{
	const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fakenode *f = fakenode_open(releases[i]);
		const struct beam_layout *l = &f->node.layout;
		raddr size = (raddr)l->monitor_size;
		raddr root = monitor(f, MONITOR_PROC, 0, false, PID(1));
		raddr named = monitor(f, MONITOR_DIST_PROC, 8 | 16, false, 0x4b);
		raddr suspend = monitor(f, MONITOR_SUSPEND, 0, false, PID(2));
		raddr dist = image_alloc(f->im, 64), nodes[3];
		struct monitor_list list;

		image_u64(f->im, dist, 0x1234b);
		image_u64(f->im, named + 2 * size + 16, 0x8b);
		image_u64(f->im, named + 2 * size + 32, dist);
		image_u64(f->im, suspend + 2 * size + 24, 1ull << 63 | 3);
		image_u64(f->im, root + (raddr)l->monitor_left, named);
		image_u64(f->im, root + (raddr)l->monitor_right, suspend);
		image_u64(f->im, named + (raddr)l->monitor_parent, root);
		image_u64(f->im, suspend + (raddr)l->monitor_parent, root | 1);
		for (uint64_t k = 0; k < 3; k++)
			nodes[k] = monitor(f, MONITOR_PROC, 0, true, PID(10 + k));
		ring(f, nodes, 3);
		monitors_read(&f->node, root, nodes[0], &list);
		assert_int_equal(list.v.len, 6);
		assert_int_equal(list.unreadable, 0);
		assert_int_equal(list.v.data[0].item, PID(1));
		assert_int_equal(list.v.data[0].ref, REF);
		assert_false(list.v.data[0].target);
		assert_int_equal(list.v.data[1].type, MONITOR_DIST_PROC);
		assert_int_equal(list.v.data[1].name, 0x8b);
		assert_int_equal(list.v.data[1].node, 0x1234b);
		assert_int_equal(list.v.data[2].suspended, 3);
		assert_true(list.v.data[2].suspend_active);
		assert_int_equal(list.v.data[2].ref, 0);
		for (size_t k = 3; k < 6; k++) {
			assert_true(list.v.data[k].target);
			assert_int_equal(list.v.data[k].item, PID(7 + k));
			assert_int_equal(list.v.data[k].ref, REF);
		}
		monitors_free(&list);
		/* a ring that closes on its second node; a type that does not exist */
		image_u64(f->im, nodes[2], nodes[1]);
		image_u32(f->im, root + (raddr)l->monitor_flags, packed(releases[i], 14, 0));
		monitors_read(&f->node, root, nodes[0], &list);
		assert_int_equal(list.v.len, 5);
		assert_int_equal(list.unreadable, 2);
		monitors_free(&list);
		fakenode_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_monitors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
