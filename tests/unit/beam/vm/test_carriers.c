/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carriers and their blocks in a made-up node, laid out as OTP 24 to 29 lay theirs out; and what is
 * left of them when they change meanwhile, lead nowhere or are nonsense.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "base/random.h"
#include "beam/vm/carrier_types.h"
#include "beam/vm/carriers.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

static const int releases[] = {24, 25, 27, 29};

#define HEADER	   376 /* of a carrier for many blocks */
#define SINGLE_HDR 32
#define SIZE	   (64u << 10)
#define TYPE_BITS  8
#define FREE	   1ull
#define AFTER_FREE 2ull
#define LAST	   4ull
#define SINGLE	   7ull
#define TAGGED	   (1ull << 63)
#define NO_TAG	   0

struct world {
	size_t nr_missed;
	const struct allocator *missed; /* the last one */
	struct fakenode *f;
	const struct beam_layout *l;
	struct allocator instances[2];
	struct allocators allocators;
	raddr sentinel, many, single, pooled;
	/* What a walk gave. */
	struct carrier seen[8];
	uint64_t tags[8], tag_sizes[8];
	struct carrier_tag tag; /* the last one */
	size_t nr;
	struct carriers_count count;
};

/* ---- making ---------------------------------------------------------------------------------- */

static raddr put_carrier(struct world *w, size_t size, size_t mapped, uint64_t flags,
			 const struct allocator *of)
{
	raddr c = image_alloc(w->f->im, mapped);

	image_u64(w->f->im, c + (raddr)w->l->carrier_chdr, size | flags);
	image_u64(w->f->im, c + (raddr)w->l->carrier_allctr, of->address);
	return c;
}

static uint32_t tag_size(const struct world *w)
{
	return w->f->node.identity.otp >= 27 ? 16 : 8;
}

/* Returns the offset behind it.  tag: an origin's atom and a type; NO_TAG. */
static size_t put_block(struct world *w, raddr c, size_t at, size_t size, uint64_t flags,
			uint64_t tag)
{
	uint64_t header = size | flags | (tag ? TAGGED : 0);

	if (!(flags & FREE))
		header |= (uint64_t)(at >> 14) << 40;
	image_u64(w->f->im, c + at, header);
	if (tag) {
		image_u64(w->f->im, c + at + size - tag_size(w), tag);
		if (tag_size(w) > 8)
			image_u64(w->f->im, c + at + size - 8, 0x1234);
	}
	return at + size;
}

static uint64_t tag_of(uint64_t atom, uint32_t type)
{
	return atom >> 6 << TYPE_BITS | type;
}

/* A list, whose carriers follow each other. */
static void put_first(struct world *w, const struct allocator *a, int32_t list, raddr c)
{
	image_u64(w->f->im, a->address + (raddr)list, c);
}

static raddr in_pool(const struct world *w, raddr carrier)
{
	return carrier + (raddr)w->l->carrier_cpool;
}

static void put_next_pooled(struct world *w, raddr c, raddr next)
{
	image_u64(w->f->im, c + (raddr)w->l->carrier_cpool_next, next);
}

/* Blocks of 800, 1000 (free), 24, 40,000 (free) and the rest. */
static void put_many(struct world *w)
{
	const uint64_t system = fakenode_atom(w->f, "system");
	raddr c = put_carrier(w, SIZE, SIZE, 0, &w->instances[0]);
	size_t at = put_block(w, c, HEADER, 800, 0, tag_of(system, 5));

	at = put_block(w, c, at, 1000, FREE, NO_TAG);
	at = put_block(w, c, at, 24, AFTER_FREE, NO_TAG);
	at = put_block(w, c, at, 40000, FREE, NO_TAG);
	put_block(w, c, at, SIZE - at, AFTER_FREE | LAST, tag_of(system, 7));
	w->many = c;
	put_first(w, &w->instances[0], w->l->allctr_mbc_first, c);
}

