/* SPDX-License-Identifier: BSD-2-Clause */
/* See old_code_view.h. */
#include "view/inspect/old_code_view.h"

#include "base/compiler.h"
#include "base/units.h"

#define FIELD(name, title, type, row, member) TABLE_FIELD(name, title, type, struct row, member)

/* Fields of JSON only: text has no table of modules. */
static const struct table_column module_columns[] = {
	{FIELD("module", "", TEXT, old_code_module, name)},
	{FIELD("old_size", "", BYTES, old_code_module, size)},
	{FIELD("processes", "", COUNT, old_code_module, processes)},
	{0},
};

static void col_modules(struct strbuf *out, const void *row, const void *ctx)
{
	const struct table_list *modules = &((const struct old_code_row *)row)->modules;

	UNUSED(ctx);
	for (uint64_t i = 0; i < modules->nr; i++)
		strbuf_addf(out, "%s%s", i ? " " : "", modules->texts[i]);
}

static const struct table_column columns[] = {
	{FIELD("pid", "PID", TEXT, old_code_row, p.pid)},
	{FIELD("name", "NAME", TEXT, old_code_row, p.name)},
	{"old_code_of", "OLD CODE OF", .text = col_modules, .json = table_json_none},
	{FIELD("modules", "", LIST, old_code_row, modules), .hidden = true},
	{FIELD("status", "STATUS", TEXT, old_code_row, p.status)},
	{FIELD("current_function", "CURRENT FUNCTION", TEXT, old_code_row, p.current)},
	{0},
};

static struct table rows_table(const struct old_code_answer *a)
{
	return (struct table){columns, a->rows.data, a->rows.len, sizeof(*a->rows.data), NULL};
}

int old_code_view_write(FILE *f, const struct old_code_answer *a, bool color, struct error *err)
{
	const struct table rows = rows_table(a);
	char modules[32], processes[32];

	fprintf(f, "%s %s old code; %s %s it (funs that refer to old code are not checked)\n",
		units_format_count(a->modules.len, modules, sizeof(modules)),
		a->modules.len == 1 ? "module has" : "modules have",
		units_format_count(a->processes, processes, sizeof(processes)),
		a->processes == 1 ? "process runs" : "processes run");
	if (!rows.nr_rows)
		return 0;
	fputc('\n', f);
	return table_write(f, &rows, &(struct table_options){.color = color}, err);
}

void old_code_view_json(struct jsonw *w, const struct old_code_answer *a)
{
	const struct table rows = rows_table(a);
	const struct table modules = {module_columns, a->modules.data, a->modules.len,
				      sizeof(*a->modules.data), NULL};
	const struct table_options all = {0};

	jsonw_begin_object(w, "data");
	table_json_rows(w, "modules", &modules, &all);
	table_json_rows(w, "processes", &rows, &all);
	jsonw_end_object(w);
}
