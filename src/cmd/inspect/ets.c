/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam ets`: the ETS tables of a node, one row each, as ets:info/1 has them; or, with a name, one
 * table and some of its objects (ets_table.c).
 */
#include "cmd/inspect/ets.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/log.h"
#include "base/search.h"
#include "base/units.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "cmd/run/watch.h"

#define WORD_BYTES 8
/* Rows that --watch shows on a terminal without -n. */
#define WATCH_ROWS    50
#define WATCH_COLUMNS "name,bytes,bytes_per_s,size,size_per_s,type,protection,owner,owner_name,id"

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

/* ---- rates ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	uint64_t x = ((const struct ets_before *)a)->key, y = ((const struct ets_before *)b)->key;

	return x < y ? -1 : x > y;
}

static void set_rates(const struct ets_reading *v, struct ets_row *r, double seconds)
{
	size_t nr = COUNT_UP_TO(v->before.len, i, v->before.data[i].key, r->key);
	const struct ets_before *b = nr ? &v->before.data[nr - 1] : NULL;

	r->bytes_per_s = r->size_per_s = NAN;
	r->rates = v->read_ns;
	if (!v->read_ns || seconds <= 0 || !b || b->key != r->key || r->torn)
		return;
	r->bytes_per_s = ((double)r->bytes - (double)b->bytes) / seconds;
	r->size_per_s = ((double)r->objects - (double)b->objects) / seconds;
}

/* Sets the rates of all rows, and keeps what the next reading needs for its own. */
static void add_rates(struct ets_reading *v, uint64_t now_ns)
{
	double seconds = (double)(now_ns - v->read_ns) / 1e9;

	for (size_t i = 0; i < v->rows.len; i++)
		set_rates(v, &v->rows.data[i], seconds);
	v->read_ns = now_ns;
	v->before.len = 0;
	for (size_t i = 0; i < v->rows.len; i++) {
		const struct ets_row *r = &v->rows.data[i];
		struct ets_before b = {r->key, r->objects, r->bytes};

		if (!r->torn)
			vec_push(&v->before, b);
	}
	if (v->before.len)
		qsort(v->before.data, v->before.len, sizeof(*v->before.data), by_key);
}

static int read_rows(void *view, struct error *err)
{
	struct ets_reading *v = view;
	uint64_t now_ns = clock_monotonic_ns();
	struct idmap first = IDMAP_INIT; /* owner -> its first table */
	int rc = ets_read(v->node, &v->list, err);

	for (size_t i = 0; !rc && i < v->list.len; i++) {
		struct ets_row r = make_row(v, &v->list.data[i]);

		add_owner(v, &r, &first);
		vec_push(&v->rows, r);
	}
	idmap_free(&first);
	if (!rc)
		add_rates(v, now_ns);
	return rc;
}

static void forget_rows(void *view)
{
	struct ets_reading *v = view;

	ets_list_free(&v->list);
	vec_free(&v->rows);
	arena_free(&v->texts);
}

static void close_rows(void *view)
{
	vec_free(&((struct ets_reading *)view)->before);
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
	.close = close_rows,
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

/* What a run of the command has; --watch writes one answer after the other. */
struct ets_run {
	struct command_context *ctx;
	struct ets_reading v;
	struct table_options options;
};

static int show_all(void *arg, struct error *err)
{
	struct ets_run *r = arg;
	struct command_context *ctx = r->ctx;
	struct table table = ets_table;
	struct jsonw w = JSONW(ctx->out);
	int rc;

	give_rows(&r->v, &table);
	if (ctx->opt.json) {
		w.one_line = ctx->opt.watch_ns;
		target_json_begin(&w, ctx, r->v.node);
		table_json_rows(&w, "data", &table, &r->options);
		return ets_json_end(&w, &r->v, 0, err);
	}
	rc = table_write(ctx->out, &table, &r->options, err);
	if (!rc && !ctx->opt.watch_ns) {
		outfile_flush(ctx->out); /* before the totals on stderr */
		say_totals(&r->v.list);
	}
	return rc;
}

static int read_again(void *arg, struct error *err)
{
	struct ets_run *r = arg;

	forget_rows(&r->v);
	return read_rows(&r->v, err);
}

static int watch_all(struct ets_run *r, struct error *err)
{
	struct watch w = {.node = r->v.node,
			  .opt = &r->ctx->opt,
			  .out = r->ctx->out,
			  .text = !r->ctx->opt.json,
			  .read = read_again,
			  .write = show_all,
			  .arg = r};

	if (!r->options.columns)
		r->options.columns = WATCH_COLUMNS;
	if (!r->options.limit && !r->ctx->opt.json && isatty(fileno(r->ctx->out)))
		r->options.limit = WATCH_ROWS;
	return watch_run(&w, err);
}

static int check_options(const struct command_context *ctx, const struct table_options *options,
			 struct error *err)
{
	const struct options *o = &ctx->opt;
	int rc = table_check(&ets_table, options, err);

	rc = rc ? rc : watch_check_options(o, err);
	if (rc)
		return rc;
	if (ctx->nr_args && (o->columns || o->sort || o->watch_ns))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-c, -s and --watch are for the list of all tables, not for one");
	if (o->sort && !o->watch_ns && strstr(o->sort, "_per_s"))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-s %s needs --watch: a rate is known from two readings", o->sort);
	return 0;
}

int cmd_ets(struct command_context *ctx, struct error *err)
{
	struct ets_run r = {.ctx = ctx, .options = render_table_options(ctx, "memory")};
	struct ets_reading *v = &r.v;
	int rc = check_options(ctx, &r.options, err);

	rc = rc ? rc : target_open(&v->node, ctx, err);
	rc = rc ? rc : open_rows(v, v->node, err);
	v->reader.style = ctx->opt.elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	if (!rc && ctx->opt.watch_ns)
		rc = watch_all(&r, err);
	else if (!rc)
		rc = read_rows(v, err);
	if (!rc && !ctx->opt.watch_ns)
		rc = ctx->nr_args ? ets_show_table(ctx, v, ctx->args[0], err) : show_all(&r, err);
	forget_rows(v);
	close_rows(v);
	return watch_close(&ctx->opt, v->node, rc, err);
}