static void put_single(struct world *w)
{
	w->single = put_carrier(w, SIZE, SIZE, 2, &w->instances[1]);
	put_block(w, w->single, SINGLE_HDR, SIZE - 1000, 0, tag_of(fakenode_atom(w->f, "nif"), 9));
	image_u64(w->f->im, w->single + SINGLE_HDR, (SIZE - 1000) | SINGLE | TAGGED);
	put_first(w, &w->instances[1], w->l->allctr_sbc_first, w->single);
}

/* One block and much that is free; seven bytes and less may be left behind the last block. */
static void put_pooled(struct world *w)
{
	raddr c = put_carrier(w, SIZE, SIZE, 1, &w->instances[1]);
	size_t at = put_block(w, c, HEADER, 160, 0, NO_TAG);

	put_block(w, c, at, SIZE - 8 - at, FREE | LAST, NO_TAG);
	image_u64(w->f->im, c + (raddr)w->l->carrier_allctr, w->instances[1].address | 1);
	image_u64(w->f->im, c + (raddr)w->l->carrier_cpool_owner, w->instances[1].address);
	put_next_pooled(w, c, w->sentinel | 1);
	put_next_pooled(w, w->sentinel - (raddr)w->l->carrier_cpool, in_pool(w, c));
	w->pooled = c;
}

static void make(struct world *w, int otp)
{
	*w = (struct world){.f = fakenode_open(otp)};
	w->l = &w->f->node.layout;
	w->sentinel = image_alloc(w->f->im, 256) + (raddr)w->l->carrier_cpool;
	put_next_pooled(w, w->sentinel - (raddr)w->l->carrier_cpool, w->sentinel);
	for (uint32_t i = 0; i < 2; i++) {
		struct allocator *a = &w->instances[i];

		*a = (struct allocator){.type = "binary_alloc", .instance = i};
		a->address = image_alloc(w->f->im, (size_t)w->l->allctr_size);
		image_u64(w->f->im, a->address + (raddr)w->l->allctr_mbc_header_size, HEADER);
		image_u64(w->f->im, a->address + (raddr)w->l->allctr_cpool_sentinel, w->sentinel);
		image_u32(w->f->im, a->address + (raddr)w->l->allctr_atags, 1);
		image_u64(w->f->im, a->address + (raddr)w->l->allctr_cpool_util_limit, 60);
	}
	w->allocators.v.data = w->instances;
	w->allocators.v.len = 2;
	put_many(w);
	put_single(w);
	put_pooled(w);
}

static void unmake(struct world *w)
{
	fakenode_close(w->f);
}

/* ---- walking --------------------------------------------------------------------------------- */

static void see(void *ctx, const struct carrier *c, const struct carrier_tag *tags, size_t nr)
{
	struct world *w = ctx;

	assert_in_range(c->blocks_size + c->free_size, 0, c->size);
	assert_in_range(c->largest_free, 0, c->free_size);
	assert_in_range(nr, 0, c->blocks);
	if (w->nr == ARRAY_SIZE(w->seen))
		return;
	w->tags[w->nr] = nr;
	w->tag_sizes[w->nr] = 0;
	for (size_t i = 0; i < nr; i++) {
		w->tag_sizes[w->nr] += tags[i].size;
		w->tag = tags[i];
	}
	w->seen[w->nr++] = *c;
}

static void miss(void *ctx, const struct allocator *owner)
{
	struct world *w = ctx;

	w->nr_missed++;
	w->missed = owner;
}

static void walk(struct world *w, bool tags)
{
	struct carriers_visitor v = {
		.carrier = see, .missed = miss, .ctx = w, .type_bits = tags ? TYPE_BITS : 0};
	struct error err = {0};

	w->nr = w->nr_missed = 0;
	assert_int_equal(carriers_walk(&w->f->node, &w->allocators, &v, &w->count, &err), 0);
	assert_int_equal(w->count.carriers, w->nr);
	assert_int_equal(w->count.torn + w->count.unreadable + w->count.lists_truncated,
			 w->nr_missed);
}

