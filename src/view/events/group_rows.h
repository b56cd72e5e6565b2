/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of `gc` and `sched`, one for each group of processes: their last two columns, which name the
 * group, and writing the table. */
#ifndef EBEAM_VIEW_GROUP_ROWS_H
#define EBEAM_VIEW_GROUP_ROWS_H

#include "model/process/process_group.h"
#include "view/table/table.h"

/* The first member of a row; borrowed. */
struct group_row {
	const struct process_groups *groups;
	uint32_t group;
};

/* Columns: the group; and the name of its process, a field of JSON only if groups are processes. */
#define GROUP_COLUMNS                                                                              \
	{"group", "WHOSE", .text = group_row_text},                                                \
	{                                                                                          \
		"name", "NAME", .hidden = true, .text = group_row_name,                            \
				.json = group_row_name_json                                        \
	}

void group_row_text(struct strbuf *out, const void *row, const void *ctx);
void group_row_name(struct strbuf *out, const void *row, const void *ctx);
void group_row_name_json(struct jsonw *w, const char *key, const void *row, const void *ctx);

/* Writes the table, with the column "name" if groups are processes; below it, how many rows
 * o->limit left out, and whether the row [others] stands for further groups. */
int group_rows_write(FILE *f, const struct process_groups *groups, const struct table *t,
		     const struct table_options *o, struct error *err);

#endif
