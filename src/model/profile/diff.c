/* SPDX-License-Identifier: BSD-2-Clause */
/* See diff.h.  Both snapshots become call trees, which are merged into one tree whose nodes are
 * identified by function key (diff_match.h) instead of frame; that tree is then brought into
 * depth-first order with children sorted by name.  All state is local to diff_open(). */
#include "model/profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "model/profile/calltree.h"
#include "model/profile/diff_match.h"

/* A node of the merged tree; parents before children. */
struct merged {
	uint32_t key, parent;
	uint32_t first_child, next_sibling; /* set by order_children() */
	uint64_t self[NR_DIFF_SIDES], total[NR_DIFF_SIDES];
};

struct edge_id {
	uint32_t parent, key;
};

struct merger {
	const struct snapshot *side[NR_DIFF_SIDES];
	struct diff_match match;
	VEC(struct merged) nodes;
	struct idmap edges; /* parent and key -> node */
};

static uint32_t add_node(struct merger *m, uint32_t parent, uint32_t key)
{
	struct merged n = {.key = key,
			   .parent = parent,
			   .first_child = SNAPSHOT_NONE,
			   .next_sibling = SNAPSHOT_NONE};

	vec_push(&m->nodes, n);
	return (uint32_t)m->nodes.len - 1;
}

static bool edge_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct merger *m = ctx;
	const struct edge_id *want = key;

	return m->nodes.data[id].parent == want->parent && m->nodes.data[id].key == want->key;
}

static uint32_t child_of(struct merger *m, uint32_t parent, uint32_t key)
{
	struct edge_id id = {.parent = parent, .key = key};
	uint32_t hash = hash_mix(1, (uint64_t)parent << 32 | key);
	uint32_t node = idmap_find(&m->edges, hash, edge_equal, m, &id);

	if (node == IDMAP_NONE) {
		node = add_node(m, parent, key);
		idmap_add(&m->edges, hash, node);
	}
	return node;
}

static void merge_tree(struct merger *m, const struct calltree *t, int side)
{
	uint32_t *map = xmalloc(t->nr_nodes * sizeof(*map));

	map[0] = 0;
	for (uint32_t i = 0; i < t->nr_nodes; i++) {
		const struct calltree_node *n = &t->nodes[i];

		if (i)
			map[i] = child_of(m, map[n->parent], m->match.key_of[side][n->frame]);
		m->nodes.data[map[i]].self[side] += n->self;
		m->nodes.data[map[i]].total[side] += n->self;
	}
	free(map);
}

static void sum_totals(struct merger *m)
{
	for (size_t i = m->nodes.len; i-- > 1;) {
		const struct merged *n = &m->nodes.data[i];

		for (int side = 0; side < NR_DIFF_SIDES; side++)
			m->nodes.data[n->parent].total[side] += n->total[side];
	}
}

static int compare_keys(const struct diff_match *match, uint32_t a, uint32_t b)
{
	int c = strcmp(match->keys[a].name, match->keys[b].name);

	if (c)
		return c;
	if (match->keys[a].kind != match->keys[b].kind)
		return match->keys[a].kind < match->keys[b].kind ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	const struct merger *m = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = compare_keys(&m->match, m->nodes.data[a].key, m->nodes.data[b].key);

	return c ? c : (a < b ? -1 : a > b);
}

/* Adds the nodes, last name first, to the front of their parents' lists of children. */
static void order_children(struct merger *m)
{
	size_t nr = m->nodes.len;
	uint32_t *order = xmalloc(nr * sizeof(*order));

	for (uint32_t i = 1; i < nr; i++)
		order[i - 1] = i;
	qsort_r(order, nr - 1, sizeof(*order), compare_nodes, m);
	for (size_t i = nr - 1; i-- > 0;) {
		struct merged *n = &m->nodes.data[order[i]];
		struct merged *up = &m->nodes.data[n->parent];

		n->next_sibling = up->first_child;
		up->first_child = order[i];
	}
	free(order);
}

static uint32_t emit_node(struct diff *d, const struct merger *m, uint32_t at, uint32_t parent)
{
	const struct merged *n = &m->nodes.data[at];
	struct diff_node *out = &d->nodes[d->nr_nodes];

	*out = (struct diff_node){
		.name = at ? m->match.keys[n->key].name : "",
		.kind = at ? m->match.keys[n->key].kind : FRAME_STATE,
		.parent = parent,
		.first_child = n->first_child == SNAPSHOT_NONE ? SNAPSHOT_NONE : d->nr_nodes + 1,
		.next_sibling = SNAPSHOT_NONE,
		.depth = at ? d->nodes[parent].depth + 1 : 0,
		.self_a = n->self[DIFF_A],
		.total_a = n->total[DIFF_A],
		.self_b = n->self[DIFF_B],
		.total_b = n->total[DIFF_B],
	};
	d->max_depth = MAX(d->max_depth, out->depth);
	return d->nr_nodes++;
}

