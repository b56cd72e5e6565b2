/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of processes as rows: their last columns, and the table of `gc` and `sched`. */
#ifndef EBEAM_VIEW_GROUP_ROWS_H
#define EBEAM_VIEW_GROUP_ROWS_H

#include "model/process/process_group.h"
#include "view/table/table.h"

/* The first member of a row; borrowed. */
struct group_row {
	const struct process_groups *groups;
	uint32_t group;
};

/* Columns: the group; and the name, which JSON only has if the groups are processes. */
#define GROUP_COLUMNS                                                                              \
	{"group", "WHOSE", .text = group_row_text},                                                \
	{                                                                                          \
		"name", "NAME", .hidden = true, .text = group_row_name,                            \
				.json = group_row_name_json                                        \
	}

void group_row_text(struct strbuf *out, const void *row, const void *ctx);
void group_row_name(struct strbuf *out, const void *row, const void *ctx);
void group_row_name_json(struct jsonw *w, const char *key, const void *row, const void *ctx);

/* Writes the table, with names if the groups are processes, and how many rows it leaves out. */
int group_rows_write(FILE *f, const struct process_groups *groups, const struct table *t,
		     const struct table_options *o, struct error *err);

#endif
