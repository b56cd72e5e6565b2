/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a table that stand at some ranks of an order, without putting all of them in order:
 * of a million rows a screen shows forty.  One pass over the rows compares each with one or two
 * rows of a sample, between which the wanted ones lie; only what is between is then sorted.
 *
 * The order is total: rows that are equal by the column stand in the order of their ids.
 */
#ifndef EBEAM_VIEW_ROW_ORDER_H
#define EBEAM_VIEW_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/table/table.h"

struct row_order {
	const struct table *table;	   /* at most UINT32_MAX rows */
	const struct table_column *column; /* NULL = as the rows stand */
	bool reverse;			   /* of the column; rows that are equal stay */
	/* NULL = a row's id is its index. */
	uint64_t (*id)(const void *row);
	const uint32_t *rows; /* those that count, ascending; NULL = all of the table */
	size_t nr_rows;	      /* of rows[]; not read if that is NULL */
};

/* Ranks first .. first + nr of an order, and what was found besides: rows[i] has rank first + i. */
struct row_window {
	uint32_t *rows;
	size_t first, nr;
};

/* Rows that count. */
size_t row_order_nr(const struct row_order *o);

/*
 * Fills *w, which is empty or was filled before, with at least the ranks first .. first + nr, as
 * far as there are such.  Free w->rows.
 */
void row_order_window(const struct row_order *o, size_t first, size_t nr, struct row_window *w);

/* How many rows that count stand before this one: its rank, if it counts. */
size_t row_order_rank(const struct row_order *o, uint32_t row);

#endif
