/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes as a tree: below each process those that it spawned.  Of many leaves with the same name
 * and parent, such as a pool of a thousand workers, it shows the three with the most memory, and
 * one line for all others.
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
	uint32_t *above; /* by row: the row of its parent; PROCESS_TREE_ROOT = none */
	uint32_t *order; /* all rows, depth first */
	uint32_t *depth; /* by row: number of rows above it */
	bool *shown;	 /* by row */
};

/*
 * ancestors[i * PROCESS_TREE_ANCESTORS ...]: the ancestors of row i, nearest first: pids,
 * PROCESS_PID_TEXT with the id of a registered name, or PROCESS_PID_NONE.  The first of them that
 * is alive is the parent in the tree.  In a circle of parents one row becomes a root.  wanted[i]:
 * row i is shown, and all rows above it; wanted NULL: all rows are shown.
 */
void process_tree_build(struct process_tree *t, const struct process_strings *strings,
			const struct process_row *rows, size_t nr, const uint64_t *ancestors,
			const bool *wanted);
void process_tree_free(struct process_tree *t);

/* Writes the tree as a table; `all`: with all leaves. */
void process_tree_write(FILE *f, const struct process_tree *t, bool all, bool color);

#endif
