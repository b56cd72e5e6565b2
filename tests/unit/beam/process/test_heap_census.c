/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies on a heap: objects of every kind as OTP 25, 27 and 29 lay them out, areas longer than
 * what is read at once, fragments; and areas that are cut, torn, or hold no objects at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "beam/process/heap_census.h"
#include "lib/fakenode.h"

#define CHUNK	 (1u << 17) /* words that are read at once */
#define SMALL(n) ((uint64_t)(n) << 4 | 0xf)
#define TUPLE(n) ((uint64_t)(n) << 6)

static const int releases[] = {24, 25, 27, 29};

struct heap {
	struct fakenode *f;
	struct process_facts p;
	VEC(uint64_t) words;
	struct heap_census c;
};

static void heap_open(struct heap *h, int otp)
{
	memset(h, 0, sizeof(*h));
	h->f = fakenode_open(otp);
}

static void heap_close(struct heap *h)
{
	vec_free(&h->words);
	fakenode_close(h->f);
}

static void put(struct heap *h, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		vec_push(&h->words, words[i]);
}
#define PUT(h, ...) put(h, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

/* Memory that holds what was put so far, which is forgotten. */
static raddr place(struct heap *h)
{
	raddr at = image_alloc(h->f->im, 8 * h->words.len + 1);

	image_put(h->f->im, at, h->words.data, 8 * h->words.len);
	return at;
}

static void set_young(struct heap *h)
{
	h->p.heap = place(h);
	h->p.htop = h->p.heap + 8 * h->words.len;
	h->p.hend = h->p.htop + 64;
	h->words.len = 0;
}

static raddr add_fragment(struct heap *h, uint64_t used)
{
	const struct beam_layout *l = &h->f->node.layout;
	raddr at = image_alloc(h->f->im, (size_t)l->heap_frag_mem + 8 * h->words.len);

	image_u64(h->f->im, at + (raddr)l->heap_frag_next, h->p.mbuf);
	image_u64(h->f->im, at + (raddr)l->heap_frag_used_size, used);
	image_put(h->f->im, at + (raddr)l->heap_frag_mem, h->words.data, 8 * h->words.len);
	h->words.len = 0;
	h->p.mbuf = at;
	return at;
}

/* Every word is counted, once. */
static void take(struct heap *h)
{
	uint64_t sum;

	heap_census_take(&h->f->node, &h->p, &h->c);
	sum = h->c.unknown + h->c.unreadable;
	for (int k = 0; k < NR_TERM_KINDS; k++)
		sum += h->c.kinds[k].words;
	assert_int_equal(sum, h->c.young + h->c.old + h->c.fragments);
}

static void check_kind(const struct heap *h, enum term_kind kind, uint64_t count, uint64_t words)
{
	assert_int_equal(h->c.kinds[kind].count, count);
	assert_int_equal(h->c.kinds[kind].words, words);
}

/* ---- one object ----------------------------------------------------------------------------- */

