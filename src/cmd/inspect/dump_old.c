/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --old-code`: which processes still run old code of which module; see dump.h. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "cmd/inspect/dump.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "view/table/table.h"

/* Uses [first, first + nr) of old code are of one process. */
struct old_row {
	const struct dump *d;
	const struct id_format *pids;
	size_t first, nr;
};

struct old_rows {
	VEC(struct old_row) v;
};

static void make_rows(struct old_rows *rows, const struct dump *d, const struct id_format *pids)
{
	const struct old_code *o = &d->old;

	for (size_t i = 0; i < o->uses.len; i++) {
		struct old_row *last = rows->v.len ? &rows->v.data[rows->v.len - 1] : NULL;

		if (last && o->uses.data[last->first].process == o->uses.data[i].process)
			last->nr++;
		else
			vec_push(&rows->v, ((struct old_row){d, pids, i, 1}));
	}
}

static uint32_t process_of(const struct old_row *r)
{
	return r->d->old.uses.data[r->first].process;
}

static void add_module(const struct dump *d, uint32_t module, struct strbuf *out)
{
	size_t len;
	const char *text = beam_atom_text(d->n->atoms, d->old.modules.data[module].name, &len);

	if (text)
		names_format_module(out, text, len);
}

static const struct stack_group *group_of(const struct old_row *r)
{
	uint32_t g = r->d->group_of[process_of(r)];

	return g == DUMP_NO_GROUP ? NULL : &r->d->groups.groups.data[g];
}

static void cell_pid(struct strbuf *out, const void *row, const void *ctx)
{
	const struct old_row *r = row;

	(void)ctx;
	dump_pid(r->d, r->pids, process_of(r), out);
}

static void cell_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct old_row *r = row;

	(void)ctx;
	dump_name(r->d, process_of(r), out);
}

static void cell_modules(struct strbuf *out, const void *row, const void *ctx)
{
	const struct old_row *r = row;

	(void)ctx;
	for (size_t i = 0; i < r->nr; i++) {
		strbuf_addstr(out, i ? " " : "");
		add_module(r->d, r->d->old.uses.data[r->first + i].module, out);
	}
}

static void cell_status(struct strbuf *out, const void *row, const void *ctx)
{
	const struct stack_group *g = group_of(row);

	(void)ctx;
	strbuf_addstr(out, g ? process_status_name(dump_status(g)) : "");
}

static void cell_current(struct strbuf *out, const void *row, const void *ctx)
{
	const struct stack_group *g = group_of(row);
	const struct old_row *r = row;
	const struct name_frame *f = g ? dump_current(r->d, g) : NULL;

	(void)ctx;
	if (f)
		dump_function(r->d, f, out);
}

static const struct table_column columns[] = {
	{"pid", "PID", .text = cell_pid},
	{"name", "NAME", .text = cell_name},
	{"modules", "OLD CODE OF", .text = cell_modules},
	{"status", "STATUS", .text = cell_status},
	{"current_function", "CURRENT FUNCTION", .text = cell_current},
	{.name = NULL},
};

static int read_pids(const struct dump *d, struct id_format *pids, struct error *err)
{
	int rc = id_format_read(pids, d->n->mem, &d->n->layout, d->n->anchors.proc_tab,
				d->n->identity.otp);

	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	return 0;
}

int dump_old_text(const struct dump *d, const struct command_context *ctx, FILE *f,
		  struct error *err)
{
	struct table_options options = {.limit = ctx->opt.limit,
					.color = render_color(&ctx->opt, f)};
	struct table table = {.columns = columns, .row_size = sizeof(struct old_row)};
	struct old_rows rows = {0};
	struct id_format pids;
	char modules[32], processes[32];
	int rc = read_pids(d, &pids, err);

	if (rc)
		return rc;
	make_rows(&rows, d, &pids);
	fprintf(f, "%s %s old code; %s %s it (funs are not looked at)\n",
		units_format_count(d->old.modules.len, modules, sizeof(modules)),
		d->old.modules.len == 1 ? "module has" : "modules have",
		units_format_count(rows.v.len, processes, sizeof(processes)),
		rows.v.len == 1 ? "process runs" : "processes run");
	table.rows = rows.v.data;
	table.nr_rows = rows.v.len;
	if (rows.v.len) {
		fputc('\n', f);
		rc = table_write(f, &table, &options, err);
	}
	vec_free(&rows.v);
	return rc;
}

static void json_module(struct jsonw *w, const struct dump *d, uint32_t i)
{
	const struct old_module *m = &d->old.modules.data[i];
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	add_module(d, i, &text);
	jsonw_string(w, "module", text.buf);
	jsonw_uint(w, "old_size", m->end - m->start);
	jsonw_uint(w, "processes", m->processes);
	jsonw_end_object(w);
	strbuf_free(&text);
}

static void json_cell(struct jsonw *w, const char *key,
		      void (*cell)(struct strbuf *out, const void *row, const void *ctx),
		      const struct old_row *r)
{
	struct strbuf text = STRBUF_INIT;

	cell(&text, r, NULL);
	jsonw_string(w, key, text.len ? text.buf : NULL);
	strbuf_free(&text);
}

static void json_process(struct jsonw *w, const struct old_row *r)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	json_cell(w, "pid", cell_pid, r);
	json_cell(w, "name", cell_name, r);
	jsonw_begin_array(w, "modules");
	for (size_t i = 0; i < r->nr; i++) {
		strbuf_reset(&text);
		add_module(r->d, r->d->old.uses.data[r->first + i].module, &text);
		jsonw_string(w, NULL, text.buf);
	}
	jsonw_end_array(w);
	json_cell(w, "status", cell_status, r);
	json_cell(w, "current_function", cell_current, r);
	jsonw_end_object(w);
	strbuf_free(&text);
}

int dump_old_json(const struct dump *d, const struct command_context *ctx, FILE *f,
		  struct error *err)
{
	struct jsonw w = JSONW(f);
	struct old_rows rows = {0};
	struct id_format pids;
	size_t nr;
	const struct envelope_counter counters[] = {
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
	};
	int rc = read_pids(d, &pids, err);

	if (rc)
		return rc;
	make_rows(&rows, d, &pids);
	nr = ctx->opt.limit ? MIN(rows.v.len, (size_t)ctx->opt.limit) : rows.v.len;
	target_json_begin(&w, ctx, d->n);
	jsonw_begin_object(&w, "data");
	jsonw_begin_rows(&w, "modules");
	for (uint32_t i = 0; i < d->old.modules.len; i++)
		json_module(&w, d, i);
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "processes");
	for (size_t i = 0; i < nr; i++)
		json_process(&w, &rows.v.data[i]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	vec_free(&rows.v);
	return rc;
}
