/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See calltree.h.  Stacks are sorted by the ranks of their frames' names, so that stacks with the
 * same beginning are adjacent: then one pass builds the tree without look-ups, as it keeps the path
 * of the last stack.  The stacks of a snapshot are nearly in this order, but not those with
 * different frames of equal name, and not if their first frames are skipped.
 */
#include "model/profile/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"

/* Context for comparing two stacks by qsort_r(). */
struct order {
	const struct snapshot *s;
	const uint32_t *rank; /* of each frame */
	uint32_t skip;
};

/* The tree under construction; last[d] = newest node of depth d. */
struct builder {
	const struct snapshot *s;
	VEC(struct calltree_node) nodes;
	uint32_t *last;
	uint32_t max_depth;
};

uint32_t calltree_head_frames(const struct snapshot *s)
{
	return (s->options.kind_root ? 1u : 0u) + (s->options.by != SNAPSHOT_BY_NONE ? 1u : 0u);
}

static int compare_frames(const void *pa, const void *pb, void *arg)
{
	const struct snapshot *s = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = strcmp(s->frames[a].name, s->frames[b].name);

	if (c)
		return c;
	if (s->frames[a].kind != s->frames[b].kind)
		return s->frames[a].kind < s->frames[b].kind ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int compare_stacks(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct snap_stack *a = &o->s->stacks[ia], *b = &o->s->stacks[ib];
	uint32_t len_a = MAX(a->nr_frames, o->skip), len_b = MAX(b->nr_frames, o->skip);

	for (uint32_t i = o->skip; i < MIN(len_a, len_b); i++) {
		uint32_t fa = o->s->stack_frames[a->first_frame + i];
		uint32_t fb = o->s->stack_frames[b->first_frame + i];

		if (fa != fb)
			return o->rank[fa] < o->rank[fb] ? -1 : 1;
	}
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

/* Indices of the stacks in the order in which the tree is built; malloc'ed. */
static uint32_t *sort_stacks(const struct snapshot *s, uint32_t skip)
{
	uint32_t *by_name = xmalloc(s->nr_frames * sizeof(*by_name));
	uint32_t *rank = xmalloc(s->nr_frames * sizeof(*rank));
	uint32_t *stacks = xmalloc(s->nr_stacks * sizeof(*stacks));
	struct order o = {.s = s, .rank = rank, .skip = skip};

	for (uint32_t i = 0; i < s->nr_frames; i++)
		by_name[i] = i;
	qsort_r(by_name, s->nr_frames, sizeof(*by_name), compare_frames, (void *)s);
	for (uint32_t i = 0; i < s->nr_frames; i++)
		rank[by_name[i]] = i;
	for (uint32_t i = 0; i < s->nr_stacks; i++)
		stacks[i] = i;
	qsort_r(stacks, s->nr_stacks, sizeof(*stacks), compare_stacks, &o);
	free(by_name);
	free(rank);
	return stacks;
}

static uint32_t add_node(struct builder *b, uint32_t parent, uint32_t frame, uint32_t depth)
{
	struct calltree_node node = {.frame = frame,
				     .parent = parent,
				     .first_child = SNAPSHOT_NONE,
				     .next_sibling = SNAPSHOT_NONE,
				     .depth = depth};
	uint32_t id = (uint32_t)b->nodes.len, older = b->last[depth];

	if (parent != SNAPSHOT_NONE) {
		if (b->nodes.data[parent].first_child == SNAPSHOT_NONE)
			b->nodes.data[parent].first_child = id;
		else
			b->nodes.data[older].next_sibling = id;
	}
	b->last[depth] = id;
	b->max_depth = MAX(b->max_depth, depth);
	vec_push(&b->nodes, node);
	return id;
}

/* Adds the path of a stack from the root on; returns its last node. */
static uint32_t add_stack(struct builder *b, const struct snap_stack *st, uint32_t skip)
{
	uint32_t at = 0;

	for (uint32_t i = skip; i < st->nr_frames; i++) {
		uint32_t frame = b->s->stack_frames[st->first_frame + i];
		uint32_t depth = i - skip + 1, next = b->last[depth];

		if (next == SNAPSHOT_NONE || b->nodes.data[next].parent != at ||
		    b->nodes.data[next].frame != frame)
			next = add_node(b, at, frame, depth);
		at = next;
	}
	return at;
}

/* Children come after their parents, so one backward pass adds up all totals. */
static void sum_totals(struct calltree *t)
{
	for (uint32_t i = t->nr_nodes; i-- > 0;) {
		struct calltree_node *n = &t->nodes[i], *up;

		n->total += n->self;
		if (n->parent == SNAPSHOT_NONE)
			continue;
		up = &t->nodes[n->parent];
		up->total += n->total;
		for (int k = 0; k < NR_SAMPLE_KINDS; k++)
			up->by_kind[k] += n->by_kind[k];
	}
}

struct calltree *calltree_open_below(const struct snapshot *s, uint32_t skip)
{
	struct calltree *t = xcalloc(1, sizeof(*t));
	struct builder b = {.s = s};
	uint32_t *order = sort_stacks(s, skip), longest = 0;

	for (uint32_t i = 0; i < s->nr_stacks; i++)
		longest = MAX(longest, s->stacks[i].nr_frames);
	b.last = xmalloc(((size_t)longest + 1) * sizeof(*b.last));
	for (uint32_t i = 0; i <= longest; i++)
		b.last[i] = SNAPSHOT_NONE;
	add_node(&b, SNAPSHOT_NONE, SNAPSHOT_NONE, 0);
	t->stack_nodes = xmalloc(s->nr_stacks * sizeof(*t->stack_nodes));
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *st = &s->stacks[order[i]];
		uint32_t node = add_stack(&b, st, skip);

		t->stack_nodes[order[i]] = node;
		b.nodes.data[node].self += st->count;
		b.nodes.data[node].by_kind[st->kind] += st->count;
	}
	free(b.last);
	free(order);
	t->snapshot = s;
	t->nodes = b.nodes.data;
	t->nr_nodes = (uint32_t)b.nodes.len;
	t->max_depth = b.max_depth;
	sum_totals(t);
	return t;
}

struct calltree *calltree_open(const struct snapshot *s)
{
	return calltree_open_below(s, 0);
}

void calltree_close(struct calltree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->stack_nodes);
	free(t);
}
