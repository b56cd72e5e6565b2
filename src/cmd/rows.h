/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that are read from a node again and again: what a command shows once, a panel of `top` shows
 * each second.  The columns are those of the command.
 */
#ifndef EBEAM_CMD_ROWS_H
#define EBEAM_CMD_ROWS_H

#include "beam/node.h"
#include "view/table.h"

struct row_source {
	/* *view is the source's own; borrows the node.  On failure nothing is left to be closed. */
	int (*open)(void **view, struct beam_node *n, struct error *err);
	/* A reading: rows of the one before are gone.  If it fails there are none. */
	int (*read)(void *view, struct error *err);
	/* Of the last reading; columns, rows and ctx. */
	void (*table)(void *view, struct table *out);
	/* The same thing in another reading has the same id. */
	uint64_t (*id)(const void *row);
	const struct table_column *columns;
	void (*close)(void *view); /* NULL ok */
};

extern const struct row_source ets_rows, port_rows, allocator_rows, node_rows;

#endif
