/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of ETS tables of every kind, in made-up memory; tables that are damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/compiler.h"
#include "lib/etsfix.h"

#define TUPLE(n) ((uint64_t)(n) << 6)

/* A node with an object {Key, 2 * Key}, behind `head` bytes of its own. */
static raddr object(struct etsfix *w, raddr head, uint64_t key)
{
	raddr node = image_alloc(w->f->im, head + 16 + 3 * 8);

	image_u64(w->f->im, node + head + 8, 3);
	image_u64(w->f->im, node + head + 16, TUPLE(2));
	image_u64(w->f->im, node + head + 24, SMALL(key));
	image_u64(w->f->im, node + head + 32, SMALL(2 * key));
	return node;
}

static void read_objects(struct etsfix *w, raddr table, size_t max)
{
	struct ets_table t;

	etsfix_u64(w, table, etsfix_layout(w)->ets_all_next, table);
	assert_int_equal(ets_table_read(&w->f->node, table, &t), 0);
	ets_objects_free(&w->objects);
	assert_int_equal(ets_objects_read(&w->f->node, &t, max, &w->objects), 0);
	for (size_t i = 0; i < w->objects.v.len; i++) {
		const struct ets_object *o = &w->objects.v.data[i];

		assert_int_equal(o->arity, 2);
		assert_int_equal(o->nr_words, 3);
		assert_int_equal(o->words[2] >> 4, 2 * (o->words[1] >> 4));
	}
}

static uint64_t key_of(const struct etsfix *w, size_t i)
{
	return w->objects.v.data[i].words[1] >> 4;
}

static raddr hash_node(struct etsfix *w, uint64_t hash, bool deleted, raddr next)
{
	bool wide = w->f->node.identity.otp >= 29;
	raddr node = object(w, 16, hash);

	image_u64(w->f->im, node, next);
	image_u64(w->f->im, node + 8,
		  wide ? hash | (uint64_t)deleted << 63 : (uint32_t)hash | (uint64_t)deleted << 32);
	return node;
}

/* A hash with `nr` active buckets of which `mask` + 1 are there, in segments as erl_db_hash.c has
 * them. */
static raddr hash_table(struct etsfix *w, uint64_t nr, uint64_t mask, raddr segments[3])
{
	const struct beam_layout *l = etsfix_layout(w);
	raddr t = etsfix_make(w, "one", SET, 0, 0), tab = image_alloc(w->f->im, 3 * 8);

	segments[0] = image_alloc(w->f->im, 256 * 8);
	segments[1] = image_alloc(w->f->im, 2048 * 8);
	segments[2] = image_alloc(w->f->im, 2048 * 8);
	for (raddr i = 0; i < 3; i++)
		image_u64(w->f->im, tab + 8 * i, segments[i]);
	etsfix_u64(w, t, l->ets_hash_segtab, tab);
	etsfix_u64(w, t, l->ets_hash_nactive, nr);
	etsfix_u64(w, t, l->ets_hash_szm, mask);
	return t;
}

static void test_hash(void **state)
{
	struct etsfix *w = *state;
	raddr seg[3], t = hash_table(w, 3000, 4095, seg), chain;

	image_u64(w->f->im, seg[0] + 8 * 255, hash_node(w, 255, false, 0));
	image_u64(w->f->im, seg[1] + 8 * 256, hash_node(w, 256, false, 0));
	image_u64(w->f->im, seg[1] + 8 * 2047, hash_node(w, 2047, false, 0));
	image_u64(w->f->im, seg[1], hash_node(w, 2048, false, 0));
	image_u64(w->f->im, seg[1] + 8 * 255, hash_node(w, 2303, false, 0));
	image_u64(w->f->im, seg[2] + 8 * 256, hash_node(w, 2304, false, 0));
	/* Not split off yet: bucket 3500 is still part of 3500 - 2048.  A chain of two, and one
	 * that was deleted in a fixed table. */
	chain = hash_node(w, 1452 + 4096, true, hash_node(w, 1452, false, 0));
	image_u64(w->f->im, seg[1] + 8 * 1452, hash_node(w, 3500, false, chain));
	/* Not in use. */
	image_u64(w->f->im, seg[2] + 8 * (3000 - 2048), hash_node(w, 3000, false, 0));
	read_objects(w, t, 100);
	assert_int_equal(w->objects.v.len, 8);
	assert_int_equal(w->objects.torn, 0);
	static const uint64_t keys[] = {255, 256, 3500, 1452, 2047, 2048, 2303, 2304};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(key_of(w, i), keys[i]);
	read_objects(w, t, 3);
	assert_int_equal(w->objects.v.len, 3);
}

