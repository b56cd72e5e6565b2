/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions and processes of a snapshot with the most samples, as text (`record` and
 * `report -f text`), and of the difference of two snapshots (`diff -f text`).
 */
#ifndef EBEAM_VIEW_HOT_H
#define EBEAM_VIEW_HOT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "model/profile/diff.h"
#include "model/profile/snapshot.h"
#include "view/table/table.h"

#define HOT_DEFAULT_LIMIT 20

struct hot_options {
	unsigned int limit; /* rows of each table; 0 = HOT_DEFAULT_LIMIT */
	bool color;
	bool symbol_source; /* with the column of that name */
};

/* Rows are struct snap_function; ctx points to a uint64_t, the number of all samples (100 %). */
extern const struct table_column function_columns[];
/* Rows are struct snap_process; ctx as for function_columns. */
extern const struct table_column sampled_process_columns[];

/* Write errors are not reported here: ferror(f) shows them. */
int hot_write(FILE *f, const struct snapshot *s, const struct hot_options *o, struct error *err);
int hot_write_diff(FILE *f, const struct diff *d, const struct hot_options *o, struct error *err);

#endif