static void check_object(int otp, const uint64_t *o, uint64_t words, enum term_kind kind)
{
	enum term_kind is = TERM_KIND_UNREADABLE;

	assert_int_equal(heap_object_words(otp, o, 5, &is), words);
	if (words)
		assert_int_equal(is, kind);
}
#define OBJECT(otp, words, kind, ...)                                                              \
	check_object(otp, (uint64_t[5]){__VA_ARGS__}, words, TERM_KIND_##kind)

static void test_objects(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		int otp = releases[i];

		OBJECT(otp, 1, TUPLE, 0);
		OBJECT(otp, 4, TUPLE, TUPLE(3));
		OBJECT(otp, 2, BIG, 1 << 6 | 0x08);
		OBJECT(otp, 3, BIG, 2 << 6 | 0x0c);
		OBJECT(otp, 2, FLOAT, 1 << 6 | 0x18);
		OBJECT(otp, 3, REF, 2 << 6 | 0x10);
		OBJECT(otp, 4, EXTERNAL_PID, 3 << 6 | 0x30);
		OBJECT(otp, 4, EXTERNAL_PORT, 3 << 6 | 0x34);
		OBJECT(otp, 5, EXTERNAL_REF, 4 << 6 | 0x38);
		OBJECT(otp, 4, BITS, 3 << 6 | 0x20);
		OBJECT(otp, 6, BITS, 5 << 6 | 0x24);
		OBJECT(otp, 5, BITS, (otp <= 26 ? 3 : 4) << 6 | 0x28); /* to 26 a sub-binary */
		if (otp != 24)
			OBJECT(otp, otp >= 28 ? 3 : 0, RECORD, 2 << 6 | 0x1c);
		OBJECT(otp, UINT64_MAX / 64 + 1, TUPLE, ~0x3full); /* the caller's to refuse */
	}
	/* Funs, and what stands beside them. */
	OBJECT(24, 2, EXPORT, 1 << 6 | 0x1c, 0);
	OBJECT(24, 6, FUN, 5 << 6 | 0x14, 0, 0, 2, 0);
	OBJECT(24, 9, FUN, 5 << 6 | 0x14, 0, 0, 2, 3);
	OBJECT(25, 5, FUN, 4 << 6 | 0x14, 0, 0, 2);
	OBJECT(25, 8, FUN, 7 << 6 | 0x14, 0, 0, 3 << 8 | 2);
	OBJECT(27, 2, FUN, 2 << 8 | 0x14, 0);
	OBJECT(27, 5, FUN, 3 << 16 | 2 << 8 | 0x14, 0);
	OBJECT(29, 5, FUN, 1 << 24 | 3 << 16 | 2 << 8 | 0x14, 0); /* flags above */
	OBJECT(25, 4, BITS, 3 << 6 | 0x04);			  /* the state of a match */
	OBJECT(27, 3, FUN, 2 << 6 | 0x04);			  /* a fun reference */
}

static void test_maps(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		int otp = releases[i];
		uint64_t tag = otp >= 27 ? 0x2c : 0x3c, other = otp >= 27 ? 0x3c : 0x2c;
		uint64_t flat[] = {tag, 5};
		enum term_kind kind;

		OBJECT(otp, 3, MAP, tag, 0);
		OBJECT(otp, 8, MAP, tag, 5);
		OBJECT(otp, 0, MAP, tag, 1u << 30); /* no such map */
		OBJECT(otp, 0, MAP, tag, UINT64_MAX);
		OBJECT(otp, 1, UNREADABLE, 1 << 6 | tag); /* nodes of a large one */
		OBJECT(otp, 4, UNREADABLE, 0x8101ull << 16 | 1 << 6 | tag);
		OBJECT(otp, 17, UNREADABLE, 0xffffull << 16 | 1 << 6 | tag);
		OBJECT(otp, 18, MAP, 0xffffull << 16 | 2 << 6 | tag, 99);
		OBJECT(otp, 4, MAP, 0x0003ull << 16 | 3 << 6 | tag, 99);
		OBJECT(otp, 0, MAP, other, 0);
		assert_int_equal(heap_object_words(otp, flat, 2, &kind), 8);
		assert_int_equal(heap_object_words(otp, flat, 1, &kind), 0);
	}
}

/* ---- areas ---------------------------------------------------------------------------------- */

static void test_areas(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		int otp = releases[i];
		uint64_t map = otp >= 27 ? 0x2c : 0x3c;
		struct heap h;

		heap_open(&h, otp);
		PUT(&h, TUPLE(2), SMALL(1), TERM_NIL);		     /* {1, []} */
		PUT(&h, SMALL(1), TERM_NIL, SMALL(2), TERM_NIL);     /* [1], [2] */
		PUT(&h, map, 1, TUPLE(1), SMALL(7));		     /* TUPLE(1): any word */
		PUT(&h, 1 << 16 | 3 << 6 | map, 20, TERM_NIL);	     /* a large map: its head ... */
		PUT(&h, 3 << 16 | 1 << 6 | map, TERM_NIL, TERM_NIL); /* ... and a node of it */
		PUT(&h, 1 << 6 | 0x18, 0x123);			     /* a float */
		set_young(&h);
		PUT(&h, 2 << 6 | 0x0c, 1, 1, SMALL(3), TERM_NIL);
		h.p.old_heap = place(&h);
		h.p.old_htop = h.p.old_hend = h.p.old_heap + 8 * h.words.len;
		h.words.len = 0;
		PUT(&h, TUPLE(1), TERM_NIL, TUPLE(1), TERM_NIL,
		    TUPLE(9)); /* the last is not in use */
		add_fragment(&h, 4);
		PUT(&h, SMALL(4), TERM_NIL);
		add_fragment(&h, 2);
		take(&h);
		assert_int_equal(h.c.young, 19);
		assert_int_equal(h.c.old, 5);
		assert_int_equal(h.c.fragments, 6);
		assert_int_equal(h.c.unknown + h.c.unreadable, 0);
		assert_false(h.c.cut);
		check_kind(&h, TERM_KIND_TUPLE, 3, 7);
		check_kind(&h, TERM_KIND_LIST, 4, 8);
		check_kind(&h, TERM_KIND_MAP, 2, 10); /* the node is words, no map */
		check_kind(&h, TERM_KIND_FLOAT, 1, 2);
		check_kind(&h, TERM_KIND_BIG, 1, 3);
		heap_close(&h);
	}
}