static const struct carrier *of(const struct world *w, raddr addr)
{
	for (size_t i = 0; i < w->nr; i++)
		if (w->seen[i].address == addr)
			return &w->seen[i];
	return NULL;
}

static void carriers_and_blocks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		const struct carrier *c;
		struct world w;

		make(&w, releases[i]);
		walk(&w, false);
		assert_int_equal(w.nr, 3);
		assert_int_equal(w.count.torn + w.count.unreadable + w.count.lists_truncated, 0);
		c = of(&w, w.many);
		assert_ptr_equal(c->owner, &w.instances[0]);
		assert_int_equal(c->blocks, 3);
		assert_int_equal(c->blocks_size, SIZE - HEADER - 41000);
		assert_int_equal(c->free_blocks, 2);
		assert_int_equal(c->free_size, 41000);
		assert_int_equal(c->largest_free, 40000);
		assert_false(c->single || c->pooled);
		c = of(&w, w.single);
		assert_ptr_equal(c->owner, &w.instances[1]);
		assert_int_equal(c->blocks_size, SIZE - 1000);
		assert_true(c->single);
		c = of(&w, w.pooled);
		assert_ptr_equal(c->owner, &w.instances[1]);
		assert_int_equal(c->blocks_size, 160);
		assert_int_equal(c->largest_free, SIZE - 8 - HEADER - 160);
		assert_true(c->pooled);
		unmake(&w);
	}
}

static void tags_of_blocks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;

		make(&w, releases[i]);
		put_first(&w, &w.instances[1], w.l->allctr_sbc_first, 0);
		walk(&w, true);
		assert_int_equal(w.nr, 2);
		assert_int_equal(w.tags[of(&w, w.many) - w.seen], 2);
		assert_int_equal(w.tag_sizes[of(&w, w.many) - w.seen], SIZE - HEADER - 41000 - 24);
		assert_int_equal(w.tags[of(&w, w.pooled) - w.seen], 0);
		assert_int_equal(w.tag.origin, fakenode_atom(w.f, "system"));
		assert_int_equal(w.tag.type, 7);
		assert_int_equal(w.tag.term, releases[i] >= 27 ? 0x1234 : 0);
		put_first(&w, &w.instances[1], w.l->allctr_sbc_first, w.single);
		walk(&w, true);
		assert_int_equal(w.tag.origin, fakenode_atom(w.f, "nif"));
		assert_int_equal(w.tag.type, 9);
		assert_int_equal(w.tag.size, SIZE - 1000);
		unmake(&w);
	}
}

static void flags_of_an_allocator(void **state)
{
	struct carrier_options o;
	struct world w;

	(void)state;
	make(&w, 27);
	image_u64(w.f->im, w.instances[0].address + (raddr)w.l->allctr_sbc_threshold, 524288);
	image_u64(w.f->im, w.instances[0].address + (raddr)w.l->allctr_largest_mbc_size, 5242880);
	assert_true(carrier_options_read(&w.f->node, &w.instances[0], &o));
	assert_true(o.tags);
	assert_false(o.function_tags);
	assert_int_equal(o.acul, 60);
	assert_int_equal(o.sbct, 524288);
	assert_int_equal(o.lmbcs, 5242880);
	image_u32(w.f->im, w.instances[0].address + (raddr)w.l->allctr_atags, 2);
	assert_true(carrier_options_read(&w.f->node, &w.instances[0], &o));
	assert_true(o.function_tags);
	w.instances[0].address = 8;
	assert_false(carrier_options_read(&w.f->node, &w.instances[0], &o));
	unmake(&w);
}

/* ---- what is torn ---------------------------------------------------------------------------- */

/* The carrier for many is torn, and in no sum; the others are there. */
static void expect_torn(struct world *w)
{
	walk(w, true);
	assert_int_equal(w->nr, 2);
	assert_null(of(w, w->many));
	assert_int_equal(w->count.torn, 1);
	assert_int_equal(w->count.torn_size, SIZE);
	assert_ptr_equal(w->missed, &w->instances[0]);
}

