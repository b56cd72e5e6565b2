/* SPDX-License-Identifier: BSD-2-Clause */
/* See group_rows.h. */
#include "cmd/events/group_rows.h"

#include <stdlib.h>

#define DEFAULT_ROWS 20 /* of text */

void group_rows_add(struct group_rows *r, const struct process_groups *groups, uint32_t group,
		    const void *count)
{
	const struct group_row row = {.groups = groups, .count = count, .group = group};

	vec_push(&r->v, row);
}

int group_rows_order(struct group_rows *r, const struct table_column *columns, const void *ctx,
		     const char *sort, const struct options *o, bool color, struct error *err)
{
	for (size_t i = 0; i < r->v.len; i++)
		r->v.data[i].ctx = ctx;
	r->table = (struct table){
		.columns = columns,
		.rows = r->v.data,
		.nr_rows = r->v.len,
		.row_size = sizeof(struct group_row),
		.ctx = ctx,
	};
	r->options = (struct table_options){
		.columns = o->columns,
		.also = o->group_by == PROCESS_GROUP_PROCESS ? "name" : NULL,
		.sort = o->sort ? o->sort : sort,
		.limit = o->limit || o->json ? o->limit : DEFAULT_ROWS,
		.color = color,
	};
	return table_order(&r->table, &r->options, &r->order, &r->nr, err);
}

void group_rows_free(struct group_rows *r)
{
	free(r->order);
	r->order = NULL;
	vec_free(&r->v);
}

void group_row_text(struct strbuf *out, const void *row, const void *ctx)
{
	const struct group_row *r = row;

	UNUSED(ctx);
	process_group_text(r->groups, r->group, out);
}

void group_row_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct group_row *r = row;

	UNUSED(ctx);
	process_group_name_of(r->groups->names, r->groups->v.data[r->group].process, out);
}

void group_row_json(struct jsonw *w, const struct group_row *r)
{
	struct strbuf text = STRBUF_INIT;

	group_row_text(&text, r, NULL);
	jsonw_string(w, "group", text.buf);
	if (r->groups->by == PROCESS_GROUP_PROCESS) {
		strbuf_reset(&text);
		group_row_name(&text, r, NULL);
		jsonw_string(w, "name", text.len ? text.buf : NULL);
	}
	strbuf_free(&text);
}

int group_rows_write(const struct group_rows *r, const struct process_groups *groups,
		     struct event_run *run, struct error *err)
{
	FILE *f = event_run_out(run);
	int rc = 0;

	if (r->v.len) {
		fputc('\n', f);
		rc = table_write(f, &r->table, &r->options, err);
		event_run_tell_more(run, r->nr, r->v.len);
	}
	if (groups->overflows)
		fprintf(f, "[others]: more than %u\n", groups->max);
	return rc;
}
