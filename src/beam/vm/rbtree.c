/* SPDX-License-Identifier: BSD-2-Clause */
/* See rbtree.h. */
#include "beam/vm/rbtree.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* A tree of a million items has fewer levels. */
#define MAX_LEVELS 48
#define BATCH	   1024

struct node {
	raddr addr, parent;
};

struct level {
	VEC(struct node) v;
};

static void add_node(struct level *level, raddr addr, raddr parent)
{
	if (addr)
		vec_push(&level->v, ((struct node){addr, parent}));
}

/* Reads items whose address and parent are known, and adds their children. */
static void read_level(struct rbtree *t, const struct level *level, struct level *children)
{
	uint8_t *bytes = xcalloc(BATCH, t->size);
	struct mem_range *ranges = xcalloc(BATCH, sizeof(*ranges));

	for (size_t from = 0; from < level->v.len; from += BATCH) {
		const struct node *nodes = &level->v.data[from];
		size_t nr = MIN(level->v.len - from, (size_t)BATCH);

		for (size_t i = 0; i < nr; i++)
			ranges[i] =
				(struct mem_range){nodes[i].addr, bytes + i * t->size, t->size, 0};
		mem_readv(t->mem, ranges, nr);
		for (size_t i = 0; i < nr; i++) {
			const uint8_t *item = bytes + i * t->size;

			if (ranges[i].err ||
			    (bytes_u64(item, t->parent) & ~t->flags) != nodes[i].parent) {
				t->unreadable++;
				continue;
			}
			t->take(t->arg, nodes[i].addr, item);
			add_node(children, bytes_u64(item, t->left), nodes[i].addr);
			add_node(children, bytes_u64(item, t->right), nodes[i].addr);
		}
	}
	free(ranges);
	free(bytes);
}

void rbtree_walk(struct rbtree *t, raddr root)
{
	struct level level = {0}, children = {0};

	add_node(&level, root, 0);
	for (int depth = 0; level.v.len; depth++) {
		struct level swap;

		t->seen += level.v.len;
		if (depth == MAX_LEVELS || t->seen > t->max) {
			t->cut = true;
			break;
		}
		children.v.len = 0;
		read_level(t, &level, &children);
		swap = level;
		level = children;
		children = swap;
	}
	vec_free(&level.v);
	vec_free(&children.v);
}
