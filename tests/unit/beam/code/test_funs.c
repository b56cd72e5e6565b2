/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM's funs: a hash table with chains up to OTP 27, tables of staged code since 28. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/compiler.h"
#include "beam/code/funs.h"
#include "lib/fakenode.h"

enum { FUNS = 5, BUCKETS = 4, SHIFT = 62 };

struct world {
	struct fakenode *f;
	struct image *im;
	const struct beam_layout *l;
	raddr entries[FUNS]; /* buckets, or entries of staged tables */
};

static void put_fun(struct world *w, int i)
{
	const struct beam_layout *l = w->l;
	bool hashed = w->f->node.identity.otp < 28;
	raddr bucket = image_alloc(w->im, 160);
	/* Behind the bucket, or where the entry of a staged table points to. */
	raddr entry = hashed ? bucket + (w->f->node.identity.otp == 24 ? 0 : 16)
			     : image_alloc(w->im, 128);

	if (!hashed)
		image_u64(w->im, bucket + 24, entry);
	image_u64(w->im, entry + (raddr)l->fun_entry_module, fakenode_atom(w->f, "shop"));
	image_u32(w->im, entry + (raddr)l->fun_entry_old_uniq, (uint32_t)(-1000 - i));
	image_u32(w->im, entry + (raddr)l->fun_entry_old_index, (uint32_t)i);
	/* Code index 1 is active. */
	image_u64(w->im,
		  entry + (w->f->node.identity.otp == 24 ? 48
			   : hashed			 ? 0
							 : 8),
		  0x7000 + (raddr)i);
	if (hashed)
		image_u64(w->im, entry + (raddr)l->fun_entry_size - 16, 3 + (uint64_t)i);
	w->entries[i] = bucket;
}

/* The first bucket has a chain of three, the third one of two. */
static void put_hash(struct world *w)
{
	raddr table = image_alloc(w->im, 128), buckets = image_alloc(w->im, 8 * BUCKETS);
	const struct beam_layout *l = w->l;

	image_u32(w->im, table + (raddr)l->index_table_shift, SHIFT);
	image_u32(w->im, table + (raddr)l->index_table_nobjs, FUNS);
	image_u64(w->im, table + (raddr)l->index_table_bucket, buckets);
	image_u64(w->im, buckets, w->entries[0]);
	image_u64(w->im, w->entries[0], w->entries[1]);
	image_u64(w->im, w->entries[1], w->entries[2]);
	image_u64(w->im, buckets + 16, w->entries[3]);
	image_u64(w->im, w->entries[3], w->entries[4]);
	w->f->node.anchors.fun_table = table;
}

static void put_staged(struct world *w)
{
	const struct beam_layout *l = w->l;
	size_t size = (size_t)l->index_table_size;
	raddr tables = image_alloc(w->im, 3 * size), at = tables + size;
	raddr segments = image_alloc(w->im, 8), segment = image_alloc(w->im, 8 * 1024);
	raddr name = image_alloc(w->im, 16);

	image_put(w->im, name, "funs", 5);
	image_u64(w->im, at + (raddr)l->index_table_name, name);
	image_u32(w->im, at + (raddr)l->index_table_shift, SHIFT);
	image_u32(w->im, at + (raddr)l->index_table_slots, 1024);
	image_u32(w->im, at + (raddr)l->index_table_entries, FUNS);
	image_u64(w->im, at + (raddr)l->index_table_seg_table, segments);
	image_u64(w->im, segments, segment);
	for (int i = 0; i < FUNS; i++)
		image_u64(w->im, segment + 8 * (raddr)i, w->entries[i]);
	w->f->node.anchors.staged_funs = tables;
}

static struct world world_open(int otp)
{
	struct world w = {.f = fakenode_open(otp)};

	w.im = w.f->im;
	w.l = &w.f->node.layout;
	for (int i = 0; i < FUNS; i++)
		put_fun(&w, i);
	if (otp < 28)
		put_hash(&w);
	else
		put_staged(&w);
	w.f->node.anchors.active_code_ix = image_alloc(w.im, 8);
	image_u32(w.im, w.f->node.anchors.active_code_ix, 1);
	return w;
}

static void test_every_field(void **state)
{
	static const int releases[] = {24, 25, 26, 27, 28, 29};

	UNUSED(state);
	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		struct world w = world_open(releases[r]);
		unsigned int seen = 0;
		struct funs funs;

		assert_int_equal(funs_read(&funs, &w.f->node), 0);
		assert_int_equal(funs.v.len, FUNS);
		assert_int_equal(funs.unreadable, 0);
		for (size_t i = 0; i < funs.v.len; i++) {
			const struct fun *f = &funs.v.data[i];

			assert_in_range(f->index, 0, FUNS - 1);
			seen |= 1u << f->index;
			assert_int_equal(f->uniq, -1000 - f->index);
			assert_int_equal(f->module, fakenode_atom(w.f, "shop"));
			assert_int_equal(f->address, 0x7000 + f->index);
			assert_int_equal(f->references, releases[r] < 28 ? 3 + f->index : 1);
		}
		assert_int_equal(seen, (1u << FUNS) - 1);
		funs_free(&funs);
		fakenode_close(w.f);
	}
}

static void test_damaged(void **state)
{
	struct world w = world_open(27);
	struct funs funs;

	UNUSED(state);
	/* A chain that comes back to itself: no more than the table counts. */
	image_u64(w.im, w.entries[2], w.entries[0]);
	assert_int_equal(funs_read(&funs, &w.f->node), 0);
	assert_int_equal(funs.v.len, FUNS);
	funs_free(&funs);
	/* One that leads nowhere ends there, and its last object cannot be read. */
	image_u64(w.im, w.entries[2], 0);
	image_u64(w.im, w.entries[0], 0x12340);
	assert_int_equal(funs_read(&funs, &w.f->node), 0);
	assert_int_equal(funs.v.len, 3);
	assert_int_equal(funs.unreadable, 1);
	funs_free(&funs);
	image_u32(w.im, w.f->node.anchors.fun_table + (raddr)w.l->index_table_shift, 2);
	assert_int_equal(funs_read(&funs, &w.f->node), -EBADMSG);
	w.f->node.anchors.fun_table = 0;
	assert_int_equal(funs_read(&funs, &w.f->node), -ENOTSUP);
	fakenode_close(w.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
