/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows that can be read from a node again and again: the table of a command such as `ebeam ets`,
 * which is also a panel of `top`.
 */
#ifndef EBEAM_CMD_ROWS_H
#define EBEAM_CMD_ROWS_H

#include "beam/node/node.h"
#include "view/table/table.h"

struct row_source {
	size_t view_size;
	/* `view` is the source's own struct, zeroed.  Borrows the node.  On failure nothing needs
	 * to be closed. */
	int (*open)(void *view, struct beam_node *n, struct error *err);
	/* Reads the rows; on failure there are none. */
	int (*read)(void *view, struct error *err);
	/* Frees the rows of the last read(), if there was one. */
	void (*forget)(void *view);
	/* Frees what is kept from one read() to the next; NULL = nothing is. */
	void (*close)(void *view);
	/* Sets the rows of *out, a copy of `table`. */
	void (*rows)(void *view, struct table *out);
	/* Identifies what a row is about (an ETS table, a port) in every reading. */
	uint64_t (*id)(const void *row);
	const struct table *table; /* without rows */
};

int rows_open(const struct row_source *s, void **view, struct beam_node *n, struct error *err);
/* Frees the rows of the last reading, and reads again. */
int rows_read(const struct row_source *s, void *view, struct error *err);
void rows_close(const struct row_source *s, void *view); /* NULL ok */

extern const struct row_source ets_rows, port_rows, allocator_rows, node_rows;

#endif