static void blocks_that_do_not_follow_each_other(void **state)
{
	/* Offsets of the blocks of put_many(), and headers that cannot be there. */
	static const size_t second = HEADER + 800, third = second + 1000, fourth = third + 24;
	const size_t last = fourth + 40000;
	const struct {
		size_t at;
		uint64_t header;
	} bad[] = {
		{HEADER, 0},			    /* no size */
		{HEADER, 8},			    /* less than the least */
		{HEADER, 808},			    /* into the next one */
		{HEADER, 800 | AFTER_FREE},	    /* nothing is before it */
		{HEADER, 800 | SINGLE},		    /* of another kind of carrier */
		{HEADER, 800 | LAST},		    /* ends too early */
		{HEADER, SIZE | LAST},		    /* ends outside */
		{HEADER, 800 | 1ull << 40},	    /* in another carrier */
		{second, 1000},			    /* the next one says it is free */
		{second, 1000 | FREE | TAGGED},	    /* who would have a free block? */
		{third, 24},			    /* the one before it is free */
		{third, 24 | FREE},		    /* two that should be joined */
		{third, 24 | AFTER_FREE | TAGGED},  /* its tag has no type */
		{third, 16 | AFTER_FREE | TAGGED},  /* no room for the tag's two words */
		{last, (SIZE - last) | AFTER_FREE}, /* more should follow */
		{last, (SIZE - last - 16) | AFTER_FREE | LAST | 2ull << 40}, /* less than all */
		{last, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct world w;

		make(&w, 29);
		image_u64(w.f->im, w.many + bad[i].at, bad[i].header);
		expect_torn(&w);
		unmake(&w);
	}
}

static void single_blocks_that_cannot_be(void **state)
{
	const uint64_t bad[] = {0,
				8,
				SINGLE,
				SIZE | SINGLE,
				(SIZE - 1000) | LAST,
				8 | SINGLE | TAGGED,
				(SIZE - 2000) | SINGLE | TAGGED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct world w;

		make(&w, 27);
		image_u64(w.f->im, w.single + SINGLE_HDR, bad[i]);
		walk(&w, true);
		assert_int_equal(w.nr, 2);
		assert_int_equal(w.count.torn, 1);
		unmake(&w);
	}
}

static void carriers_of_another_size_or_kind(void **state)
{
	const uint64_t bad[] = {8, HEADER, SIZE | 2, 1ull << 50, SIZE - 4096, SIZE + 4096};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct world w;

		make(&w, 25);
		image_u64(w.f->im, w.many + (raddr)w.l->carrier_chdr, bad[i]);
		walk(&w, false);
		assert_int_equal(w.nr, 2);
		assert_int_equal(w.count.torn, 1);
		unmake(&w);
	}
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void lists_that_lead_nowhere(void **state)
{
	struct world w;
	raddr next;

	(void)state;
	make(&w, 27);
	next = w.many + (raddr)w.l->carrier_next;
	image_u64(w.f->im, next, w.many); /* a cycle */
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.count.lists_truncated, 1);
	image_u64(w.f->im, next, w.single); /* a carrier of another instance */
	walk(&w, false);
	assert_int_equal(w.nr, 2);
	assert_int_equal(w.count.lists_truncated, 2);
	image_u64(w.f->im, next, 24);
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.count.unreadable, 1);
	assert_ptr_equal(w.missed, &w.instances[0]);
	unmake(&w);
}

static void marks_of_the_vm_in_lists_are_no_carriers(void **state)
{
	struct world w;
	raddr mark;

	(void)state;
	make(&w, 27);
	mark = put_carrier(&w, 0, 512, 0, &w.instances[0]);
	image_u64(w.f->im, mark + (raddr)w.l->carrier_next, w.many);
	put_first(&w, &w.instances[0], w.l->allctr_mbc_first, mark);
	mark = put_carrier(&w, 0, 512, 0, &w.instances[1]);
	image_u64(w.f->im, mark + (raddr)w.l->carrier_allctr, w.instances[1].address | 3);
	image_u64(w.f->im, mark + (raddr)w.l->carrier_cpool_owner, w.instances[1].address);
	put_next_pooled(&w, mark, in_pool(&w, w.pooled));
	put_next_pooled(&w, w.sentinel - (raddr)w.l->carrier_cpool, in_pool(&w, mark));
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.count.torn + w.count.lists_truncated + w.count.unreadable, 0);
	unmake(&w);
}

