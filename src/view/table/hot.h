/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hottest functions and processes of a snapshot as text: what `record` and `report -f text`
 * print, and for two snapshots what `diff -f text` prints.
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
};

/* Rows are struct snap_function, ctx is a uint64_t: all samples, of which shares are. */
extern const struct table_column function_columns[];
/* Likewise of struct snap_process. */
extern const struct table_column sampled_process_columns[];

/* Write errors stay in the FILE. */
int hot_write(FILE *f, const struct snapshot *s, const struct hot_options *o, struct error *err);
int hot_write_diff(FILE *f, const struct diff *d, const struct hot_options *o, struct error *err);

#endif
