/* SPDX-License-Identifier: BSD-2-Clause */
/* Off-heap lists of made-up processes: binaries counted once, other things named, what is no list
 * left at the place where that is seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "beam/process/off_heap.h"
#include "lib/fakenode.h"

static raddr binary(struct fakenode *f, uint64_t size, uint64_t refc)
{
	const struct beam_layout *l = &f->node.layout;
	raddr a = image_alloc(f->im, (size_t)l->binary_size + 8);

	image_u64(f->im, a + (raddr)l->binary_orig_size, size);
	image_u64(f->im, a + (raddr)l->binary_refc, refc);
	return a;
}

/* A thing of the list; `subtag` 0: a reference to the binary. */
static raddr thing(struct fakenode *f, uint64_t subtag, raddr bin, raddr next)
{
	raddr a = image_alloc(f->im, 48);
	bool old = f->node.identity.otp < 27;

	image_u64(f->im, a, subtag ? subtag | 3 << 6 : old ? 0x20 | 5 << 6 : 0x28 | 2 << 6);
	image_u64(f->im, a + 8, old ? 1000 : bin);
	image_u64(f->im, a + 16, next);
	if (old)
		image_u64(f->im, a + 24, bin);
	return a;
}

static void test_lists(void **state)
{
	const int releases[] = {25, 27, 29};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct fakenode *f = fakenode_open(releases[i]);
		const struct beam_layout *l = &f->node.layout;
		raddr process = image_alloc(f->im, (size_t)l->process_size);
		raddr fragment = image_alloc(f->im, (size_t)l->heap_frag_size);
		raddr small = binary(f, 100, 2), big = binary(f, 70000, 5),
		      grown = binary(f, 300, 1);
		raddr last = thing(f, 0, small, 0);
		raddr first = thing(f, 0, big,
				    thing(f, 0x30, 0,
					  thing(f, f->node.identity.otp < 27 ? 0x14 : 0x04, 0,
						thing(f, 0x10, big, thing(f, 0, small, last)))));
		struct off_heap o = {0};

		image_u64(f->im, process + (raddr)l->process_off_heap_first, first);
		image_u64(f->im, process + (raddr)l->process_wrt_bins, thing(f, 0, grown, 0));
		image_u64(f->im, process + (raddr)l->process_mbuf, fragment);
		image_u64(f->im, fragment + (raddr)l->heap_frag_off_heap_first,
			  thing(f, 0, big, 0));
		off_heap_add_process(&f->node, f->node.mem, process, &o);
		off_heap_add(&f->node, f->node.mem, thing(f, 0, big, 0), true, &o);
		off_heap_finish(&f->node, &o);
		assert_int_equal(o.binaries.len, 3);
		assert_int_equal(o.bytes, 70400);
		assert_int_equal(o.references, 6);
		assert_int_equal(o.in_messages, 1);
		assert_int_equal(o.funs, 1);
		assert_int_equal(o.externals, 1);
		assert_int_equal(o.magic_refs, 1);
		assert_int_equal(o.unreadable, 0);
		assert_int_equal(o.binaries.data[0].addr, big);
		assert_int_equal(o.binaries.data[0].refc, 5);
		assert_int_equal(o.binaries.data[0].here, 3);
		assert_int_equal(o.binaries.data[0].in_messages, 1);
		assert_int_equal(o.binaries.data[1].addr, grown);
		assert_int_equal(o.binaries.data[1].here, 1);
		assert_int_equal(o.binaries.data[2].here, 2);
		off_heap_free(&o);

		/* a list that bites its tail, a thing that is none, a binary that is nowhere */
		o = (struct off_heap){0};
		image_u64(f->im, last + 16, first);
		off_heap_add(&f->node, f->node.mem, first, false, &o);
		assert_int_equal(o.unreadable, 1);
		off_heap_free(&o);
		o = (struct off_heap){0};
		off_heap_add(&f->node, f->node.mem, thing(f, 0, 0x123000, thing(f, 0x08, small, 0)),
			     false, &o);
		off_heap_finish(&f->node, &o);
		assert_int_equal(o.unreadable, 2);
		assert_int_equal(o.binaries.len, 0);
		off_heap_free(&o);
		o = (struct off_heap){0};
		off_heap_add_process(&f->node, f->node.mem, 0x1000, &o);
		off_heap_finish(&f->node, &o);
		assert_int_equal(o.unreadable, 1);
		off_heap_free(&o);
		fakenode_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