static void pools_that_lead_nowhere(void **state)
{
	struct world w;

	(void)state;
	make(&w, 27);
	put_next_pooled(&w, w.pooled, in_pool(&w, w.pooled)); /* past the sentinel */
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.count.lists_truncated, 1);
	put_next_pooled(&w, w.pooled, 0);
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_int_equal(w.count.unreadable, 1);
	/* Of nobody. */
	put_next_pooled(&w, w.pooled, w.sentinel);
	image_u64(w.f->im, w.pooled + (raddr)w.l->carrier_cpool_owner, w.many);
	walk(&w, false);
	assert_int_equal(w.nr, 2);
	assert_int_equal(w.count.lists_truncated, 1);
	/* It is being fetched: soon it is in a list. */
	image_u64(w.f->im, w.pooled + (raddr)w.l->carrier_cpool_owner, w.instances[1].address);
	image_u64(w.f->im, w.pooled + (raddr)w.l->carrier_allctr, w.instances[1].address);
	walk(&w, false);
	assert_int_equal(w.nr, 2);
	assert_int_equal(w.count.lists_truncated, 0);
	unmake(&w);
}

static void a_carrier_in_two_lists_counts_once(void **state)
{
	struct world w;

	(void)state;
	make(&w, 27);
	image_u64(w.f->im, w.many + (raddr)w.l->carrier_next, w.pooled);
	walk(&w, false);
	assert_int_equal(w.nr, 3);
	assert_true(of(&w, w.pooled)->pooled);
	unmake(&w);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A carrier of several megabytes: of its large blocks only what is around the headers is read, even
 * if nothing else is there. */
static void large_blocks_are_not_read(void **state)
{
	enum { LARGE = 1 << 20, PART = 8192 };
	struct world w;
	raddr c = 0x100000000;
	uint64_t reads;

	(void)state;
	make(&w, 27);
	for (size_t i = 0; i <= 4; i++)
		image_map(w.f->im, c + i * LARGE, PART);
	image_u64(w.f->im, c + (raddr)w.l->carrier_chdr, 4 * LARGE + PART);
	image_u64(w.f->im, c + (raddr)w.l->carrier_allctr, w.instances[0].address);
	for (size_t i = 0; i < 4; i++)
		put_block(&w, c, i * LARGE + (i ? 512 : HEADER), LARGE + (i ? 0 : 512 - HEADER), 0,
			  NO_TAG);
	put_block(&w, c, 4 * LARGE + 512, PART - 512, LAST, NO_TAG);
	put_first(&w, &w.instances[0], w.l->allctr_mbc_first, c);
	reads = image_reads(w.f->im);
	walk(&w, true);
	assert_int_equal(of(&w, c)->blocks, 5);
	assert_int_equal(of(&w, c)->blocks_size, 4 * LARGE + PART - HEADER);
	assert_in_range(image_reads(w.f->im) - reads, 1, 40);
	unmake(&w);
}

/* Where blocks are small few reads are enough. */
static void small_blocks_are_read_together(void **state)
{
	enum { LARGE = 4 << 20, BLOCK = 48 };
	struct world w;
	size_t at = HEADER;
	uint64_t reads;
	raddr c;

	(void)state;
	make(&w, 29);
	c = put_carrier(&w, LARGE, LARGE, 0, &w.instances[0]);
	for (; at + 2 * BLOCK <= LARGE; at += BLOCK)
		put_block(&w, c, at, BLOCK, 0, tag_of(0x0b, 3));
	put_block(&w, c, at, LARGE - at, LAST, NO_TAG);
	put_first(&w, &w.instances[0], w.l->allctr_mbc_first, c);
	reads = image_reads(w.f->im);
	walk(&w, true);
	assert_int_equal(of(&w, c)->blocks, (LARGE - HEADER) / BLOCK);
	assert_int_equal(w.tags[of(&w, c) - w.seen], (LARGE - HEADER) / BLOCK - 1);
	assert_in_range(image_reads(w.f->im) - reads, 1, 60);
	unmake(&w);
}

/* Whatever cannot be read is counted, and the rest is there. */
static void each_read_may_fail(void **state)
{
	struct world w;
	struct mem *inner;

	(void)state;
	make(&w, 27);
	inner = w.f->node.mem;
	for (uint64_t nth = 3; nth < 24; nth++) {
		struct mem *faulty = mem_open_faulty(inner, 0, 0, nth);

		w.f->node.mem = faulty;
		walk(&w, true);
		assert_true(w.nr == 3 || w.count.unreadable > 0);
		mem_close(faulty);
	}
	w.f->node.mem = inner;
	unmake(&w);
}

static void any_bit_may_be_wrong(void **state)
{
	struct world w;
	uint64_t seed = 1;

	(void)state;
	make(&w, 29);
	for (int i = 0; i < 20000; i++) {
		const raddr from[] = {w.many, w.single, w.pooled, w.instances[0].address,
				      w.sentinel};
		raddr at =
			from[random_next(&seed) % ARRAY_SIZE(from)] + random_next(&seed) % 16 * 8;
		uint64_t was, bit = 1ull << random_next(&seed) % 64;

		if (i % 2)
			at = w.many + (random_next(&seed) % 2 ? HEADER : HEADER + 800);
		assert_int_equal(mem_read_u64(w.f->node.mem, at, &was), 0);
		image_u64(w.f->im, at, was ^ bit);
		walk(&w, true);
		image_u64(w.f->im, at, was);
	}
	walk(&w, true);
	assert_int_equal(w.nr, 3);
	unmake(&w);
}

/* ---- names of types -------------------------------------------------------------------------- */

static void table_of_types(void **state)
{
	static const char texts[] = "x\0proc\0invalid_type\0port";
	const raddr texts_at = 0x10000, data_at = 0x20000;
	uint64_t data[200] = {0};
	const uint8_t *bytes = (const uint8_t *)data;

#define FIND()                                                                                     \
	carrier_types_find(bytes, sizeof(data), data_at, (const uint8_t *)texts, sizeof(texts),    \
			   texts_at)
	(void)state;
	assert_int_equal(FIND(), 0);
	data[10] = texts_at + 7;
	assert_int_equal(FIND(), data_at + 80);
	data[11] = texts_at + 2;
	assert_int_equal(FIND(), data_at + 80);
	data[12] = texts_at + sizeof(texts) - 1;
	data[13] = UINT64_MAX;
	assert_int_equal(FIND(), data_at + 80);
	data[20] = texts_at + 7; /* two: which? */
	assert_int_equal(FIND(), 0);
	data[20] = 0;
	data[10] = 0;
	data[199] = texts_at + 7; /* nothing can follow */
	assert_int_equal(FIND(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carriers_and_blocks),
		cmocka_unit_test(tags_of_blocks),
		cmocka_unit_test(flags_of_an_allocator),
		cmocka_unit_test(blocks_that_do_not_follow_each_other),
		cmocka_unit_test(single_blocks_that_cannot_be),
		cmocka_unit_test(carriers_of_another_size_or_kind),
		cmocka_unit_test(lists_that_lead_nowhere),
		cmocka_unit_test(marks_of_the_vm_in_lists_are_no_carriers),
		cmocka_unit_test(pools_that_lead_nowhere),
		cmocka_unit_test(a_carrier_in_two_lists_counts_once),
		cmocka_unit_test(large_blocks_are_not_read),
		cmocka_unit_test(small_blocks_are_read_together),
		cmocka_unit_test(each_read_may_fail),
		cmocka_unit_test(any_bit_may_be_wrong),
		cmocka_unit_test(table_of_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
