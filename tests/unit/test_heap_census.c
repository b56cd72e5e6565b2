/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of what lies on a heap, by release; made-up heaps counted from end to end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "beam/heap_census.h"
#include "lib/fakenode.h"

#define HEADER(arity, subtag) ((uint64_t)(arity) << 6 | (subtag))
#define SMALL(i)	      ((uint64_t)(i) << 4 | 0xf)
#define NIL		      0x3bull

static const int releases[] = {25, 27, 29};

static void check_size(int otp, const uint64_t *object, uint64_t words, enum term_kind kind)
{
	enum term_kind seen;

	assert_int_equal(heap_object_words(otp, object, 8, &seen), words);
	if (words)
		assert_int_equal(seen, kind);
}

/* Up to 256 words of an environment, the reference to the fun's entry among them, in OTP 27. */
static void test_funs(void **state)
{
	const uint64_t old[8] = {HEADER(3, 0x14), 0, 0, 255 << 8 | 2};

	(void)state;
	check_size(25, old, 5 + 255, TERM_KIND_FUN);
	for (uint64_t free = 0; free < 256; free++) {
		const uint64_t with_ref[8] = {(free + 1) << 16 | 2 << 8 | 0x14};
		const uint64_t plain[8] = {1 << 24 | free << 16 | 2 << 8 | 0x14};

		check_size(27, with_ref, 2 + free + 1, TERM_KIND_FUN);
		check_size(29, plain, 2 + free, TERM_KIND_FUN);
	}
}

static void test_sizes(void **state)
{
	const uint64_t tuple[8] = {HEADER(3, 0x00)}, record[8] = {HEADER(4, 0x1c)};
	const uint64_t flat[8] = {0, 7}, big[8] = {HEADER(2, 0x0c)}, unknown[8] = {0x3c};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		int otp = releases[i];
		uint64_t tag = otp >= 27 ? 0x2c : 0x3c, map[8] = {flat[0] | tag, flat[1]};
		uint64_t node[8] = {0x8003ull << 16 | 1 << 6 | tag};
		uint64_t head[8] = {0xffffull << 16 | 2 << 6 | tag};
		uint64_t sparse[8] = {0x11ull << 16 | 3 << 6 | tag};

		check_size(otp, tuple, 4, TERM_KIND_TUPLE);
		check_size(otp, big, 3, TERM_KIND_BIG);
		check_size(otp, map, 3 + 7, TERM_KIND_MAP);
		check_size(otp, node, 1 + 3, TERM_KIND_UNREADABLE); /* no object of its own */
		check_size(otp, head, 2 + 16, TERM_KIND_MAP);
		check_size(otp, sparse, 2 + 2, TERM_KIND_MAP);
		check_size(otp, record, otp >= 29 ? 5 : 0, TERM_KIND_RECORD);
		if (otp >= 27)
			check_size(otp, unknown, 0, TERM_KIND_UNREADABLE);
	}
}

/* A heap of a tuple and two conses; then of a tuple that is longer than the heap. */
static void test_heap(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct fakenode *f = fakenode_open(releases[i]);
		raddr heap = image_alloc(f->im, 8 * 8);
		struct process_facts p = {.heap = heap, .htop = heap + 8 * 8, .hend = heap + 8 * 9};
		const uint64_t words[8] = {HEADER(3, 0), SMALL(1), SMALL(2), NIL,
					   SMALL(1),	 NIL,	   SMALL(2), NIL};
		struct heap_census c;

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			image_u64(f->im, heap + 8 * k, words[k]);
		heap_census_take(&f->node, &p, &c);
		assert_int_equal(c.young, 8);
		assert_int_equal(c.kinds[TERM_KIND_TUPLE].count, 1);
		assert_int_equal(c.kinds[TERM_KIND_TUPLE].words, 4);
		assert_int_equal(c.kinds[TERM_KIND_LIST].count, 2);
		assert_int_equal(c.kinds[TERM_KIND_LIST].words, 4);
		assert_int_equal(c.unknown + c.unreadable, 0);
		image_u64(f->im, heap, HEADER(30, 0));
		heap_census_take(&f->node, &p, &c);
		assert_int_equal(c.kinds[TERM_KIND_TUPLE].count, 0);
		assert_int_equal(c.unknown, 8);
		p.htop = p.hend; /* the last word cannot be read */
		p.old_heap = 0x123000;
		p.old_htop = p.old_hend = p.old_heap + 80;
		heap_census_take(&f->node, &p, &c);
		assert_int_equal(c.old, 10);
		assert_true(c.unreadable >= 10);
		fakenode_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_funs),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
