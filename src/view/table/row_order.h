/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the rows with certain ranks (positions in the sorted order) without sorting all rows: of a
 * million rows a screen shows forty.  A pass compares each row with one or two pivots from a random
 * sample; the wanted rows are between the pivots, and only rows between them are sorted.
 *
 * The order is total: rows that are equal by the column are ordered by their ids.
 */
#ifndef EBEAM_VIEW_ROW_ORDER_H
#define EBEAM_VIEW_ROW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/table/table.h"

struct row_order {
	const struct table *table;	   /* at most UINT32_MAX rows */
	const struct table_column *column; /* NULL = the order of the table */
	bool reverse;			   /* reverses the column, not the order by id */
	/* NULL = a row's id is its index. */
	uint64_t (*id)(const void *row);
	const uint32_t *rows; /* indices of the rows to order, ascending; NULL = all of the table */
	size_t nr_rows;	      /* of rows[]; unused if that is NULL */
};

/* Sorted rows: rows[i] is the index of the row with rank first + i. */
struct row_window {
	uint32_t *rows;
	size_t first, nr;
};

/* How many rows are to be ordered: nr_rows, or all of the table. */
size_t row_order_nr(const struct row_order *o);

/*
 * Fills *w, which is empty or was filled before, with at least the ranks first .. first + nr, as
 * far as they exist.  The caller frees w->rows.
 */
void row_order_window(const struct row_order *o, size_t first, size_t nr, struct row_window *w);

/* How many of the rows to be ordered are before `row`: its rank, if it is one of these rows. */
size_t row_order_rank(const struct row_order *o, uint32_t row);

#endif
