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
	const void *ctx;   /* what the numbers of all rows need, such as a scale */
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
/* As the options want them, else by `sort`; `ctx` is what numbers and cells need besides. */
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

/* A number of a typed column: an expression of `c`, the group's count, and `ctx`; NAN = not
 * known. */
#define GROUP_VALUE(name, of_count, of_ctx, value)                                                 \
	static double name(const void *row)                                                        \
	{                                                                                          \
		const struct of_count *c = ((const struct group_row *)row)->count;                 \
		const struct of_ctx *ctx = ((const struct group_row *)row)->ctx;                   \
                                                                                                   \
		UNUSED(ctx);                                                                       \
		return (double)(value);                                                            \
	}

#endif