/* Depth first, without recursion: stacks may be hundreds of frames deep. */
static void emit_tree(struct diff *d, const struct merger *m)
{
	uint32_t at = 0, out;

	d->nodes = xmalloc(m->nodes.len * sizeof(*d->nodes));
	out = emit_node(d, m, 0, SNAPSHOT_NONE);
	for (;;) {
		uint32_t next = m->nodes.data[at].first_child;

		if (next != SNAPSHOT_NONE) {
			out = emit_node(d, m, next, out);
			at = next;
			continue;
		}
		while (at && m->nodes.data[at].next_sibling == SNAPSHOT_NONE) {
			at = m->nodes.data[at].parent;
			out = d->nodes[out].parent;
		}
		if (!at)
			return;
		at = m->nodes.data[at].next_sibling;
		d->nodes[out].next_sibling = d->nr_nodes;
		out = emit_node(d, m, at, d->nodes[out].parent);
	}
}

static void count_side(struct diff_function *fns, uint32_t *seen, const struct merger *m, int side)
{
	const struct snapshot *s = m->side[side];
	uint32_t head = calltree_head_frames(s);

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *st = &s->stacks[i];

		for (uint32_t j = head; j < st->nr_frames; j++) {
			uint32_t frame = s->stack_frames[st->first_frame + j];
			uint32_t key = m->match.key_of[side][frame];
			struct diff_function *f = &fns[key];

			if (seen[key] != i + 1)
				*(side == DIFF_A ? &f->total_a : &f->total_b) += st->count;
			if (j == st->nr_frames - 1)
				*(side == DIFF_A ? &f->self_a : &f->self_b) += st->count;
			seen[key] = i + 1;
		}
	}
}

static double share_delta(const struct merger *m, uint64_t a, uint64_t b)
{
	return 100.0 * ((double)b / (double)m->side[DIFF_B]->samples -
			(double)a / (double)m->side[DIFF_A]->samples);
}

static int compare_functions(const void *pa, const void *pb)
{
	const struct diff_function *a = pa, *b = pb;
	double da = fabs(a->delta_self), db = fabs(b->delta_self);
	int c;

	if (da != db)
		return da > db ? -1 : 1;
	c = strcmp(a->name, b->name);
	return c ? c : (a->kind < b->kind ? -1 : a->kind > b->kind);
}

static void list_functions(struct diff *d, const struct merger *m)
{
	uint32_t nr_keys = m->match.nr_keys, nr = 0;
	struct diff_function *fns = xcalloc(nr_keys, sizeof(*fns));

	for (int side = 0; side < NR_DIFF_SIDES; side++) {
		uint32_t *seen = xcalloc(nr_keys, sizeof(*seen));

		count_side(fns, seen, m, side);
		free(seen);
	}
	for (uint32_t i = 0; i < nr_keys; i++) {
		struct diff_function f = fns[i];

		if (!f.total_a && !f.total_b)
			continue;
		f.name = m->match.keys[i].name;
		f.kind = m->match.keys[i].kind;
		f.delta_self = share_delta(m, f.self_a, f.self_b);
		f.delta_total = share_delta(m, f.total_a, f.total_b);
		fns[nr++] = f;
	}
	qsort(fns, nr, sizeof(*fns), compare_functions);
	d->functions = fns;
	d->nr_functions = nr;
}

/* -EINVAL for different groupings, with which equal frames are at different depths. */
static int check_comparable(const struct snapshot *a, const struct snapshot *b, struct error *err)
{
	if (!a->samples || !b->samples)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "the %s recording holds no samples: nothing to compare",
				 a->samples ? "second" : "first");
	if (a->options.by != b->options.by || a->options.kind_root != b->options.kind_root)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "the two recordings are grouped differently (by %s, by %s)",
				 snapshot_by_name(a->options.by), snapshot_by_name(b->options.by));
	return 0;
}

int diff_open(struct diff **out, const struct snapshot *a, const struct snapshot *b,
	      struct error *err)
{
	struct merger m = {.side = {a, b}};
	struct calltree *trees[NR_DIFF_SIDES];
	struct diff *d;
	int rc = check_comparable(a, b, err);

	if (rc)
		return rc;
	diff_match_init(&m.match, a, b);
	trees[DIFF_A] = calltree_open(a);
	trees[DIFF_B] = calltree_open(b);
	add_node(&m, SNAPSHOT_NONE, SNAPSHOT_NONE);
	for (int side = 0; side < NR_DIFF_SIDES; side++) {
		merge_tree(&m, trees[side], side);
		calltree_close(trees[side]);
	}
	idmap_free(&m.edges);
	sum_totals(&m);
	order_children(&m);
	d = xcalloc(1, sizeof(*d));
	d->a = a;
	d->b = b;
	emit_tree(d, &m);
	list_functions(d, &m);
	vec_free(&m.nodes);
	diff_match_free(&m.match);
	*out = d;
	return 0;
}

void diff_close(struct diff *d)
{
	if (!d)
		return;
	free(d->nodes);
	free(d->functions);
	free(d);
}
