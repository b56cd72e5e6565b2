/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that are read from a node again and again: what a command shows once, a panel of `top` shows
 * each second.  The columns are those of the command.
 */
#ifndef EBEAM_CMD_ROWS_H
#define EBEAM_CMD_ROWS_H

#include "beam/node/node.h"
#include "view/table/table.h"

struct row_source {
	size_t view_size;
	/* The view, the source's own, is all zero; borrows the node.  On failure nothing is left to
	 * be closed. */
	int (*open)(void *view, struct beam_node *n, struct error *err);
	/* A reading; if it fails there are no rows. */
	int (*read)(void *view, struct error *err);
	/* Rows and all else of the last reading, if there was one. */
	void (*forget)(void *view);
	/* Into a copy of `table`: those of the last reading. */
	void (*rows)(void *view, struct table *out);
	/* The same thing in another reading has the same id. */
	uint64_t (*id)(const void *row);
	const struct table *table; /* without rows */
};

int rows_open(const struct row_source *s, void **view, struct beam_node *n, struct error *err);
/* Rows of the reading before are gone. */
int rows_read(const struct row_source *s, void *view, struct error *err);
void rows_close(const struct row_source *s, void *view); /* NULL ok */

extern const struct row_source ets_rows, port_rows, allocator_rows, node_rows;

#endif
