/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of frames over a snapshot's stacks: what flame graphs draw.  Children are sorted by name,
 * so that the same profile always gives the same picture.  Borrows the snapshot.
 *
 * Nodes are in depth-first order: the subtree of a node is the range of nodes that follows it.
 */
#ifndef EBEAM_MODEL_CALLTREE_H
#define EBEAM_MODEL_CALLTREE_H

#include "model/profile/snapshot.h"

struct calltree_node {
	uint32_t frame; /* index in snapshot frames[]; SNAPSHOT_NONE for the root, node 0 */
	uint32_t parent;
	uint32_t first_child, next_sibling; /* SNAPSHOT_NONE = none */
	uint32_t depth;			    /* root = 0 */
	uint64_t self, total;
	uint64_t by_kind[NR_SAMPLE_KINDS]; /* parts of total */
};

struct calltree {
	const struct snapshot *snapshot;
	struct calltree_node *nodes; /* parents before children */
	uint32_t nr_nodes;
	uint32_t max_depth;
	uint32_t *stack_nodes; /* node of each stack of the snapshot */
};

struct calltree *calltree_open(const struct snapshot *s);
/* The same without the first `skip` frames of each stack. */
struct calltree *calltree_open_below(const struct snapshot *s, uint32_t skip);
void calltree_close(struct calltree *t);

/* Number of frames at the root of each stack that grouping has added (kind, then group). */
uint32_t calltree_head_frames(const struct snapshot *s);

#endif
