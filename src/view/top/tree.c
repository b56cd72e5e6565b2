/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See tree.h.  A node that is the only child of its parent is not indented further: Erlang stacks
 * are deep, and only branches matter.
 */
#include "view/top/tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/keytab.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/profile/calltree.h"
#include "view/top/top_keys.h"

#define WHEEL_ROWS    3
#define HEAVY_PERCENT 10u	 /* nodes with this part of all samples are unfolded at first */
#define MAX_CHOSEN    (1u << 20) /* limit of nodes that the user has folded or unfolded */
#define FIGURES	      16u	 /* columns of "TOTAL  SELF" */

/* A node that the user has folded or unfolded; path: hash of the names from the root to it. */
struct chosen {
	uint64_t path;
	bool unfolded;
};

struct tree_row {
	uint32_t node;
	uint16_t indent; /* levels */
	bool leaf, unfolded;
};

struct tree {
	const struct snapshot *snapshot;
	struct calltree *calls; /* NULL = no snapshot yet */
	uint64_t *paths;	/* hash of the path of each node, never 0 */
	struct keytab chosen;
	VEC(struct tree_row) rows; /* nodes not below a folded one, in the order of the screen */
	bool listed;		   /* `rows` was made from the current snapshot and `chosen` */
	size_t top, at;		   /* first row on the screen, selected row */
	uint64_t selected;	   /* path of the selected node; 0 = the first row */
	unsigned screen_row, height, width;
};

int tree_open(struct tree **out)
{
	struct tree *t = xcalloc(1, sizeof(*t));

	t->chosen = (struct keytab)KEYTAB_INIT(struct chosen);
	t->height = 24; /* tree_draw() sets the true size */
	*out = t;
	return 0;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	calltree_close(t->calls);
	free(t->paths);
	keytab_free(&t->chosen);
	vec_free(&t->rows);
	free(t);
}

static uint64_t path_below(uint64_t above, const struct snap_frame *f)
{
	uint64_t path = hash64_add(above ^ HASH64_BEGIN, f->name, strlen(f->name));
	uint8_t kind = (uint8_t)f->kind;

	path = hash64_add(path, &kind, sizeof(kind));
	return path ? path : 1;
}

void tree_set(struct tree *t, const struct snapshot *s)
{
	calltree_close(t->calls);
	t->calls = NULL;
	t->snapshot = s;
	t->calls = calltree_open(s);
	t->paths = xrealloc(t->paths, t->calls->nr_nodes * sizeof(*t->paths));
	for (uint32_t i = 0; i < t->calls->nr_nodes; i++) {
		const struct calltree_node *n = &t->calls->nodes[i];

		/* Parents are before their children in nodes[]. */
		t->paths[i] = n->parent == SNAPSHOT_NONE
				      ? 1
				      : path_below(t->paths[n->parent], &s->frames[n->frame]);
	}
	t->listed = false;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static const struct calltree_node *node_at(const struct tree *t, uint32_t node)
{
	return &t->calls->nodes[node];
}

static bool is_only_child(const struct tree *t, uint32_t node)
{
	uint32_t parent = node_at(t, node)->parent;

	return parent != SNAPSHOT_NONE && node_at(t, parent)->first_child == node &&
	       node_at(t, node)->next_sibling == SNAPSHOT_NONE;
}

static bool is_unfolded(const struct tree *t, uint32_t node)
{
	const struct chosen *c = keytab_find(&t->chosen, t->paths[node]);

	if (c)
		return c->unfolded;
	return is_only_child(t, node) ||
	       node_at(t, node)->total * 100 >= node_at(t, 0)->total * HEAVY_PERCENT;
}

static void choose(struct tree *t, uint32_t node, bool unfolded)
{
	struct chosen *c = keytab_find(&t->chosen, t->paths[node]);

	if (!c && t->chosen.nr >= MAX_CHOSEN)
		return;
	if (!c)
		c = keytab_add(&t->chosen, t->paths[node]);
	c->unfolded = unfolded;
	t->listed = false;
}

static int heaviest_first(const void *pa, const void *pb, void *arg)
{
	const struct tree *t = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t x = node_at(t, a)->total, y = node_at(t, b)->total;

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b; /* by name */
}

/* A stack of nodes whose rows are still to be made. */
struct waiting {
	uint32_t node;
	uint16_t indent;
};
struct waiting_list {
	struct waiting *data;
	size_t len, cap;
};

static void add_children(const struct tree *t, uint32_t node, uint16_t indent,
			 struct waiting_list *list)
{
	VEC(uint32_t) children = {0};
	uint32_t child = node_at(t, node)->first_child;

	for (; child != SNAPSHOT_NONE; child = node_at(t, child)->next_sibling)
		vec_push(&children, child);
	if (children.len)
		qsort_r(children.data, children.len, sizeof(*children.data), heaviest_first,
			(void *)(uintptr_t)t);
	if (children.len > 1 && node && indent < UINT16_MAX)
		indent++;
	for (size_t i = children.len; i-- > 0;) {
		struct waiting next = {children.data[i], indent};

		vec_push(list, next);
	}
	vec_free(&children);
}

static void keep_in_sight(struct tree *t)
{
	size_t height = t->height > 1 ? t->height - 1 : 1, nr = t->rows.len;

	t->at = nr ? MIN(t->at, nr - 1) : 0;
	t->top = MIN(t->top, nr > height ? nr - height : 0);
	if (t->at < t->top)
		t->top = t->at;
	if (t->at >= t->top + height)
		t->top = t->at - height + 1;
}

static void list_rows(struct tree *t)
{
	struct waiting_list list = {0};
	size_t from_top = t->at - t->top;

	if (t->listed || !t->calls)
		return;
	t->rows.len = 0;
	add_children(t, 0, 0, &list);
	while (list.len) {
		struct waiting w = list.data[--list.len];
		struct tree_row row = {.node = w.node, .indent = w.indent};

		row.leaf = node_at(t, w.node)->first_child == SNAPSHOT_NONE;
		row.unfolded = !row.leaf && is_unfolded(t, w.node);
		if (t->selected && t->paths[w.node] == t->selected) {
			t->at = t->rows.len;
			t->top = t->at - MIN(t->at, from_top);
		}
		vec_push(&t->rows, row);
		if (row.unfolded)
			add_children(t, w.node, w.indent, &list);
	}
	vec_free(&list);
	t->listed = true;
	keep_in_sight(t);
}

/* ---- drawing ------------------------------------------------------------------------------ */

static enum screen_style style_of(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_ERLANG:
		return SCREEN_PLAIN;
	case FRAME_BIF:
		return SCREEN_BIF;
	case FRAME_NIF:
		return SCREEN_NIF;
	default:
		return SCREEN_DIM;
	}
}

