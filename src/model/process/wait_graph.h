/* SPDX-License-Identifier: BSD-2-Clause */
/* A graph of waits, in which each node waits for at most one other: for whom most wait, chains
 * of waits, and cycles. */
#ifndef EBEAM_MODEL_WAIT_GRAPH_H
#define EBEAM_MODEL_WAIT_GRAPH_H

#include <stdint.h>

#include "base/vec.h"

#define WAIT_NOBODY UINT32_MAX

struct wait_target {
	uint32_t node;
	uint32_t waiting; /* processes that wait for it directly */
	uint32_t behind; /* also indirectly; of a node in a cycle: all of the cycle and behind it */
	uint32_t example; /* one of those that wait for it */
};

struct wait_path {
	uint32_t first, nr; /* in nodes[] */
};

struct wait_graph {
	VEC(struct wait_target) targets; /* most waiting first */
	/* From a node for which nobody waits to one that does not wait, or to the first of a cycle:
	 * three nodes at least.  One chain for each target whose waiters have none. */
	VEC(struct wait_path) chains;
	VEC(struct wait_path) circles; /* each once, from its lowest node */
	VEC(uint32_t) nodes;
};

/* to[i]: the node that i waits for, or WAIT_NOBODY.  Nodes from nr_processes up to nr are ports and
 * the like, which are part of paths but not counted. */
void wait_graph_make(struct wait_graph *g, const uint32_t *to, uint32_t nr, uint32_t nr_processes);
void wait_graph_free(struct wait_graph *g);

#endif
