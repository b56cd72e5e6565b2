/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VM's red-black trees (erl_rbtree.h).  A tree is read level by level, a whole level with one
 * call: each item is known by its parent, and must name that parent back, which no cycle can do.
 */
#ifndef EBEAM_BEAM_RBTREE_H
#define EBEAM_BEAM_RBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

struct rbtree {
	struct mem *mem;
	size_t size;		     /* of an item */
	int32_t parent, left, right; /* where the addresses of these stand in it */
	uint64_t flags;		     /* bits in parent that are no address */
	uint64_t max;		     /* of items; beyond that a tree is cut */
	/* Each item that can be what it should, with its address; may not walk with this one. */
	void (*take)(void *arg, raddr addr, const uint8_t *item);
	void *arg;
	/* Of all walks: */
	uint64_t seen;
	uint64_t unreadable; /* items that could not be read, or have another parent */
	bool cut;
};

void rbtree_walk(struct rbtree *t, raddr root); /* 0 = empty */

#endif
