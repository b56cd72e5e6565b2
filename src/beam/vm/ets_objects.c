/* SPDX-License-Identifier: BSD-2-Clause */
/* See ets_objects.h. */
#include "beam/vm/ets_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"

/* DbTerm {first_oh, size in words, tpl[]}, erl_db_util.h. */
#define DBTERM_FIRST 0
#define DBTERM_SIZE  8
#define DBTERM_TPL   16

/* HashDbTerm {next, hash, DbTerm}, erl_db_hash.h; hash: {Uint32 hvalue, Uint32 pseudo_deleted} up
 * to OTP 28, {hvalue : 63, pseudo_deleted : 1} in OTP 29. */
#define HASH_NEXT   0
#define HASH_VALUE  8
#define HASH_DBTERM 16
/* The first segment of a table has 256 buckets, others 2,048; the second does not use its first
 * 256. */
#define FIRST_SEGMENT 256
#define SEGMENT	      2048

/* TreeDbTerm {left, right, int balance, DbTerm}, erl_db_tree.h: an AVL tree. */
#define TREE_LEFT      0
#define TREE_RIGHT     8
#define TREE_DBTERM    24
#define MAX_TREE_DEPTH 96 /* enough for 2^64 objects */

/* DbTableCATreeNode {bool or int is_base_node, union {route, base}}, erl_db_catree.h; base: {rwmtx
 * of 80 bytes, statistics, is_valid, root}; route: {later op of 32 bytes, mutex of 40, is_valid,
 * left, right}. */
#define CATREE_IS_BASE	 0
#define CATREE_BASE_ROOT 104
#define CATREE_LEFT	 88
#define CATREE_RIGHT	 96
#define CATREE_NODE_SIZE 112
#define MAX_CATREE_DEPTH 4096
#define MAX_CATREE_NODES (1u << 20)

/* Bucket pointers that are read at once. */
#define BUCKETS 256
/* Limit of nodes in a chain; chains are short, as there are as many buckets as objects. */
#define MAX_CHAIN 100000
/* Limit of nodes read for each requested object: deleted objects stay in a table while it is
 * fixed. */
#define MAX_NODES_EACH 10000
/* Limits of words copied of one object, and of all objects.  Tuples are always copied as a whole;
 * other data beyond the limits is read later from the table's memory. */
#define MAX_WORDS     (1u << 20)
#define ALL_MAX_WORDS (1u << 25)
/* Once ALL_MAX_WORDS are copied, tuples with this number of elements or more are left out. */
#define WIDE_ARITY 1024

struct walk {
	struct beam_node *n;
	const struct ets_table *t;
	struct ets_objects *out;
	size_t max;
	uint64_t nodes_left;
	uint64_t words_left; /* of ALL_MAX_WORDS */
	/* ets_off_heap_walk(): objects are visited instead of being kept. */
	void (*visit)(void *arg, raddr first, const uint64_t *words, size_t nr);
	void *arg;
	uint64_t *words;
	/* ets_memory_walk(): the same. */
	void (*visit_at)(void *arg, raddr at);
};

static void visit_memory(struct walk *w, raddr at)
{
	if (w->visit_at)
		w->visit_at(w->arg, at);
}

static bool is_done(const struct walk *w)
{
	return w->out->v.len >= w->max || w->nodes_left == 0;
}

static int torn(struct walk *w, int rc)
{
	if (rc == -ESRCH)
		return rc;
	w->out->torn++;
	return 0;
}

/* The size in bytes of a compressed object is stored behind its elements (copy_to_comp(),
 * erl_db_util.c); DbTerm.size is that of the uncompressed object. */
static int compressed_words(struct walk *w, raddr tpl, uint32_t arity, uint64_t *words)
{
	uint64_t bytes;
	int rc = mem_read_u64(w->n->mem, tpl + 8 * (arity + 1ull), &bytes);

	*words = bytes / 8;
	if (rc)
		return rc;
	/* The stored size includes the data before the tuple. */
	bytes -= MIN(bytes,
		     DBTERM_TPL + (w->t->store == ETS_STORE_HASH ? HASH_DBTERM : TREE_DBTERM));
	*words = bytes / 8;
	return *words < arity + 2ull ? -EBADMSG : 0;
}