static void test_hash_damage(void **state)
{
	struct etsfix *w = *state;
	raddr seg[3], t = hash_table(w, 256, 255, seg), node;

	/* A chain that bites its tail ends with what was asked for. */
	node = hash_node(w, 1, false, 0);
	image_u64(w->f->im, node, node);
	image_u64(w->f->im, seg[0] + 8 * 1, node);
	read_objects(w, t, 50);
	assert_int_equal(w->objects.v.len, 50);
	/* ... also if none of its objects counts. */
	node = hash_node(w, 1, true, 0);
	image_u64(w->f->im, node, node);
	image_u64(w->f->im, seg[0] + 8 * 1, node);
	read_objects(w, t, 1);
	assert_int_equal(w->objects.v.len, 0);
	/* An object of another bucket, one without its key, one that is no tuple, one whose size is
	 * none, and pointers to nowhere. */
	image_u64(w->f->im, seg[0] + 8 * 1, hash_node(w, 2, false, 0));
	node = hash_node(w, 3, false, 0);
	image_u64(w->f->im, node + 32, TUPLE(0));
	image_u64(w->f->im, seg[0] + 8 * 3, node);
	node = hash_node(w, 4, false, 0);
	image_u64(w->f->im, node + 32, SMALL(1));
	image_u64(w->f->im, seg[0] + 8 * 4, node);
	node = hash_node(w, 5, false, 0);
	image_u64(w->f->im, node + 24, 2);
	image_u64(w->f->im, seg[0] + 8 * 5, node);
	image_u64(w->f->im, seg[0] + 8 * 6, 0x1000);
	image_u64(w->f->im, seg[0] + 8 * 7, 0x1001);
	image_u64(w->f->im, seg[0] + 8 * 8, hash_node(w, 8, false, 0));
	read_objects(w, t, 50);
	assert_int_equal(w->objects.v.len, 1);
	assert_int_equal(w->objects.torn, 6);
	etsfix_u64(w, t, etsfix_layout(w)->ets_hash_segtab, 0x1000);
	read_objects(w, t, 50);
	assert_int_equal(w->objects.v.len, 0);
	assert_int_equal(w->objects.torn, 1);
}

static raddr tree_node(struct etsfix *w, uint64_t key, raddr left, raddr right)
{
	raddr node = object(w, 24, key);

	image_u64(w->f->im, node, left);
	image_u64(w->f->im, node + 8, right);
	return node;
}

static raddr tree_of_five(struct etsfix *w, uint64_t from)
{
	raddr left = tree_node(w, from + 1, tree_node(w, from, 0, 0), 0);

	return tree_node(w, from + 2, left,
			 tree_node(w, from + 3, 0, tree_node(w, from + 4, 0, 0)));
}

static void assert_keys(const struct etsfix *w, uint64_t from, size_t nr)
{
	assert_int_equal(w->objects.v.len, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(key_of(w, i), from + i);
}

struct addresses {
	raddr at[64];
	size_t nr;
};

static void add_address(void *arg, raddr at)
{
	struct addresses *a = arg;

	assert_true(a->nr < ARRAY_SIZE(a->at));
	a->at[a->nr++] = at;
}

static bool has_address(const struct addresses *a, raddr at)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->at[i] == at)
			return true;
	return false;
}

/* Locks and counters are memory of the table, if they are blocks of their own. */
static void test_memory(void **state)
{
	struct etsfix *w = *state;
	const struct beam_layout *l = etsfix_layout(w);
	raddr seg[3], t = hash_table(w, 256, 255, seg);
	struct addresses seen = {{0}, 0};
	struct ets_table table;
	uint64_t torn = 0;
	bool cut = false;

	etsfix_u64(w, t, l->ets_all_next, t);
	etsfix_u64(w, t, l->ets_hash_locks, 0xa000);
	assert_int_equal(ets_table_read(&w->f->node, t, &table), 0);
	table.decentralized = false;
	assert_int_equal(ets_memory_walk(&w->f->node, &table, 9, add_address, &seen, &torn, &cut),
			 0);
	assert_true(has_address(&seen, t) && has_address(&seen, seg[0]));
	assert_true(has_address(&seen, 0xa000));
	assert_false(has_address(&seen, 0xb000));
	table.decentralized = true;
	table.counters = 0xb000;
	assert_int_equal(ets_memory_walk(&w->f->node, &table, 9, add_address, &seen, &torn, &cut),
			 0);
	assert_true(has_address(&seen, 0xb000));
	assert_true(torn == 0 && !cut);
}

