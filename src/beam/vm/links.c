/* SPDX-License-Identifier: BSD-2-Clause */
/* See links.h. */
#include "beam/vm/links.h"

#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "beam/term/term_read.h"
#include "beam/vm/rbtree.h"

/* Limit of link_size and monitor_size, both the size of ErtsMonLnkNode. */
#define MAX_NODE_SIZE 64

/* ErtsILink: an ErtsLink, then u64 unlinking.  ErtsELink: two ErtsLinks, refc, ohhp, dist, then
 * u64 unlinking (erl_monitor_link.h, OTP 25 to 29). */
#define LINK_TYPE_DIST_PROC 12 /* ERTS_LNK_TYPE_DIST_PROC */
#define ELINK_UNLINKING	    24 /* behind the two links */

/* Behind the two ErtsMonitors of an ErtsMonitorData: ref, refc; extended: name, ohhp, dist;
 * suspend: next, state. */
#define DATA_REF	   0
#define DATA_NAME	   16
#define DATA_DIST	   32
#define DATA_SUSPEND_STATE 24
#define DATA_SIZE	   40
#define SUSPEND_ACTIVE	   (1ull << 63)

/*
 * ErtsMonLnkNode.flags and .type.  Up to OTP 27 two u16; 28 and 29 have one u32 with the type in
 * the low five bits, two bits of alias state, then the flags (ERTS_ML_F_BASE).
 */
#define PACKED_TYPE_MASK   0x1fu
#define PACKED_FLAGS_SHIFT 7
/* Alias state (ERTS_ML_STATE_ALIAS_MASK) in u16 and in u32 flags: 0 = no alias. */
#define ALIAS_SHIFT	   11
#define PACKED_ALIAS_SHIFT 5
#define ALIAS_MASK	   3u

struct node_layout {
	size_t size;
	int32_t parent, right, left, list_next, item, offset, flags, type;
};

struct tree_node {
	raddr addr;
	uint64_t item, next;
	uint32_t offset;
	struct link_kind kind;
};

struct node_walk {
	struct beam_node *n;
	struct node_layout l;
	VEC(struct tree_node) nodes; /* found so far */
	uint64_t unreadable;
	bool cut;
};

struct link_kind link_kind_of(const uint8_t *node, int32_t type_at, int32_t flags_at)
{
	struct link_kind k;
	uint32_t packed;

	if (type_at != LAYOUT_ABSENT) {
		k.type = bytes_u16(node, type_at);
		k.flags = bytes_u16(node, flags_at);
		k.alias = (k.flags >> ALIAS_SHIFT & ALIAS_MASK) != 0;
		return k;
	}
	packed = bytes_u32(node, flags_at);
	k.type = packed & PACKED_TYPE_MASK;
	k.flags = packed >> PACKED_FLAGS_SHIFT;
	k.alias = (packed >> PACKED_ALIAS_SHIFT & ALIAS_MASK) != 0;
	return k;
}

static void node_decode(const struct node_layout *l, const uint8_t *bytes, struct tree_node *t)
{
	t->item = bytes_u64(bytes, l->item);
	t->next = bytes_u64(bytes, l->list_next);
	t->offset = bytes_u16(bytes, l->offset);
	t->kind = link_kind_of(bytes, l->type, l->flags);
}

static void take_node(void *arg, raddr addr, const uint8_t *bytes)
{
	struct node_walk *w = arg;
	struct tree_node t = {.addr = addr};

	node_decode(&w->l, bytes, &t);
	vec_push(&w->nodes, t);
}

static void walk_tree(struct node_walk *w, raddr root)
{
	struct rbtree tree = {.mem = w->n->mem,
			      .size = w->l.size,
			      .parent = w->l.parent,
			      .left = w->l.left,
			      .right = w->l.right,
			      .flags = LINK_PARENT_FLAGS,
			      .max = LINKS_MAX,
			      .take = take_node,
			      .arg = w};

	rbtree_walk(&tree, root);
	w->unreadable += tree.unreadable;
	w->cut |= tree.cut;
}

/* Walks a doubly linked ring. */
static void walk_ring(struct node_walk *w, raddr first)
{
	uint8_t bytes[MAX_NODE_SIZE];
	struct tree_node t = {.addr = first};
	raddr prev = 0;

	while (t.addr) {
		if (w->nodes.len >= LINKS_MAX) {
			w->cut = true;
			return;
		}
		if (mem_read(w->n->mem, t.addr, bytes, w->l.size) != 0 ||
		    /* `prev` is behind `next` (ErtsMonLnkListNode) */
		    (prev && bytes_u64(bytes, w->l.list_next + 8) != prev)) {
			w->unreadable++;
			return;
		}
		node_decode(&w->l, bytes, &t);
		vec_push(&w->nodes, t);
		prev = t.addr;
		t.addr = t.next == first ? 0 : t.next;
	}
}