static void test_funs(void **state)
{
	struct heap h;

	UNUSED(state);
	heap_open(&h, 25);
	PUT(&h, 5 << 6 | 0x14, 0, 0, 1 << 8, 0x503, TERM_NIL, TERM_NIL, TERM_NIL);
	PUT(&h, 3 << 6 | 0x04, 0, 0, 0); /* the state of a match is no binary */
	set_young(&h);
	take(&h);
	check_kind(&h, TERM_KIND_FUN, 1, 6);
	check_kind(&h, TERM_KIND_LIST, 1, 2);
	check_kind(&h, TERM_KIND_BITS, 0, 4);
	heap_close(&h);
	heap_open(&h, 29);
	PUT(&h, 1 << 24 | 1 << 16 | 0x14, 0, TERM_NIL, 2 << 6 | 0x04, 0, 0);
	PUT(&h, 2 << 6 | 0x1c, 0, TERM_NIL);
	set_young(&h);
	take(&h);
	check_kind(&h, TERM_KIND_FUN, 1, 6);
	check_kind(&h, TERM_KIND_RECORD, 1, 3);
	heap_close(&h);
}

/* Objects that begin in what is read at once and end, or are understood, only in the next. */
static void test_chunks(void **state)
{
	UNUSED(state);
	for (uint32_t before = 1; before <= 8; before++) {
		struct heap h;
		uint32_t tuples = CHUNK - before;

		heap_open(&h, 25);
		for (uint32_t i = 0; i < tuples; i++)
			PUT(&h, TUPLE(0));
		PUT(&h, 6 << 6 | 0x14, 0, 0, 2 << 8, 0x503, TERM_NIL, TERM_NIL);
		PUT(&h, 0x3c, 2, 0, TERM_NIL, TERM_NIL);
		PUT(&h, TUPLE(2 * CHUNK + 3)); /* longer than two */
		for (uint32_t i = 0; i < 2 * CHUNK + 3; i++)
			PUT(&h, 0xdead0000);
		PUT(&h, TERM_NIL, TERM_NIL);
		set_young(&h);
		take(&h);
		assert_int_equal(h.c.unknown + h.c.unreadable, 0);
		check_kind(&h, TERM_KIND_TUPLE, tuples + 1, tuples + 2 * CHUNK + 4);
		check_kind(&h, TERM_KIND_FUN, 1, 7);
		check_kind(&h, TERM_KIND_MAP, 1, 5);
		check_kind(&h, TERM_KIND_LIST, 1, 2);
		heap_close(&h);
	}
}

/* ---- what is hostile ------------------------------------------------------------------------ */

/* The last object says that it is longer than the area: it is none. */
static void test_too_long(void **state)
{
	static const uint64_t headers[] = {TUPLE(3), TUPLE(1ull << 30), 5 << 6 | 0x24,
					   0xffffull << 16 | 1 << 6 | 0x2c};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		struct heap h;

		heap_open(&h, 27);
		PUT(&h, TUPLE(1), TERM_NIL, headers[i], TERM_NIL, TERM_NIL);
		set_young(&h);
		take(&h);
		check_kind(&h, TERM_KIND_TUPLE, 1, 2);
		check_kind(&h, TERM_KIND_BITS, 0, 0);
		check_kind(&h, TERM_KIND_MAP, 0, 0);
		assert_int_equal(h.c.unknown, 3);
		heap_close(&h);
	}
}

