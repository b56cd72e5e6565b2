/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam ets`: the ETS tables of a node, one row each, as ets:info/1 has them; or, with a name, one
 * table and some of its objects (ets_table.c).
 */
#include "cmd/inspect/ets.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"

#define WORD_BYTES 8

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *write_concurrency(struct ets_reading *v, const struct ets_table *t)
{
	static const char *const names[] = {"false", "true", "auto"};
	char buf[64];

	if (t->write_concurrency != ETS_WRITE_LOCKS)
		return names[t->write_concurrency];
	snprintf(buf, sizeof(buf), "{debug_hash_fixed_number_of_locks,%" PRIu32 "}", t->nr_locks);
	return arena_copy(&v->texts, buf);
}

static struct ets_row make_row(struct ets_reading *v, const struct ets_table *t)
{
	struct ets_row r = {.key = t->btid,
			    .owner_term = t->owner,
			    .bytes = t->memory * WORD_BYTES,
			    .words = t->memory,
			    .objects = t->size,
			    .keypos = t->keypos,
			    .type = ets_type_name(t->type),
			    .protection = ets_protection_name(t->protection),
			    .write_concurrency = write_concurrency(v, t),
			    .compressed = t->compressed,
			    .named = t->named,
			    .read_concurrency = t->read_concurrency,
			    .decentralized = t->decentralized,
			    .fixed = t->fixed,
			    .torn = t->torn};

	r.name.text = beam_atom_text(v->node->atoms, t->name, &r.name.len);
	ets_id_format(t, r.id, sizeof(r.id));
	if (t->heir)
		pid_format(&v->formats.pids, t->heir, r.heir, sizeof(r.heir));
	return r;
}

static bool owner_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct ets_list *)ctx)->data[id].owner == *(const uint64_t *)key;
}

/* Sets the owner of a row.  Most owners have several tables: each is looked up only once. */
static void add_owner(struct ets_reading *v, struct ets_row *r, struct idmap *first)
{
	uint32_t hash = hash_mix(1, r->owner_term);
	uint32_t known = idmap_find(first, hash, owner_equal, &v->list, &r->owner_term);
	struct process_facts facts;

	if (known != IDMAP_NONE) {
		memcpy(r->owner, v->rows.data[known].owner, sizeof(r->owner));
		r->owner_name = v->rows.data[known].owner_name;
		return;
	}
	idmap_add(first, hash, (uint32_t)v->rows.len);
	pid_format(&v->formats.pids, r->owner_term, r->owner, sizeof(r->owner));
	if (process_read(v->node, r->owner_term, 0, &facts) == 0)
		r->owner_name.text =
			beam_atom_text(v->node->atoms, facts.registered, &r->owner_name.len);
}

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct ets_reading *v = view;
	int rc = target_need(n, n->anchors.sched, "schedulers", err);

	v->node = n;
	if (rc)
		return rc;
	rc = term_reader_init(&v->reader, &v->formats, n);
	return rc ? beam_node_unreadable(n, "process table", rc, err) : 0;
}

static int read_rows(void *view, struct error *err)
{
	struct ets_reading *v = view;
	struct idmap first = IDMAP_INIT; /* owner -> its first table */
	int rc = ets_read(v->node, &v->list, err);

	for (size_t i = 0; !rc && i < v->list.len; i++) {
		struct ets_row r = make_row(v, &v->list.data[i]);

		add_owner(v, &r, &first);
		vec_push(&v->rows, r);
	}
	idmap_free(&first);
	return rc;
}

static void forget_rows(void *view)
{
	struct ets_reading *v = view;

	ets_list_free(&v->list);
	vec_free(&v->rows);
	arena_free(&v->texts);
}

static void give_rows(void *view, struct table *out)
{
	struct ets_reading *v = view;

	out->rows = v->rows.data;
	out->nr_rows = v->rows.len;
}

static uint64_t row_id(const void *row)
{
	return ((const struct ets_row *)row)->key;
}

const struct row_source ets_rows = {
	.view_size = sizeof(struct ets_reading),
	.open = open_rows,
	.read = read_rows,
	.forget = forget_rows,
	.rows = give_rows,
	.id = row_id,
	.table = &ets_table,
};

/* ---- the command ----------------------------------------------------------------------------- */

static void add_warning(struct strbuf *out, const struct ets_list *l)
{
	if (l->lists_truncated)
		strbuf_addf(out,
			    "the lists of tables of %" PRIu64 " schedulers could not be read to "
			    "their end: tables may be missing (%zu of about %" PRIu64 " read)",
			    l->lists_truncated, l->len, l->counted);
}

int ets_json_end(struct jsonw *w, const struct ets_reading *v, uint64_t objects_torn,
		 struct error *err)
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
	int rc;

	add_warning(&warning, &v->list);
	text = warning.buf;
	rc = envelope_end(w, &text, warning.len ? 1 : 0, counters, ARRAY_SIZE(counters), err);
	strbuf_free(&warning);
	return rc;
}

static void say_totals(const struct ets_list *l)
{
	struct strbuf warning = STRBUF_INIT;
	uint64_t words = 0;
	char bytes[32];

	for (size_t i = 0; i < l->len; i++)
		words += l->data[i].memory;
	log_warn("%zu tables, %s in all", l->len,
		 units_format_bytes(words * WORD_BYTES, bytes, sizeof(bytes)));
	if (l->vanished)
		log_warn("%" PRIu64 " tables were deleted while they were read", l->vanished);
	if (l->torn)
		log_warn("%" PRIu64 " tables changed each time they were read: their size and "
			 "memory may be wrong (~)",
			 l->torn);
	add_warning(&warning, l);
	if (warning.len)
		log_warn("ebeam: %s", warning.buf);
	strbuf_free(&warning);
}

static int show_all(struct command_context *ctx, struct ets_reading *v,
		    const struct table_options *options, struct error *err)
{
	struct table table = ets_table;
	struct jsonw w = JSONW(ctx->out);
	int rc;

	give_rows(v, &table);
	if (ctx->opt.json) {
		target_json_begin(&w, ctx, v->node);
		table_json_rows(&w, "data", &table, options);
		return ets_json_end(&w, v, 0, err);
	}
	rc = table_write(ctx->out, &table, options, err);
	if (!rc) {
		outfile_flush(ctx->out); /* before the totals on stderr */
		say_totals(&v->list);
	}
	return rc;
}

int cmd_ets(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "memory");
	struct ets_reading v = {0};
	int rc = table_check(&ets_table, &options, err);

	if (!rc && ctx->nr_args && (ctx->opt.columns || ctx->opt.sort))
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			       "-c and -s are for the list of all tables, not for one");
	rc = rc ? rc : target_open(&v.node, ctx, err);
	rc = rc ? rc : open_rows(&v, v.node, err);
	v.reader.style = ctx->opt.elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	rc = rc ? rc : read_rows(&v, err);
	if (!rc)
		rc = ctx->nr_args ? ets_show_table(ctx, &v, ctx->args[0], err)
				  : show_all(ctx, &v, &options, err);
	forget_rows(&v);
	return target_close(v.node, rc, err);
}