/* ---- links -------------------------------------------------------------------------------- */

void links_read(struct beam_node *n, raddr root, struct link_list *out)
{
	const struct beam_layout *l = &n->layout;
	struct node_walk w = {
		.n = n,
		.l = {(size_t)l->link_size, l->link_parent, l->link_right, l->link_left,
		      l->link_list_next, l->link_item, l->link_offset, l->link_flags, l->link_type},
	};

	memset(out, 0, sizeof(*out));
	if (w.l.size > MAX_NODE_SIZE)
		return;
	walk_tree(&w, root);
	for (size_t i = 0; i < w.nodes.len; i++) {
		const struct tree_node *t = &w.nodes.data[i];
		struct link_item item = {.item = t->item};
		raddr unlinking = t->addr + w.l.size;
		uint64_t id = 0;

		if (t->kind.type == LINK_TYPE_DIST_PROC)
			unlinking = t->addr - t->offset + 2 * w.l.size + ELINK_UNLINKING;
		if (mem_read_u64(n->mem, unlinking, &id) != 0)
			w.unreadable++;
		item.unlinking = id != 0;
		vec_push(&out->v, item);
	}
	out->unreadable = w.unreadable;
	out->cut = w.cut;
	vec_free(&w.nodes);
}

/* ---- monitors ----------------------------------------------------------------------------- */

/* Reads the fields behind the two ErtsMonitors of an ErtsMonitorData. */
static void read_monitor_data(struct node_walk *w, const struct tree_node *t,
			      struct monitor_item *m)
{
	bool more = m->type == MONITOR_SUSPEND ||
		    (t->kind.flags & (LINK_FLAG_NAME | LINK_FLAG_EXTENDED));
	raddr data = t->addr - t->offset + 2 * w->l.size;
	uint8_t bytes[DATA_SIZE] = {0};
	uint64_t state, dist;

	if (t->offset > w->l.size ||
	    mem_read(w->n->mem, data, bytes, more ? DATA_SIZE : DATA_NAME) != 0) {
		w->unreadable++;
		return;
	}
	m->ref = bytes_u64(bytes, DATA_REF);
	if (m->ref == TERM_NIL)
		m->ref = 0;
	if (m->type == MONITOR_SUSPEND) {
		state = bytes_u64(bytes, DATA_SUSPEND_STATE);
		m->suspended = state & ~SUSPEND_ACTIVE;
		m->suspend_active = (state & SUSPEND_ACTIVE) != 0;
	} else if (t->kind.flags & LINK_FLAG_NAME) {
		m->name = bytes_u64(bytes, DATA_NAME);
		dist = bytes_u64(bytes, DATA_DIST);
		/* ErtsMonLnkDist begins with the node's name; without dist it is this node. */
		if (!dist)
			mem_read_u64(w->n->mem,
				     w->n->anchors.this_node + (raddr)w->n->layout.node_sysname,
				     &m->node);
		else if (mem_read_u64(w->n->mem, dist, &m->node) != 0)
			w->unreadable++;
	}
}

void monitors_read(struct beam_node *n, raddr tree, raddr list, struct monitor_list *out)
{
	const struct beam_layout *l = &n->layout;
	struct node_walk w = {
		.n = n,
		.l = {(size_t)l->monitor_size, l->monitor_parent, l->monitor_right, l->monitor_left,
		      l->monitor_list_next, l->monitor_item, l->monitor_offset, l->monitor_flags,
		      l->monitor_type},
	};

	memset(out, 0, sizeof(*out));
	if (w.l.size > MAX_NODE_SIZE)
		return;
	walk_tree(&w, tree);
	walk_ring(&w, list);
	for (size_t i = 0; i < w.nodes.len; i++) {
		const struct tree_node *t = &w.nodes.data[i];
		struct monitor_item m = {
			.type = (enum monitor_type)t->kind.type,
			.target = (t->kind.flags & LINK_FLAG_TARGET) != 0,
			.pending = (t->kind.flags & LINK_FLAG_SPAWN_PENDING) != 0,
			.item = t->item,
			.alias = t->kind.alias,
		};

		if (t->kind.type >= NR_MONITOR_TYPES) {
			w.unreadable++;
			continue;
		}
		read_monitor_data(&w, t, &m);
		vec_push(&out->v, m);
	}
	out->unreadable = w.unreadable;
	out->cut = w.cut;
	vec_free(&w.nodes);
}

void links_free(struct link_list *l)
{
	vec_free(&l->v);
}

void monitors_free(struct monitor_list *l)
{
	vec_free(&l->v);
}
