/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mod`: the modules that a node has loaded, one row each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "beam/code/modules.h"
#include "beam/term/atoms.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "names/names.h"
#include "view/table/table.h"

#define ROW(p)	((const struct module *)(p))
#define NODE(p) ((struct beam_node *)(uintptr_t)(p))

/* ---- columns --------------------------------------------------------------------------------- */

static void add_name(struct strbuf *out, struct beam_node *n, const struct module *m)
{
	size_t len;
	const char *text = beam_atom_text(n->atoms, m->name, &len);

	if (text)
		names_format_module(out, text, len);
}

static void col_module(struct strbuf *out, const void *row, const void *ctx)
{
	add_name(out, NODE(ctx), ROW(row));
	if (ROW(row)->torn)
		strbuf_addch(out, '~');
}

static void col_native_address(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->code)
		strbuf_addf(out, "0x%" PRIx64, ROW(row)->code);
}

static int by_native_address(const void *a, const void *b)
{
	return ROW(a)->code < ROW(b)->code ? -1 : ROW(a)->code > ROW(b)->code;
}

static void col_md5(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	for (size_t i = 0; ROW(row)->has_md5 && i < MODULE_MD5_SIZE; i++)
		strbuf_addf(out, "%02x", ROW(row)->md5[i]);
}

static void json_module(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	struct strbuf text = STRBUF_INIT;

	add_name(&text, NODE(ctx), ROW(row));
	jsonw_stringn(w, name, text.buf, text.len);
	strbuf_free(&text);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct module, member)

static const struct table_column mod_columns[] = {
	{"module", "MODULE", .text = col_module, .json = json_module},
	{FIELD("size", "SIZE", BYTES, size)},
	{FIELD("functions", "FUNCTIONS", COUNT, functions)},
	{FIELD("old_code", "OLD CODE", FLAG, old_code)},
	{FIELD("old_size", "OLD SIZE", BYTES, old_size), .hidden = true},
	{FIELD("nifs", "NIFS", FLAG, nifs)},
	{FIELD("on_load", "ON LOAD", FLAG, on_load), .hidden = true},
	{"native_address", "NATIVE ADDRESS", TABLE_RIGHT, .text = col_native_address,
	 .compare = by_native_address},
	{"md5", "MD5", .text = col_md5, .hidden = true},
	{0},
};

/* ---- output ---------------------------------------------------------------------------------- */

static void json_row(struct jsonw *w, struct beam_node *n, const struct module *m)
{
	jsonw_begin_object(w, NULL);
	table_json_fields(mod_columns, w, m, n);
	if (m->torn)
		jsonw_bool(w, "torn", true);
	jsonw_end_object(w);
}

static uint64_t count_torn(const struct modules *m)
{
	uint64_t torn = 0;

	for (size_t i = 0; i < m->v.len; i++)
		torn += m->v.data[i].torn;
	return torn;
}

static const char code_moved[] = "code was loaded all the time while the modules were read: rows "
				 "may be of different moments";

static int write_json(struct command_context *ctx, struct beam_node *n, const struct modules *m,
		      const struct table *t, const struct table_options *o, struct error *err)
{
	struct envelope_counter counters[] = {
		{"code_size", m->code_size},
		{"torn", count_torn(m)},
		{"unreadable", m->unreadable},
	};
	const char *warning = code_moved;
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, n);
	jsonw_begin_rows(&w, "data");
	for (size_t i = 0; i < nr; i++)
		json_row(&w, n, &m->v.data[order[i]]);
	jsonw_end_array(&w);
	free(order);
	return envelope_end(&w, &warning, m->moved ? 1 : 0, counters,
			    sizeof(counters) / sizeof(counters[0]), err);
}

static void say_totals(const struct modules *m)
{
	uint64_t torn = count_torn(m);
	char bytes[32];
	size_t old = 0;

	for (size_t i = 0; i < m->v.len; i++)
		old += m->v.data[i].old_code;
	log_warn("%zu modules, %s of code", m->v.len,
		 units_format_bytes(m->code_size, bytes, sizeof(bytes)));
	if (old)
		log_warn("%zu with old code: a process that still runs it is killed when the "
			 "module is loaded once more",
			 old);
	if (torn)
		log_warn("%" PRIu64 " changed while ebeam looked (~)", torn);
	if (m->unreadable)
		log_warn("%" PRIu64 " entries could not be read", m->unreadable);
	if (m->moved)
		log_warn("ebeam: %s", code_moved);
}

static int show(struct command_context *ctx, struct beam_node *n,
		const struct table_options *options, struct error *err)
{
	struct table table = {.columns = mod_columns, .row_size = sizeof(struct module), .ctx = n};
	struct modules modules;
	int rc = target_need(n, n->anchors.module_code, "table of modules", err);

	rc = rc ? rc : target_need(n, n->anchors.active_code_ix, "active code index", err);
	rc = rc ? rc : modules_read(&modules, n, err);
	if (rc)
		return rc;
	table.rows = modules.v.data;
	table.nr_rows = modules.v.len;
	if (ctx->opt.json) {
		rc = write_json(ctx, n, &modules, &table, options, err);
	} else {
		rc = table_write(ctx->out, &table, options, err);
		outfile_flush(ctx->out); /* the totals stand below */
		if (!rc)
			say_totals(&modules);
	}
	modules_free(&modules);
	return rc;
}

int cmd_mod(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "size");
	struct table table = {.columns = mod_columns};
	struct beam_node *n;
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : target_open(&n, ctx, err);
	if (rc)
		return rc;
	rc = show(ctx, n, &options, err);
	return target_close(n, rc, err);
}
