/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mod`: the modules that a node has loaded, one row each. */
#include <inttypes.h>

#include "base/arena.h"
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
#include "view/inspect/mod_view.h"

/* A row for each module; `old` and `torn` count modules with old code, and torn rows. */
struct mod_rows {
	VEC(struct mod_row) v;
	struct arena texts;
	uint64_t old, torn;
};

static void make_rows(struct mod_rows *rows, struct beam_node *n, const struct modules *modules)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < modules->v.len; i++) {
		const struct module *m = &modules->v.data[i];
		struct mod_row r = {.old_code = m->old_code,
				    .nifs = m->nifs,
				    .on_load = m->on_load,
				    .torn = m->torn,
				    .functions = m->functions,
				    .size = m->size,
				    .old_size = m->old_size,
				    .native_address = m->code};
		size_t len;
		const char *name = beam_atom_text(n->atoms, m->name, &len);

		if (name)
			names_format_module(&text, name, len);
		r.name = arena_text(&rows->texts, &text);
		for (size_t k = 0; m->has_md5 && k < MODULE_MD5_SIZE; k++)
			snprintf(r.md5 + 2 * k, 3, "%02x", m->md5[k]);
		rows->old += m->old_code;
		rows->torn += m->torn;
		vec_push(&rows->v, r);
	}
	strbuf_free(&text);
}

static const char code_moved[] = "code was loaded all the time while the modules were read: rows "
				 "may be of different moments";

static int write_json(struct command_context *ctx, struct beam_node *n, const struct modules *m,
		      uint64_t torn, const struct table *t, const struct table_options *o,
		      struct error *err)
{
	struct envelope_counter counters[] = {
		{"code_size", m->code_size},
		{"torn", torn},
		{"unreadable", m->unreadable},
	};
	const char *warning = code_moved;
	struct jsonw w = JSONW(ctx->out);

	target_json_begin(&w, ctx, n);
	table_json_rows(&w, "data", t, o);
	return envelope_end(&w, &warning, m->moved ? 1 : 0, counters,
			    sizeof(counters) / sizeof(counters[0]), err);
}

static void say_totals(const struct modules *m, const struct mod_rows *rows)
{
	char bytes[32];

	log_warn("%zu modules, %s of code", m->v.len,
		 units_format_bytes(m->code_size, bytes, sizeof(bytes)));
	if (rows->old)
		log_warn("%" PRIu64 " modules have old code: a process that still runs it is "
			 "killed when the module is loaded once more",
			 rows->old);
	if (rows->torn)
		log_warn("%" PRIu64 " modules changed while they were read (~)", rows->torn);
	if (m->unreadable)
		log_warn("%" PRIu64 " entries of the table of modules could not be read",
			 m->unreadable);
	if (m->moved)
		log_warn("ebeam: %s", code_moved);
}

static int show(struct command_context *ctx, struct beam_node *n,
		const struct table_options *options, struct error *err)
{
	struct table table = mod_table;
	struct mod_rows rows = {0};
	struct modules modules;
	int rc = target_need(n, n->anchors.module_code, "table of modules", err);

	rc = rc ? rc : target_need(n, n->anchors.active_code_ix, "active code index", err);
	rc = rc ? rc : modules_read(&modules, n, err);
	if (rc)
		return rc;
	make_rows(&rows, n, &modules);
	table.rows = rows.v.data;
	table.nr_rows = rows.v.len;
	if (ctx->opt.json) {
		rc = write_json(ctx, n, &modules, rows.torn, &table, options, err);
	} else {
		rc = table_write(ctx->out, &table, options, err);
		outfile_flush(ctx->out); /* before the totals on stderr */
		if (!rc)
			say_totals(&modules, &rows);
	}
	modules_free(&modules);
	arena_free(&rows.texts);
	vec_free(&rows.v);
	return rc;
}

int cmd_mod(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "size");
	struct beam_node *n;
	int rc = table_check(&mod_table, &options, err);

	rc = rc ? rc : target_open(&n, ctx, err);
	if (rc)
		return rc;
	rc = show(ctx, n, &options, err);
	return target_close(n, rc, err);
}