/* Words to copy of an object with `words` words; at least its tuple. */
static uint32_t words_to_copy(struct walk *w, uint32_t arity, uint64_t words)
{
	uint64_t nr = MAX(MIN(MIN(words, MAX_WORDS), w->words_left), arity + 1ull);

	w->words_left -= MIN(w->words_left, nr);
	return (uint32_t)nr;
}

/* `bytes` as below. */
static int visit_object(struct walk *w, raddr dbterm, const uint8_t *bytes)
{
	raddr first = bytes_u64(bytes, DBTERM_FIRST);
	uint64_t nr = bytes_u64(bytes, DBTERM_SIZE);
	int rc = 0;

	if (!first)
		return 0;
	if (w->t->compressed || nr > MAX_WORDS)
		nr = 0;
	else
		rc = mem_read(w->n->mem, dbterm + DBTERM_TPL, w->words, 8 * (size_t)nr);
	if (!rc)
		w->visit(w->arg, first, nr ? w->words : NULL, (size_t)nr);
	return rc;
}

/* Copies an object; `bytes` has the first words of its DbTerm. */
static int add_object(struct walk *w, raddr dbterm, const uint8_t *bytes)
{
	uint64_t words = bytes_u64(bytes, DBTERM_SIZE), header = bytes_u64(bytes, DBTERM_TPL);
	struct ets_object o = {.addr = dbterm + DBTERM_TPL, .arity = (uint32_t)(header >> 6)};
	int rc = 0;

	/* The tuple must have the key. */
	if (!HEADER_IS_TUPLE(header) || HEADER_ARITY(header) < w->t->keypos ||
	    HEADER_ARITY(header) >= MAX_WORDS)
		return -EBADMSG;
	visit_memory(w, dbterm);
	if (w->visit_at)
		return 0;
	if (w->visit)
		return visit_object(w, dbterm, bytes);
	if (w->t->compressed)
		rc = compressed_words(w, o.addr, o.arity, &words);
	if (!rc && words < o.arity + 1ull)
		rc = -EBADMSG;
	if (rc)
		return rc;
	if (w->words_left == 0 && o.arity >= WIDE_ARITY)
		return -EBADMSG;
	o.nr_words = words_to_copy(w, o.arity, words);
	o.words = xmalloc(8 * (size_t)o.nr_words);
	rc = mem_read(w->n->mem, o.addr, o.words, 8 * (size_t)o.nr_words);
	if (!rc && o.words[0] != header)
		rc = -EAGAIN;
	if (rc) {
		free(o.words);
		return rc;
	}
	vec_push(&w->out->v, o);
	return 0;
}

/* ---- hash ------------------------------------------------------------------------------------ */

/* hash_to_ix(): objects of a bucket that was not split off yet are in the bucket to be split. */
static uint64_t bucket_of(const struct ets_table *t, uint64_t hash)
{
	uint64_t bucket = hash & t->bucket_mask;

	return bucket < t->nr_buckets ? bucket : bucket & (t->bucket_mask >> 1);
}

/* Can an object with this hash be in the bucket, also if the table grew or shrank meanwhile? */
static bool belongs(const struct ets_table *t, uint64_t hash, uint64_t bucket)
{
	uint64_t half = t->bucket_mask >> 1;

	return bucket_of(t, hash) == bucket || (hash & half) == (bucket & half);
}

/* Sets *hash; true if the object was deleted, and is only kept as the table is fixed. */
static bool split_hash(const struct walk *w, uint64_t word, uint64_t *hash)
{
	const struct beam_layout *l = &w->n->layout;
	/* Releases with 64-bit hashes have 64-bit fields here, which are 8 bytes apart. */
	bool wide = l->ets_hash_nslots - l->ets_hash_nlocks == 8;

	*hash = wide ? word & (UINT64_MAX >> 1) : (uint32_t)word;
	return wide ? word >> 63 : word >> 32;
}

