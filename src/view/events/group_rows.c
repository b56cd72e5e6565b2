/* SPDX-License-Identifier: BSD-2-Clause */
/* See group_rows.h. */
#include "view/events/group_rows.h"

#include "base/compiler.h"

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

void group_row_name_json(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	struct strbuf text = STRBUF_INIT;

	if (((const struct group_row *)row)->groups->by != PROCESS_GROUP_PROCESS)
		return;
	group_row_name(&text, row, ctx);
	jsonw_text(w, key, &text);
	strbuf_free(&text);
}

int group_rows_write(FILE *f, const struct process_groups *groups, const struct table *t,
		     const struct table_options *o, struct error *err)
{
	struct table_options options = *o;
	int rc = 0;

	if (groups->by == PROCESS_GROUP_PROCESS)
		options.also = "name";
	if (t->nr_rows) {
		fputc('\n', f);
		rc = table_write(f, t, &options, err);
		if (o->limit)
			table_write_more(f, MIN(o->limit, t->nr_rows), t->nr_rows);
	}
	if (groups->overflows)
		fprintf(f, "[others] stands for all groups beyond the first %u\n", groups->max);
	return rc;
}
