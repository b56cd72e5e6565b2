/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes as a tree of who started whom.  Leaves of the same name below one process are not all
 * shown: a pool of a thousand workers is the three with the most memory, and one line for the rest.
 */
#ifndef EBEAM_VIEW_PROCESS_TREE_H
#define EBEAM_VIEW_PROCESS_TREE_H

#include <stdio.h>

#include "model/process/process_rows.h"

#define PROCESS_TREE_ANCESTORS 4
#define PROCESS_TREE_ROOT      UINT32_MAX

struct process_tree {
	const struct process_strings *strings;
	const struct process_row *rows;
	size_t nr;
	uint32_t *
		above; /* of each row: the row that started it, PROCESS_TREE_ROOT = none is there */
	uint32_t *order; /* rows in the order of the tree */
	uint32_t *depth; /* of each row */
	bool *shown;	 /* of each row */
};

/*
 * ancestors[i * PROCESS_TREE_ANCESTORS ...]: of row i, nearest first: pids, PROCESS_PID_TEXT and
 * the id of a registered name, or PROCESS_PID_NONE.  The first one that lives counts.  What leads
 * round in a circle is cut.  wanted[i]: the row is to be shown, and so are those above it; NULL =
 * all.
 */
void process_tree_build(struct process_tree *t, const struct process_strings *strings,
			const struct process_row *rows, size_t nr, const uint64_t *ancestors,
			const bool *wanted);
void process_tree_free(struct process_tree *t);

/* As a table; `all`: each leaf of its own. */
void process_tree_write(FILE *f, const struct process_tree *t, bool all, bool color);

#endif
