/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for whom, as a graph: each waits for one other at most.  Who is waited for most, who
 * waits for one that waits itself, and who waits for each other in a circle.
 */
#ifndef EBEAM_MODEL_WAIT_GRAPH_H
#define EBEAM_MODEL_WAIT_GRAPH_H

#include <stdint.h>

#include "base/vec.h"

#define WAIT_NOBODY UINT32_MAX

struct wait_target {
	uint32_t node;
	uint32_t waiting; /* processes that wait for it itself */
	uint32_t behind;  /* those, and who waits for them, and so on; of a circle: all of it */
	uint32_t example; /* one who waits for it */
};

struct wait_path {
	uint32_t first, nr; /* in nodes[] */
};

struct wait_graph {
	VEC(struct wait_target) targets; /* most waiting first */
	/* From one who waits to the last that does not, or to the first of a circle: three at
	 * least, one for each target that nobody waits for who is waited for. */
	VEC(struct wait_path) chains;
	VEC(struct wait_path) circles; /* each once, its lowest node first */
	VEC(uint32_t) nodes;
};

/* to[i] = whom i waits for, or WAIT_NOBODY; below nr.  From nr_processes on they are ports and the
 * like, which lead on to others and are not counted. */
void wait_graph_make(struct wait_graph *g, const uint32_t *to, uint32_t nr, uint32_t nr_processes);
void wait_graph_free(struct wait_graph *g);

#endif