static void test_tree(void **state)
{
	struct etsfix *w = *state;
	raddr t = etsfix_make(w, "one", TREE, 5, 80), node;

	read_objects(w, t, 10);
	assert_int_equal(w->objects.v.len, 0);
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root, tree_of_five(w, 1));
	read_objects(w, t, 10);
	assert_keys(w, 1, 5);
	read_objects(w, t, 2);
	assert_keys(w, 1, 2);
	/* A branch that cannot be read is left out; cycles end. */
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root,
		   tree_node(w, 1, 0x1000, tree_node(w, 2, 0, 0)));
	read_objects(w, t, 10);
	assert_keys(w, 1, 2);
	assert_int_equal(w->objects.torn, 1);
	node = tree_node(w, 1, 0, 0);
	image_u64(w->f->im, node, node);
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root, node);
	read_objects(w, t, 1000);
	assert_true(w->objects.v.len <= 1000);
	assert_true(w->objects.torn > 0);
	image_u64(w->f->im, node, 0);
	image_u64(w->f->im, node + 8, node);
	read_objects(w, t, 1000);
	assert_int_equal(w->objects.v.len, 1000);
}

static raddr catree_node(struct etsfix *w, bool base, raddr left, raddr right)
{
	raddr node = image_alloc(w->f->im, 128);

	image_u64(w->f->im, node, base);
	image_u64(w->f->im, node + (base ? 104 : 88), left);
	if (!base)
		image_u64(w->f->im, node + 96, right);
	return node;
}

static void test_catree(void **state)
{
	struct etsfix *w = *state;
	raddr t = etsfix_make(
		w, "one", ETS_STATUS_CA_ORDERED_SET | ETS_STATUS_PUBLIC | ETS_STATUS_FINE_LOCKED, 5,
		80);
	raddr base[3], route;

	for (uint64_t i = 0; i < 3; i++)
		base[i] = catree_node(w, true, tree_of_five(w, 1 + 5 * i), 0);
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root, base[0]);
	read_objects(w, t, 100);
	assert_keys(w, 1, 5);
	route = catree_node(w, false, catree_node(w, false, base[0], base[1]), base[2]);
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root, route);
	read_objects(w, t, 100);
	assert_keys(w, 1, 15);
	read_objects(w, t, 7);
	assert_keys(w, 1, 7);
	/* Routes in a circle. */
	image_u64(w->f->im, route + 88, route);
	read_objects(w, t, 100);
	assert_true(w->objects.torn > 0);
	image_u64(w->f->im, route + 88, 0x1000);
	read_objects(w, t, 100);
	assert_keys(w, 11, 5);
	assert_int_equal(w->objects.torn, 1);
}

/* What is compressed stands behind the elements, and the allocation's size before it. */
static void test_compressed(void **state)
{
	struct etsfix *w = *state;
	raddr t = etsfix_make(w, "one", TREE, 1, 80), node = image_alloc(w->f->im, 24 + 16 + 6 * 8);
	struct ets_table table;

	etsfix_u32(w, t, etsfix_layout(w)->ets_compress, 1);
	etsfix_u64(w, t, etsfix_layout(w)->ets_tree_root, node);
	image_u64(w->f->im, node + 24 + 8, 1000000); /* it would take that much */
	image_u64(w->f->im, node + 24 + 16, TUPLE(2));
	image_u64(w->f->im, node + 24 + 24, SMALL(1));
	image_u64(w->f->im, node + 24 + 32, (uint64_t)32 << 2);
	image_u64(w->f->im, node + 24 + 40, 24 + 16 + 6 * 8);
	assert_int_equal(ets_table_read(&w->f->node, t, &table), 0);
	assert_int_equal(ets_objects_read(&w->f->node, &table, 10, &w->objects), 0);
	assert_int_equal(w->objects.v.len, 1);
	assert_int_equal(w->objects.v.data[0].nr_words, 6);
	ets_objects_free(&w->objects);
	image_u64(w->f->im, node + 24 + 40, 24); /* too small for its elements */
	assert_int_equal(ets_objects_read(&w->f->node, &table, 10, &w->objects), 0);
	assert_int_equal(w->objects.v.len, 0);
	assert_int_equal(w->objects.torn, 1);
}

/* Objects that take 8 MiB each, one behind the other in a circle; tuples as wide as a copy. */
static void test_large(void **state)
{
	struct etsfix *w = *state;
	const size_t words = 1u << 20;
	raddr seg[3], t = hash_table(w, 256, 255, seg);
	raddr node = image_alloc(w->f->im, 32 + 8 * (words + 2));
	struct ets_table table;
	uint64_t copied = 0;

	image_u64(w->f->im, node, node);
	image_u64(w->f->im, node + 8, 1);
	image_u64(w->f->im, node + 24, words + 1);
	image_u64(w->f->im, node + 32, TUPLE(2));
	image_u64(w->f->im, seg[0] + 8 * 1, node);
	assert_int_equal(ets_table_read(&w->f->node, t, &table), 0);
	assert_int_equal(ets_objects_read(&w->f->node, &table, 100, &w->objects), 0);
	assert_int_equal(w->objects.v.len, 100);
	for (size_t i = 0; i < w->objects.v.len; i++)
		copied += w->objects.v.data[i].nr_words;
	assert_int_equal(copied, 32 * words + 68 * 3);
	ets_objects_free(&w->objects);
	image_u64(w->f->im, node + 32, TUPLE(words));
	assert_int_equal(ets_objects_read(&w->f->node, &table, 100, &w->objects), 0);
	assert_int_equal(w->objects.v.len, 0);
	assert_int_equal(w->objects.torn, 1);
	image_u64(w->f->im, node + 32, TUPLE(words - 1));
	assert_int_equal(ets_objects_read(&w->f->node, &table, 100, &w->objects), 0);
	assert_int_equal(w->objects.v.len, 32);
	assert_int_equal(w->objects.torn, 1);
}