static int walk_chain(struct walk *w, raddr node, uint64_t bucket)
{
	for (unsigned int i = 0; node && !is_done(w); i++) {
		uint8_t bytes[HASH_DBTERM + DBTERM_TPL + 8];
		uint64_t hash = 0;
		bool deleted = false;
		int rc = node & 7 || i > MAX_CHAIN
				 ? -EBADMSG
				 : mem_read(w->n->mem, node, bytes, sizeof(bytes));

		if (!rc)
			deleted = split_hash(w, bytes_u64(bytes, HASH_VALUE), &hash);
		if (!rc && !belongs(w->t, hash, bucket))
			rc = -EBADMSG;
		if (!rc && !deleted)
			rc = add_object(w, node + HASH_DBTERM, bytes + HASH_DBTERM);
		if (rc)
			return torn(w, rc);
		w->nodes_left--;
		node = bytes_u64(bytes, HASH_NEXT);
	}
	return 0;
}

/* Address of a bucket; *nr: number of buckets from it on that are adjacent in memory. */
static int find_bucket(struct walk *w, uint64_t bucket, raddr *addr, uint64_t *nr)
{
	uint64_t segment = (bucket + SEGMENT - FIRST_SEGMENT) / SEGMENT;
	uint64_t ix = bucket % SEGMENT;
	raddr base;
	int rc = mem_read_u64(w->n->mem, w->t->root + 8 * segment, &base);

	*addr = base + 8 * ix;
	/* The second segment has buckets 256 to 2,047 behind 256 unused ones. */
	*nr = segment == 0 ? FIRST_SEGMENT - ix
			   : (ix < FIRST_SEGMENT ? FIRST_SEGMENT - ix : SEGMENT - ix);
	return rc ? rc : (base ? 0 : -EBADMSG);
}

