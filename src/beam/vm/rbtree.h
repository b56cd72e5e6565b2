/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks the VM's red-black trees (erl_rbtree.h), level by level, with few system calls for each
 * level.  Each item must point back to its parent, so that cycles end.
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
	int32_t parent, left, right; /* offsets of these addresses in an item */
	uint64_t flags;		     /* bits in `parent` that are not part of the address */
	uint64_t max;		     /* limit of items; larger trees are truncated */
	/* Called for each valid item with its address; must not walk with this struct. */
	void (*take)(void *arg, raddr addr, const uint8_t *item);
	void *arg;
	/* Sums of all walks: */
	uint64_t seen;
	uint64_t unreadable; /* items that could not be read, or have another parent */
	bool cut;
};

void rbtree_walk(struct rbtree *t, raddr root); /* 0 = empty */

#endif