static double percent(const struct tree *t, uint64_t part)
{
	uint64_t all = node_at(t, 0)->total;

	return all ? 100.0 * (double)part / (double)all : 0;
}

static void draw_node(const struct tree *t, struct screen *s, unsigned row, unsigned column,
		      const struct tree_row *r)
{
	const struct calltree_node *n = node_at(t, r->node);
	const struct snap_frame *f = &t->snapshot->frames[n->frame];
	unsigned name, room = t->width - MIN(t->width, FIGURES), deepest = room / 2;
	const char *mark = r->leaf ? " " : r->unfolded ? "\xe2\x96\xbe" : "\xe2\x96\xb8";

	screen_textf(s, row, column, t->width, SCREEN_PLAIN, "%5.1f%%", percent(t, n->total));
	screen_textf(s, row, column + 8, t->width - MIN(t->width, 8),
		     n->self ? SCREEN_PLAIN : SCREEN_DIM, "%5.1f%%", percent(t, n->self));
	name = MIN(r->indent * 2u, deepest);
	screen_text(s, row, column + FIGURES + name, room - name, SCREEN_KEY, mark, strlen(mark));
	name = MIN(name + 2, room);
	screen_text(s, row, column + FIGURES + name, room - name, style_of(f->kind), f->name,
		    strlen(f->name));
}

void tree_draw(struct tree *t, struct screen *s, unsigned row, unsigned column, unsigned height,
	       unsigned width)
{
	static const char heading[] = " TOTAL    SELF    FUNCTION";

	t->screen_row = row;
	t->height = height;
	t->width = width;
	list_rows(t);
	keep_in_sight(t);
	for (unsigned i = 0; i < height; i++)
		screen_fill(s, row + i, column, width, i ? SCREEN_PLAIN : SCREEN_HEADING, ' ');
	screen_text(s, row, column, width, SCREEN_HEADING, heading, strlen(heading));
	if (height > 1 && !t->rows.len)
		screen_text(s, row + 1, column, width, SCREEN_DIM, "no samples", 10);
	for (unsigned i = 1; i < height && t->top + i - 1 < t->rows.len; i++) {
		draw_node(t, s, row + i, column, &t->rows.data[t->top + i - 1]);
		if (t->top + i - 1 == t->at)
			screen_restyle(s, row + i, column, width, SCREEN_SELECTED);
	}
}