static int walk_hash(struct walk *w)
{
	for (uint64_t bucket = 0; bucket < w->t->nr_buckets && !is_done(w);) {
		uint64_t nr, heads[BUCKETS];
		raddr addr;
		int rc = find_bucket(w, bucket, &addr, &nr);

		nr = MIN(nr, MIN(w->t->nr_buckets - bucket, BUCKETS));
		if (!rc)
			rc = mem_read(w->n->mem, addr, heads, 8 * nr);
		if (rc)
			return torn(w, rc);
		visit_memory(w, addr);
		for (uint64_t i = 0; i < nr && !is_done(w) && !rc; i++)
			rc = walk_chain(w, heads[i], bucket + i);
		if (rc)
			return rc;
		bucket += nr;
	}
	return 0;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Walks in the order of keys: the left subtree, the node, the right subtree. */
static int walk_tree(struct walk *w, raddr node)
{
	struct {
		raddr addr;
		uint8_t bytes[TREE_DBTERM + DBTERM_TPL + 8];
	} stack[MAX_TREE_DEPTH];
	unsigned int depth = 0;

	while ((node || depth) && !is_done(w)) {
		int rc = 0;

		if (node) {
			if (node & 7 || depth == MAX_TREE_DEPTH)
				rc = -EBADMSG;
			else
				rc = mem_read(w->n->mem, node, stack[depth].bytes,
					      sizeof(stack[depth].bytes));
			if (rc) {
				rc = torn(w, rc);
				node = 0;
			} else {
				w->nodes_left--;
				stack[depth].addr = node;
				node = bytes_u64(stack[depth++].bytes, TREE_LEFT);
			}
		} else {
			depth--;
			rc = add_object(w, stack[depth].addr + TREE_DBTERM,
					stack[depth].bytes + TREE_DBTERM);
			rc = rc ? torn(w, rc) : 0;
			node = bytes_u64(stack[depth].bytes, TREE_RIGHT);
		}
		if (rc)
			return rc;
	}
	return 0;
}

/* A tree of trees: route nodes, and below them base nodes, each with a tree. */
static int walk_catree(struct walk *w)
{
	VEC(raddr) stack = {0};
	int rc = 0;

	vec_push(&stack, w->t->root);
	for (unsigned int nr = 0; stack.len && !rc && !is_done(w); nr++) {
		raddr node = stack.data[--stack.len];
		uint8_t bytes[CATREE_NODE_SIZE];

		rc = node & 7 || nr > MAX_CATREE_NODES || stack.len > MAX_CATREE_DEPTH
			     ? -EBADMSG
			     : mem_read(w->n->mem, node, bytes, sizeof(bytes));
		if (rc) {
			rc = torn(w, rc);
			continue;
		}
		visit_memory(w, node);
		if (bytes[CATREE_IS_BASE]) {
			rc = walk_tree(w, bytes_u64(bytes, CATREE_BASE_ROOT));
		} else {
			vec_push(&stack, bytes_u64(bytes, CATREE_RIGHT));
			vec_push(&stack, bytes_u64(bytes, CATREE_LEFT));
		}
	}
	vec_free(&stack);
	return rc;
}

static int walk_table(struct walk *w)
{
	if (w->t->store == ETS_STORE_HASH)
		return walk_hash(w);
	return w->t->store == ETS_STORE_TREE ? walk_tree(w, w->t->root) : walk_catree(w);
}

int ets_objects_read(struct beam_node *n, const struct ets_table *t, size_t max,
		     struct ets_objects *out)
{
	struct walk w = {.n = n,
			 .t = t,
			 .out = out,
			 .max = max,
			 .nodes_left = MIN(max, UINT32_MAX) * MAX_NODES_EACH,
			 .words_left = ALL_MAX_WORDS};

	memset(out, 0, sizeof(*out));
	return walk_table(&w);
}

int ets_off_heap_walk(struct beam_node *n, const struct ets_table *t,
		      void (*visit)(void *arg, raddr first, const uint64_t *words, size_t nr),
		      void *arg, uint64_t *torn)
{
	struct ets_objects none = {0};
	struct walk w = {.n = n,
			 .t = t,
			 .out = &none,
			 .max = 1, /* of `none`, which stays empty */
			 .nodes_left = UINT32_MAX,
			 .visit = visit,
			 .arg = arg,
			 .words = xmalloc(8 * (size_t)MAX_WORDS)};
	int rc = walk_table(&w);

	*torn += none.torn;
	free(w.words);
	return rc;
}

/* What a table with write_concurrency has beside its objects: locks of its buckets, and counters of
 * each scheduler. */
static void visit_concurrency(struct beam_node *n, const struct ets_table *t,
			      void (*visit)(void *arg, raddr at), void *arg)
{
	raddr locks;

	if (t->decentralized)
		visit(arg, t->counters);
	if (t->store == ETS_STORE_HASH && n->layout.ets_hash_locks != LAYOUT_ABSENT &&
	    mem_read_u64(n->mem, t->addr + (raddr)n->layout.ets_hash_locks, &locks) == 0 && locks)
		visit(arg, locks);
}

int ets_memory_walk(struct beam_node *n, const struct ets_table *t, size_t max,
		    void (*visit)(void *arg, raddr at), void *arg, uint64_t *torn, bool *cut)
{
	struct ets_objects none = {0};
	struct walk w = {.n = n,
			 .t = t,
			 .out = &none,
			 .max = 1, /* of `none`, which stays empty */
			 .nodes_left = max,
			 .visit_at = visit,
			 .arg = arg};
	int rc;

	visit(arg, t->addr);
	visit(arg, t->root);
	visit_concurrency(n, t, visit, arg);
	rc = walk_table(&w);
	*torn += none.torn;
	*cut |= w.nodes_left == 0;
	return rc;
}

void ets_objects_free(struct ets_objects *o)
{
	for (size_t i = 0; i < o->v.len; i++)
		free(o->v.data[i].words);
	vec_free(&o->v);
}
