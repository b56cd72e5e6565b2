/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of groups of processes, a row for each with something to tell: of `gc` and `sched`. */
#ifndef EBEAM_CMD_GROUP_ROWS_H
#define EBEAM_CMD_GROUP_ROWS_H

#include "base/compiler.h"
#include "base/vec.h"
#include "cmd/run/event_run.h"
#include "model/process/process_group.h"
#include "view/table/table.h"

struct group_row {
	const struct process_groups *groups;
	const void *count; /* what the command's model counts of a group */
	uint32_t group;
};

struct group_rows {
	VEC(struct group_row) v;
	struct table table;
	struct table_options options;
	size_t *order, nr; /* of the rows that are shown */
};

/* All borrowed. */
void group_rows_add(struct group_rows *r, const struct process_groups *groups, uint32_t group,
		    const void *count);
/* As the options want them, else by `sort`; `ctx` is what cells get besides their row. */
int group_rows_order(struct group_rows *r, const struct table_column *columns, const void *ctx,
		     const char *sort, const struct options *o, bool color, struct error *err);
void group_rows_free(struct group_rows *r);

/* The table, and what it leaves out. */
int group_rows_write(const struct group_rows *r, const struct process_groups *groups,
		     struct event_run *run, struct error *err);
/* "group", and "name" if the groups are processes. */
void group_row_json(struct jsonw *w, const struct group_row *r);
/* Cells: the group, and of a process its name. */
void group_row_text(struct strbuf *out, const void *row, const void *ctx);
void group_row_name(struct strbuf *out, const void *row, const void *ctx);

/*
 * A column of numbers: `value` is one of `const struct type *c`, `cell` adds it as `v` to `out`,
 * with `ctx`.  Makes text_NAME() and compare_NAME(): largest first, UINT64_MAX (not known) last.
 */
#define GROUP_COLUMN(type, name, value, cell)                                                      \
	static uint64_t value_##name(const void *row)                                              \
	{                                                                                          \
		const struct type *c = ((const struct group_row *)row)->count;                     \
                                                                                                   \
		return value;                                                                      \
	}                                                                                          \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		uint64_t v = value_##name(row);                                                    \
                                                                                                   \
		UNUSED(ctx);                                                                       \
		cell;                                                                              \
	}                                                                                          \
	static int compare_##name(const void *a, const void *b)                                    \
	{                                                                                          \
		uint64_t x = value_##name(a) + 1, y = value_##name(b) + 1;                         \
                                                                                                   \
		return (x < y) - (x > y);                                                          \
	}

#endif