static void link_fixation(struct etsfix *w, raddr parent, bool right, raddr child)
{
	image_u64(w->f->im, parent + (right ? 32 : 24), child);
	image_u64(w->f->im, child + 40, parent);
}

static raddr fixation(struct etsfix *w, uint64_t pid, uint64_t count)
{
	raddr node = image_alloc(w->f->im, 72);
	raddr process = image_alloc(w->f->im, (size_t)etsfix_layout(w)->process_size);

	etsfix_u64(w, process, etsfix_layout(w)->process_id, pid);
	image_u64(w->f->im, node + 56, process);
	image_u64(w->f->im, node + 64, count);
	return node;
}

static void test_fixations(void **state)
{
	struct etsfix *w = *state;
	struct ets_table t = {.addr = etsfix_make(w, "one", SET, 0, 0)};
	int32_t root = etsfix_layout(w)->ets_fixing_procs;
	struct ets_fixation found[8];
	raddr left, right, top;
	size_t nr = 9;

	assert_int_equal(ets_fixations(&w->f->node, &t, found, 8, &nr), 0);
	assert_int_equal(nr, 0);
	top = fixation(w, OWNER, 1);
	left = fixation(w, OWNER + 16, 2);
	right = fixation(w, OWNER + 48, 5);
	link_fixation(w, top, false, left);
	link_fixation(w, top, true, right);
	link_fixation(w, left, true, fixation(w, OWNER + 32, 3));
	etsfix_u64(w, t.addr, root, top);
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 4, &nr), 0);
	assert_int_equal(nr, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(found[i].pid, OWNER + i * 16);
		assert_int_equal(found[i].count, i == 3 ? 5 : i + 1);
	}
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 2, &nr), -ENOSPC);
	assert_int_equal(nr, 2);
	/* A cycle. */
	image_u64(w->f->im, right + 24, top);
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 8, &nr), -EBADMSG);
	assert_int_equal(nr, 4);
	image_u64(w->f->im, right + 24, right);
	image_u64(w->f->im, right + 40, right);
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 8, &nr), -EBADMSG);
}

static void test_fixations_damage(void **state)
{
	struct etsfix *w = *state;
	struct ets_table t = {.addr = etsfix_make(w, "one", SET, 0, 0)};
	int32_t root = etsfix_layout(w)->ets_fixing_procs;
	struct ets_fixation found[200];
	raddr last = fixation(w, OWNER, 1);
	size_t nr;

	etsfix_u64(w, t.addr, root, fixation(w, SMALL(1), 1));
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 200, &nr), -EBADMSG);
	etsfix_u64(w, t.addr, root, 0x1000);
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 200, &nr), -EFAULT);
	etsfix_u64(w, t.addr, root, 0x1001);
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 200, &nr), -EBADMSG);
	assert_int_equal(nr, 0);
	/* One that leans further than any balanced tree. */
	etsfix_u64(w, t.addr, root, last);
	for (int i = 0; i < 150; i++) {
		raddr next = fixation(w, OWNER, 1);

		link_fixation(w, last, false, next);
		link_fixation(w, last, true, fixation(w, OWNER, 1));
		last = next;
	}
	assert_int_equal(ets_fixations(&w->f->node, &t, found, 200, &nr), -EBADMSG);
	assert_in_range(nr, 90, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETSFIX_TEST(test_hash, 25),	   ETSFIX_TEST(test_hash, 27),
		ETSFIX_TEST(test_hash, 29),	   ETSFIX_TEST(test_hash_damage, 25),
		ETSFIX_TEST(test_hash_damage, 29), ETSFIX_TEST(test_memory, 25),
		ETSFIX_TEST(test_memory, 29),	   ETSFIX_TEST(test_tree, 27),
		ETSFIX_TEST(test_catree, 27),	   ETSFIX_TEST(test_compressed, 27),
		ETSFIX_TEST(test_large, 27),	   ETSFIX_TEST(test_fixations, 25),
		ETSFIX_TEST(test_fixations, 29),   ETSFIX_TEST(test_fixations_damage, 27),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
