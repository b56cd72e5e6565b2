/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam ets`: the ETS tables of a node, one row each, as ets:info/1 has them; or, with a name, one
 * table and some of its objects (ets_table.c).
 */
#include "cmd/inspect/ets.h"
#include "cmd/output/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/process/process.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "names/names.h"
#include "view/table/table.h"

void ets_add_name(struct strbuf *out, const struct ets_view *v, uint64_t atom)
{
	size_t len;
	const char *text = atom ? beam_atom_text(v->node->atoms, atom, &len) : NULL;

	if (text)
		names_format_module(out, text, len);
}

void ets_add_atom(struct strbuf *out, const struct ets_view *v, uint64_t atom)
{
	size_t len;
	const char *text = atom ? beam_atom_text(v->node->atoms, atom, &len) : NULL;

	if (text)
		strbuf_add(out, text, len);
}

void ets_add_pid(struct strbuf *out, const struct ets_view *v, uint64_t pid)
{
	char buf[64];

	strbuf_addstr(out, pid_format(&v->formats.pids, pid, buf, sizeof(buf)));
}

uint64_t ets_owner_name(const struct ets_view *v, const struct ets_table *t)
{
	return v->owner_names[t - v->list.data];
}

void ets_add_write_concurrency(struct strbuf *out, const struct ets_table *t)
{
	static const char *const names[] = {"false", "true", "auto"};

	if (t->write_concurrency == ETS_WRITE_LOCKS)
		strbuf_addf(out, "{debug_hash_fixed_number_of_locks,%" PRIu32 "}", t->nr_locks);
	else
		strbuf_addstr(out, names[t->write_concurrency]);
}

/* ---- columns --------------------------------------------------------------------------------- */

#define ROW(p)	((const struct ets_table *)(p))
#define VIEW(p) ((const struct ets_view *)(p))

static void col_id(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[64];

	(void)ctx;
	strbuf_addstr(out, ets_id_format(ROW(row), buf, sizeof(buf)));
}

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	ets_add_name(out, VIEW(ctx), ROW(row)->name);
	if (ROW(row)->torn)
		strbuf_addch(out, '~');
}

static void col_type(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ets_type_name(ROW(row)->type));
}

static void col_protection(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ets_protection_name(ROW(row)->protection));
}

static void col_owner(struct strbuf *out, const void *row, const void *ctx)
{
	ets_add_pid(out, VIEW(ctx), ROW(row)->owner);
}

static void col_owner_name(struct strbuf *out, const void *row, const void *ctx)
{
	ets_add_name(out, VIEW(ctx), ets_owner_name(VIEW(ctx), ROW(row)));
}

static void col_heir(struct strbuf *out, const void *row, const void *ctx)
{
	if (ROW(row)->heir)
		ets_add_pid(out, VIEW(ctx), ROW(row)->heir);
}

static double bytes(const void *row)
{
	return (double)ROW(row)->memory * ETS_WORD_BYTES;
}

static void col_write_concurrency(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	ets_add_write_concurrency(out, ROW(row));
}

/* Processes in the order of their making, as far as terms tell. */
static int by_owner(const void *a, const void *b)
{
	return ROW(a)->owner < ROW(b)->owner ? -1 : ROW(a)->owner > ROW(b)->owner;
}

/* With the name as it is, not as it is written. */
static void json_name(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	size_t len = 0;
	const char *text = beam_atom_text(VIEW(ctx)->node->atoms, ROW(row)->name, &len);

	jsonw_stringn(w, name, text ? text : "", len); /* '' is a name */
}

static void json_owner_name(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	struct strbuf text = STRBUF_INIT;

	ets_add_atom(&text, VIEW(ctx), ets_owner_name(VIEW(ctx), ROW(row)));
	jsonw_text(w, name, &text);
	strbuf_free(&text);
}

static void json_write_concurrency(struct jsonw *w, const char *name, const void *row,
				   const void *ctx)
{
	struct strbuf text = STRBUF_INIT;

	(void)ctx;
	ets_add_write_concurrency(&text, ROW(row));
	if (ROW(row)->write_concurrency <= ETS_WRITE_TRUE)
		jsonw_bool(w, name, ROW(row)->write_concurrency == ETS_WRITE_TRUE);
	else
		jsonw_text(w, name, &text);
	strbuf_free(&text);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct ets_table, member)

static const struct table_column ets_columns[] = {
	{"name", "NAME", .text = col_name, .json = json_name},
	{TABLE_NUMBER("bytes", "MEMORY", BYTES, bytes)},
	{FIELD("memory", "WORDS", COUNT, memory), .hidden = true},
	{FIELD("size", "OBJECTS", COUNT, size)},
	{"type", "TYPE", .text = col_type},
	{"protection", "ACCESS", .text = col_protection},
	{"owner", "OWNER", .text = col_owner, .compare = by_owner},
	{"owner_name", "OWNER NAME", .text = col_owner_name, .json = json_owner_name},
	{"id", "ID", .text = col_id},
	{FIELD("keypos", "KEYPOS", COUNT, keypos), .hidden = true},
	{"heir", "HEIR", .text = col_heir, .hidden = true},
	{FIELD("compressed", "COMPRESSED", FLAG, compressed), .hidden = true},
	{FIELD("named_table", "NAMED", FLAG, named), .hidden = true},
	{FIELD("read_concurrency", "READ CONC", FLAG, read_concurrency), .hidden = true},
	{"write_concurrency", "WRITE CONC", .text = col_write_concurrency, .hidden = true,
	 .json = json_write_concurrency},
	{FIELD("decentralized_counters", "DECENTRALIZED", FLAG, decentralized), .hidden = true},
	{FIELD("fixed", "FIXED", FLAG, fixed), .hidden = true},
	{0},
};

void ets_json_fields(struct jsonw *w, struct ets_view *v, const struct ets_table *t)
{
	table_json_fields(ets_columns, w, t, v);
	if (t->torn)
		jsonw_bool(w, "torn", true);
}

void ets_warning(struct strbuf *out, const struct ets_list *l)
{
	if (l->lists_truncated)
		strbuf_addf(out,
			    "the lists of %" PRIu64 " schedulers changed too fast: tables may be "
			    "missing (%zu of about %" PRIu64 " read)",
			    l->lists_truncated, l->len, l->counted);
}

void ets_json_end(struct jsonw *w, const struct ets_view *v, uint64_t objects_torn,
		  struct error *err, int *rc)
{
	struct envelope_counter counters[] = {
		{"tables_counted", v->list.counted},
		{"vanished", v->list.vanished},
		{"torn", v->list.torn},
		{"lists_truncated", v->list.lists_truncated},
		{"objects_torn", objects_torn},
	};
	struct strbuf warning = STRBUF_INIT;
	const char *text;

	ets_warning(&warning, &v->list);
	text = warning.buf;
	*rc = envelope_end(w, &text, warning.len ? 1 : 0, counters,
			   sizeof(counters) / sizeof(counters[0]), err);
	strbuf_free(&warning);
}

static int write_json(struct command_context *ctx, struct ets_view *v, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, v->node);
	jsonw_begin_rows(&w, "data");
	for (size_t i = 0; i < nr; i++) {
		jsonw_begin_object(&w, NULL);
		ets_json_fields(&w, v, &v->list.data[order[i]]);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	free(order);
	ets_json_end(&w, v, 0, err, &rc);
	return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void say_totals(const struct ets_list *l)
{
	struct strbuf warning = STRBUF_INIT;
	uint64_t words = 0;
	char bytes[32];

	for (size_t i = 0; i < l->len; i++)
		words += l->data[i].memory;
	log_warn("%zu tables, %s in all", l->len,
		 units_format_bytes(words * ETS_WORD_BYTES, bytes, sizeof(bytes)));
	if (l->vanished)
		log_warn("%" PRIu64 " were deleted while ebeam looked", l->vanished);
	if (l->torn)
		log_warn("%" PRIu64 " with numbers that kept changing (~)", l->torn);
	ets_warning(&warning, l);
	if (warning.len)
		log_warn("ebeam: %s", warning.buf);
	strbuf_free(&warning);
}

static int show_all(struct command_context *ctx, struct ets_view *v,
		    const struct table_options *options, struct error *err)
{
	struct table table = {.columns = ets_columns,
			      .rows = v->list.data,
			      .nr_rows = v->list.len,
			      .row_size = sizeof(struct ets_table),
			      .ctx = v};
	int rc;

	if (ctx->opt.json)
		return write_json(ctx, v, &table, options, err);
	rc = table_write(ctx->out, &table, options, err);
	if (!rc) {
		outfile_flush(ctx->out); /* the totals stand below */
		say_totals(&v->list);
	}
	return rc;
}

static bool owner_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct ets_list *)ctx)->data[id].owner == *(const uint64_t *)key;
}

/* Most processes that own tables own several. */
static void read_owner_names(struct ets_view *v)
{
	struct idmap first = IDMAP_INIT; /* table of each owner */

	v->owner_names = xcalloc(v->list.len + 1, sizeof(*v->owner_names));
	for (size_t i = 0; i < v->list.len; i++) {
		uint64_t owner = v->list.data[i].owner;
		uint32_t hash = hash_mix(1, owner);
		uint32_t known = idmap_find(&first, hash, owner_equal, &v->list, &owner);
		struct process_facts facts;

		if (known != IDMAP_NONE) {
			v->owner_names[i] = v->owner_names[known];
			continue;
		}
		idmap_add(&first, hash, (uint32_t)i);
		if (process_read(v->node, owner, 0, &facts) == 0)
			v->owner_names[i] = facts.registered;
	}
	idmap_free(&first);
}

/* v->node is set. */
static int open_view(struct ets_view *v, struct error *err)
{
	int rc = target_need(v->node, v->node->anchors.sched, "schedulers", err);

	if (rc)
		return rc;
	rc = term_reader_init(&v->reader, &v->formats, v->node);
	return rc ? beam_node_unreadable(v->node, "process table", rc, err) : 0;
}

static void forget_tables(struct ets_view *v)
{
	ets_list_free(&v->list);
	free(v->owner_names);
	v->owner_names = NULL;
}

static int read_view(struct ets_view *v, struct error *err)
{
	int rc = ets_read(v->node, &v->list, err);

	if (!rc)
		read_owner_names(v);
	return rc;
}

/* ---- again and again ------------------------------------------------------------------------- */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct ets_view *v = view;

	v->node = n;
	return open_view(v, err);
}

static int read_into(void *view, struct error *err)
{
	return read_view(view, err);
}

static void rows_table(void *view, struct table *out)
{
	struct ets_view *v = view;

	out->rows = v->list.data;
	out->nr_rows = v->list.len;
	out->ctx = v;
}

static uint64_t row_id(const void *row)
{
	return ROW(row)->btid;
}

static void forget_rows(void *view)
{
	forget_tables(view);
}

static const struct table table_of_rows = {.columns = ets_columns,
					   .row_size = sizeof(struct ets_table)};

const struct row_source ets_rows = {
	.view_size = sizeof(struct ets_view),
	.open = open_rows,
	.read = read_into,
	.forget = forget_rows,
	.rows = rows_table,
	.id = row_id,
	.table = &table_of_rows,
};

/* ---- the command ----------------------------------------------------------------------------- */

int cmd_ets(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "memory");
	struct table columns = {.columns = ets_columns, .row_size = sizeof(struct ets_table)};
	struct ets_view v = {0};
	int rc = table_check(&columns, &options, err);

	if (!rc && ctx->nr_args && (ctx->opt.columns || ctx->opt.sort))
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			       "-c and -s are for the list of all tables, not for one");
	rc = rc ? rc : target_open(&v.node, ctx, err);
	rc = rc ? rc : open_view(&v, err);
	v.reader.style = ctx->opt.elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	rc = rc ? rc : read_view(&v, err);
	if (!rc)
		rc = ctx->nr_args ? ets_show_table(ctx, &v, ctx->args[0], err)
				  : show_all(ctx, &v, &options, err);
	forget_tables(&v);
	return target_close(v.node, rc, err);
}