static void test_no_objects(void **state)
{
	struct heap h;

	UNUSED(state);
	heap_open(&h, 27);
	PUT(&h, ~0x3full, 0x1c, 0x3c, TUPLE(1), TERM_NIL); /* absurd, and unknown here */
	set_young(&h);
	take(&h);
	assert_int_equal(h.c.unknown, 3);
	check_kind(&h, TERM_KIND_TUPLE, 1, 2);
	/* Bounds that cannot be. */
	h.p.htop = h.p.heap - 8;
	take(&h);
	assert_int_equal(h.c.young, 0);
	h.p.htop = h.p.hend + 8;
	take(&h);
	assert_int_equal(h.c.young, 0);
	memset(&h.p, 0, sizeof(h.p));
	take(&h);
	assert_int_equal(h.c.young + h.c.old + h.c.fragments, 0);
	h.p.old_heap = 0x1000;
	take(&h);
	assert_int_equal(h.c.old, 0);
	heap_close(&h);
}

/* No multiple of a word: what is left over is no word. */
static void test_odd_size(void **state)
{
	UNUSED(state);
	for (raddr odd = 1; odd < 8; odd++) {
		struct heap h;

		heap_open(&h, 29);
		PUT(&h, TUPLE(1), TERM_NIL, SMALL(1), TERM_NIL, TUPLE(0), 0, 0);
		set_young(&h);
		h.p.htop += odd - 16;
		h.p.hend += 8;
		take(&h);
		assert_int_equal(h.c.young, 5);
		check_kind(&h, TERM_KIND_TUPLE, 2, 3);
		check_kind(&h, TERM_KIND_LIST, 1, 2);
		heap_close(&h);
	}
}

static void test_cut(void **state)
{
	const struct beam_layout *l;
	struct heap h;
	raddr at;

	UNUSED(state);
	heap_open(&h, 27);
	l = &h.f->node.layout;
	for (uint32_t i = 0; i < CHUNK + 100; i++)
		PUT(&h, TUPLE(0));
	set_young(&h);
	h.p.hend = h.p.htop += 800; /* the second part is not all there */
	take(&h);
	/* The last three words wait for what follows them. */
	check_kind(&h, TERM_KIND_TUPLE, CHUNK - 3, CHUNK - 3);
	assert_int_equal(h.c.unreadable, 203);
	h.p.heap = h.p.htop = h.p.hend = 0;
	PUT(&h, TUPLE(1), TERM_NIL);
	at = add_fragment(&h, 1ull << 39); /* far more than there is */
	take(&h);
	assert_int_equal(h.c.unreadable, 1ull << 39);
	image_u64(h.f->im, at + (raddr)l->heap_frag_used_size, UINT64_MAX);
	heap_census_take(&h.f->node, &h.p, &h.c);
	assert_int_equal(h.c.fragments, 0);
	assert_int_equal(h.c.unreadable, 1);
	image_u64(h.f->im, at + (raddr)l->heap_frag_used_size, 2);
	image_u64(h.f->im, at + (raddr)l->heap_frag_next, 0xdead0000);
	heap_census_take(&h.f->node, &h.p, &h.c);
	assert_int_equal(h.c.fragments, 2);
	assert_int_equal(h.c.unreadable, 1);
	check_kind(&h, TERM_KIND_TUPLE, 1, 2);
	heap_close(&h);
}

static void test_circle(void **state)
{
	struct heap h;
	raddr one, two;

	UNUSED(state);
	heap_open(&h, 29);
	one = add_fragment(&h, 0);
	two = add_fragment(&h, 0);
	image_u64(h.f->im, one + (raddr)h.f->node.layout.heap_frag_next, two);
	take(&h);
	assert_true(h.c.cut);
	heap_close(&h);
}

/* Words of every kind, in no order: each is counted once, whatever they look like. */
static void test_noise(void **state)
{
	uint64_t x = 0x9e3779b97f4a7c15ull;

	UNUSED(state);
	for (size_t i = 0; i < 300; i++) {
		struct heap h;

		heap_open(&h, releases[i % ARRAY_SIZE(releases)]);
		for (size_t k = 0; k < 200; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			PUT(&h, x >> (x & 63) & (k % 2 ? ~3ull : ~0ull));
		}
		set_young(&h);
		take(&h);
		assert_int_equal(h.c.young, 200);
		assert_int_equal(h.c.unreadable, 0);
		heap_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),	   cmocka_unit_test(test_maps),
		cmocka_unit_test(test_areas),	   cmocka_unit_test(test_funs),
		cmocka_unit_test(test_chunks),	   cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_no_objects), cmocka_unit_test(test_odd_size),
		cmocka_unit_test(test_cut),	   cmocka_unit_test(test_circle),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