void tree_describe(const struct tree *t, struct strbuf *out)
{
	char number[32];

	if (!t->calls)
		return;
	strbuf_addf(out, "%s of ",
		    units_format_count(t->rows.len ? t->at + 1 : 0, number, sizeof(number)));
	strbuf_addf(out, "%s (", units_format_count(t->rows.len, number, sizeof(number)));
	strbuf_addf(out, "%s samples)",
		    units_format_count(node_at(t, 0)->total, number, sizeof(number)));
}

/* ---- keys --------------------------------------------------------------------------------- */

static void select_row(struct tree *t, size_t at)
{
	t->at = at;
	keep_in_sight(t);
	if (t->rows.len)
		t->selected = t->paths[t->rows.data[t->at].node];
}

static void unfold(struct tree *t)
{
	const struct tree_row r = t->rows.data[t->at];

	if (r.unfolded)
		select_row(t, t->at + 1);
	else if (!r.leaf)
		choose(t, r.node, true);
}

static void fold(struct tree *t)
{
	const struct tree_row r = t->rows.data[t->at];
	uint32_t parent = node_at(t, r.node)->parent;

	if (r.unfolded) {
		choose(t, r.node, false);
		return;
	}
	for (size_t i = t->at; i-- > 0;) {
		if (t->rows.data[i].node != parent)
			continue;
		select_row(t, i);
		return;
	}
}

/* Unfolds the selected node and all nodes below it; folds them if all are unfolded already. */
static void unfold_all(struct tree *t)
{
	uint32_t node = t->rows.data[t->at].node, end = node + 1;
	bool unfolded = true;

	while (end < t->calls->nr_nodes && node_at(t, end)->depth > node_at(t, node)->depth)
		end++;
	for (uint32_t i = node; i < end; i++)
		unfolded &= node_at(t, i)->first_child == SNAPSHOT_NONE || is_unfolded(t, i);
	for (uint32_t i = node; i < end; i++)
		if (node_at(t, i)->first_child != SNAPSHOT_NONE)
			choose(t, i, !unfolded);
}

static enum tree_result click(struct tree *t, const struct terminal_key *key)
{
	size_t at = t->top + key->row - t->screen_row - 1;
	bool again;

	if (key->row < t->screen_row || key->row >= t->screen_row + t->height)
		return TREE_IGNORED;
	if (key->wheel) {
		select_row(t, key->wheel < 0 ? t->at - MIN(t->at, WHEEL_ROWS) : t->at + WHEEL_ROWS);
		return TREE_HANDLED;
	}
	if (key->button != 1 || key->row == t->screen_row || at >= t->rows.len)
		return TREE_IGNORED;
	again = at == t->at && t->selected;
	select_row(t, at);
	if (again && !t->rows.data[at].leaf)
		choose(t, t->rows.data[at].node, !t->rows.data[at].unfolded);
	return TREE_HANDLED;
}

static bool move(struct tree *t, enum top_action action)
{
	size_t page = t->height > 1 ? t->height - 1 : 1;

	switch (action) {
	case TOP_ACTION_UP:
		select_row(t, t->at - MIN(t->at, 1));
		break;
	case TOP_ACTION_DOWN:
		select_row(t, t->at + 1);
		break;
	case TOP_ACTION_PAGE_UP:
		t->top -= MIN(t->top, page);
		select_row(t, t->at - MIN(t->at, page));
		break;
	case TOP_ACTION_PAGE_DOWN:
		t->top += page;
		select_row(t, t->at + page);
		break;
	case TOP_ACTION_FIRST:
		select_row(t, 0);
		break;
	case TOP_ACTION_LAST:
		select_row(t, t->rows.len);
		break;
	default:
		return false;
	}
	return true;
}

enum tree_result tree_key(struct tree *t, const struct terminal_key *key)
{
	enum top_action action = top_action(TOP_IN_TREE, key);

	list_rows(t);
	if (action == TOP_ACTION_CLOSE)
		return TREE_CLOSE;
	if (action == TOP_ACTION_MOUSE)
		return click(t, key);
	if (!t->rows.len)
		return TREE_IGNORED;
	if (move(t, action))
		return TREE_HANDLED;
	t->selected = t->paths[t->rows.data[t->at].node];
	switch (action) {
	case TOP_ACTION_UNFOLD:
		unfold(t);
		break;
	case TOP_ACTION_FOLD:
		fold(t);
		break;
	case TOP_ACTION_TOGGLE:
		if (!t->rows.data[t->at].leaf)
			choose(t, t->rows.data[t->at].node, !t->rows.data[t->at].unfolded);
		break;
	case TOP_ACTION_UNFOLD_ALL:
		unfold_all(t);
		break;
	default:
		return TREE_IGNORED;
	}
	return TREE_HANDLED;
}
