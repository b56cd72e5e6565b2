/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam alloc`: carriers by allocator: what they get from the system and give back, what goes
 * through the pool, and what they have now; of a node or of a capture.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/vm/allocators.h"
#include "cmd/output/render.h"
#include "cmd/run/event_run.h"
#include "model/stats/carrier_stats.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"
#include "view/table/table.h"

/* What an allocator has, as `ebeam mem` reads it, all its instances together. */
struct held {
	char type[24];
	struct carriers_held {
		uint64_t carriers, bytes;
	} mbcs, sbcs, pool;
};

struct alloc {
	struct command_context *ctx;
	struct event_run *run;
	struct carrier_stats stats;
	VEC(struct held) begin, now;
	bool open, began;
};

struct row {
	const char *type;
	struct carrier_row c;	 /* all zero: nothing happened; scaled for what was sampled */
	const struct held *held; /* NULL: of a capture */
	int64_t delta;		 /* bytes */
	bool no_delta;		 /* too little was seen to tell it */
	double seconds;
};

#define ROW(p) ((const struct row *)(p))

/* ---- columns --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct held *h)
{
	return h->mbcs.bytes + h->sbcs.bytes + h->pool.bytes;
}

static uint64_t carriers_of(const struct held *h)
{
	return h->mbcs.carriers + h->sbcs.carriers + h->pool.carriers;
}

#define VALUE(name, value) TABLE_VALUE(name, struct row, value)

VALUE(churn, units_rate((double)carrier_row_churn(&r->c), r->seconds))
VALUE(created, r->c.mbcs.created + r->c.sbcs.created)
VALUE(created_bytes, r->c.mbcs.created_bytes + r->c.sbcs.created_bytes)
VALUE(destroyed, r->c.mbcs.destroyed + r->c.sbcs.destroyed)
VALUE(destroyed_bytes, r->c.mbcs.destroyed_bytes + r->c.sbcs.destroyed_bytes)
VALUE(carriers_now, r->held ? (double)carriers_of(r->held) : NAN)
VALUE(bytes_now, r->held ? (double)bytes_of(r->held) : NAN)
VALUE(mbcs_now, r->held ? (double)r->held->mbcs.carriers : NAN)
VALUE(sbcs_now, r->held ? (double)r->held->sbcs.carriers : NAN)
VALUE(pool_now, r->held ? (double)r->held->pool.carriers : NAN)
VALUE(delta, r->no_delta ? NAN : (double)r->delta)

static void text_delta(struct strbuf *out, const void *row, const void *ctx)
{
	int64_t d = ROW(row)->delta;

	UNUSED(ctx);
	if (ROW(row)->no_delta)
		return;
	strbuf_addstr(out, d > 0 ? "+" : d < 0 ? "-" : "");
	cell_bytes(out, fabs((double)d));
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct row, member)
#define NUMBER(name, title, type)	 TABLE_NUMBER(#name, title, type, name)

static const struct table_column columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{NUMBER(churn, "CHURN/s", PERCENT)},
	{NUMBER(created, "CREATED", COUNT)},
	{NUMBER(created_bytes, "BYTES", BYTES)},
	{NUMBER(destroyed, "DESTROYED", COUNT)},
	{NUMBER(destroyed_bytes, "BYTES", BYTES)},
	{FIELD("resized", "RESIZED", COUNT, c.resized), .hidden = true},
	{NUMBER(delta, "DELTA", BYTES), .text = text_delta},
	{FIELD("pool_put", "TO POOL", COUNT, c.pool_put)},
	{FIELD("pool_get", "FROM POOL", COUNT, c.pool_get)},
	{NUMBER(carriers_now, "CARRIERS", COUNT)},
	{NUMBER(bytes_now, "NOW", BYTES)},
	{NUMBER(mbcs_now, "MBCS", COUNT), .hidden = true},
	{NUMBER(sbcs_now, "SBCS", COUNT), .hidden = true},
	{NUMBER(pool_now, "IN POOL", COUNT), .hidden = true},
	{0},
};

/* ---- what the node has ----------------------------------------------------------------------- */

static void add_held(struct carriers_held *to, const struct allocator_count *from)
{
	to->carriers += from->carriers;
	to->bytes += from->carriers_size;
}

/* Nothing, of a node that has exited. */
static void read_carriers(struct alloc *a, bool begin)
{
	struct beam_node *n = event_run_node(a->run);
	struct allocators all;
	struct error why;

	a->now.len = 0;
	if (!n || allocators_read(&all, n, &why) != 0)
		return;
	for (size_t i = 0; i < all.v.len; i++) {
		const struct allocator *from = &all.v.data[i];
		struct held *h = NULL;

		for (size_t k = 0; k < a->now.len && !h; k++) {
			if (strcmp(a->now.data[k].type, from->type) == 0)
				h = &a->now.data[k];
		}
		if (!h) {
			vec_push(&a->now, ((struct held){.type = ""}));
			h = &a->now.data[a->now.len - 1];
			strncpy(h->type, from->type, sizeof(h->type) - 1);
		}
		add_held(&h->mbcs, &from->mbcs);
		add_held(&h->sbcs, &from->sbcs);
		add_held(&h->pool, &from->pool);
	}
	allocators_free(&all);
	if (!begin)
		return;
	a->begin.len = 0;
	for (size_t i = 0; i < a->now.len; i++)
		vec_push(&a->begin, a->now.data[i]);
}

static const struct held *held_of(const struct held *v, size_t nr, const char *type)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(v[i].type, type) == 0)
			return &v[i];
	}
	return NULL;
}

static double share_seen(const struct alloc *a)
{
	return coverage_share_of(&event_run_stream(a->run)->coverage, CARRIER_STATS_KINDS);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct rows {
	VEC(struct row) v;
	struct table table;
	struct table_options options;
	size_t *order, nr;
};

/* The difference of two estimates says nothing: of what was sampled the node's own numbers do. */
static void set_delta(const struct alloc *a, struct row *r, bool sampled)
{
	const struct held *begin = held_of(a->begin.data, a->begin.len, r->type);

	if (!sampled)
		r->delta = carrier_row_delta(&r->c);
	else if (r->held && begin)
		r->delta = (int64_t)(bytes_of(r->held) - bytes_of(begin));
	else
		r->no_delta = true;
}

/* Allocators of the node, then those that only events tell of. */
static void collect(struct alloc *a, struct rows *r, double seconds)
{
	const struct names *names = event_run_stream(a->run)->names;

	for (size_t i = 0; i < a->now.len; i++) {
		const struct row row = {
			.type = a->now.data[i].type, .held = &a->now.data[i], .seconds = seconds};

		vec_push(&r->v, row);
	}
	for (size_t i = 0; i < a->stats.rows.len; i++) {
		const struct carrier_row *c = &a->stats.rows.data[i];
		const char *type = c->type ? names_string(names, c->type) : NULL;
		struct row *row = NULL;

		type = type ? type : "[unknown]";
		for (size_t k = 0; k < r->v.len && !row; k++) {
			if (strcmp(r->v.data[k].type, type) == 0)
				row = &r->v.data[k];
		}
		if (!row) {
			vec_push(&r->v, ((struct row){.type = type, .seconds = seconds}));
			row = &r->v.data[r->v.len - 1];
		}
		row->c = *c;
		carrier_row_scale(&a->stats, &row->c);
	}
	for (size_t i = 0; i < r->v.len; i++)
		set_delta(a, &r->v.data[i], share_seen(a) < 1);
}

static int rows_make(struct alloc *a, struct rows *r, double seconds, struct error *err)
{
	const struct options *o = &a->ctx->opt;

	memset(r, 0, sizeof(*r));
	collect(a, r, seconds);
	r->table = (struct table){.columns = columns,
				  .rows = r->v.data,
				  .nr_rows = r->v.len,
				  .row_size = sizeof(struct row)};
	r->options = (struct table_options){
		.columns = o->columns,
		.sort = o->sort ? o->sort : "churn",
		.limit = o->limit,
		.color = render_color(o, event_run_target(a->run)),
	};
	return table_order(&r->table, &r->options, &r->order, &r->nr, err);
}

static void rows_free(struct rows *r)
{
	free(r->order);
	vec_free(&r->v);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void held_json(struct jsonw *w, const char *key, const struct held *h)
{
	if (!h) {
		jsonw_null(w, key);
		return;
	}
	jsonw_begin_object(w, key);
	jsonw_uint(w, "mbcs", h->mbcs.carriers);
	jsonw_uint(w, "mbcs_bytes", h->mbcs.bytes);
	jsonw_uint(w, "sbcs", h->sbcs.carriers);
	jsonw_uint(w, "sbcs_bytes", h->sbcs.bytes);
	jsonw_uint(w, "pool", h->pool.carriers);
	jsonw_uint(w, "pool_bytes", h->pool.bytes);
	jsonw_end_object(w);
}

static void count_json(struct jsonw *w, const char *key, const struct carrier_count *c)
{
	jsonw_begin_object(w, key);
	jsonw_uint(w, "created", c->created);
	jsonw_uint(w, "created_bytes", c->created_bytes);
	jsonw_uint(w, "destroyed", c->destroyed);
	jsonw_uint(w, "destroyed_bytes", c->destroyed_bytes);
	jsonw_end_object(w);
}

static void row_json(const struct alloc *a, struct jsonw *w, const struct row *r)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "type", r->type);
	jsonw_double(w, "churn", churn(r));
	count_json(w, "mbcs", &r->c.mbcs);
	count_json(w, "sbcs", &r->c.sbcs);
	jsonw_uint(w, "resized", r->c.resized);
	jsonw_uint(w, "grown_bytes", r->c.grown_bytes);
	jsonw_uint(w, "shrunk_bytes", r->c.shrunk_bytes);
	jsonw_uint(w, "pool_put", r->c.pool_put);
	jsonw_uint(w, "pool_put_bytes", r->c.pool_put_bytes);
	jsonw_uint(w, "pool_get", r->c.pool_get);
	jsonw_uint(w, "pool_get_bytes", r->c.pool_get_bytes);
	held_json(w, "begin", held_of(a->begin.data, a->begin.len, r->type));
	held_json(w, "now", r->held);
	jsonw_end_object(w);
}

static double created_scale(const struct alloc *a)
{
	return 1 / coverage_share(&event_run_stream(a->run)->coverage, EVENT_CARRIER_CREATE);
}

static int show_json(struct alloc *a, const struct rows *r, uint64_t duration_ns, struct error *err)
{
	struct jsonw w;

	event_run_json_begin(a->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", duration_ns);
	jsonw_double(&w, "share_seen", share_seen(a));
	histogram_json(&w, "sizes", &a->stats.sizes, created_scale(a));
	jsonw_begin_array(&w, "rows");
	for (size_t i = 0; i < r->nr; i++)
		row_json(a, &w, &r->v.data[r->order[i]]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return event_run_json_end(a->run, &w, err);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_counts(struct carrier_row *to, const struct carrier_row *from)
{
	to->mbcs.created += from->mbcs.created + from->sbcs.created;
	to->mbcs.created_bytes += from->mbcs.created_bytes + from->sbcs.created_bytes;
	to->mbcs.destroyed += from->mbcs.destroyed + from->sbcs.destroyed;
	to->mbcs.destroyed_bytes += from->mbcs.destroyed_bytes + from->sbcs.destroyed_bytes;
}

static void write_totals(FILE *f, const struct rows *r, uint64_t duration_ns)
{
	struct row sum = {0};
	struct strbuf line = STRBUF_INIT;
	char buf[32];

	for (size_t i = 0; i < r->v.len; i++)
		add_counts(&sum.c, &r->v.data[i].c);
	strbuf_addf(&line, "In %s: ", units_format_ns(duration_ns, buf, sizeof(buf)));
	cell_count(&line, (uint64_t)created(&sum));
	strbuf_addstr(&line, " carriers created (");
	cell_bytes(&line, created_bytes(&sum));
	strbuf_addstr(&line, "), ");
	cell_count(&line, (uint64_t)destroyed(&sum));
	strbuf_addstr(&line, " destroyed (");
	cell_bytes(&line, destroyed_bytes(&sum));
	fprintf(f, "%s)\n", line.buf);
	strbuf_free(&line);
}

static int show_text(struct alloc *a, const struct rows *r, uint64_t duration_ns, struct error *err)
{
	FILE *f = event_run_out(a->run);

	event_run_begin_screen(a->run);
	write_totals(f, r, duration_ns);
	event_run_tell_sampled(a->run, CARRIER_STATS_KINDS);
	fputc('\n', f);
	if (a->stats.sizes.nr) {
		histogram_write(f, "sizes of those created", &a->stats.sizes, HISTOGRAM_BYTES,
				created_scale(a));
		fputc('\n', f);
	}
	return r->v.len ? table_write(f, &r->table, &r->options, err) : 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The stream is there once the run has begun. */
static void open_stats(struct alloc *a)
{
	if (!a->open)
		carrier_stats_open(&a->stats, event_run_stream(a->run));
	a->open = true;
}

static int show(void *arg, bool last, struct error *err)
{
	struct alloc *a = arg;
	uint64_t start_ns, end_ns, duration_ns;
	struct rows rows;
	int rc;

	open_stats(a);
	read_carriers(a, false);
	event_run_span(a->run, &start_ns, &end_ns);
	duration_ns = end_ns - start_ns;
	rc = rows_make(a, &rows, (double)duration_ns / 1e9, err);
	if (rc == 0)
		rc = a->ctx->opt.json ? show_json(a, &rows, duration_ns, err)
				      : show_text(a, &rows, duration_ns, err);
	rows_free(&rows);
	if (!last) {
		carrier_stats_restart(&a->stats);
		read_carriers(a, true);
	}
	return rc;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct alloc *a = arg;

	open_stats(a);
	carrier_stats_take(&a->stats, kind, ev);
	return 0;
}

/* The first time: what the node had when it began, as nearly as that can be known. */
static int on_drained(void *arg, struct error *err)
{
	struct alloc *a = arg;

	UNUSED(err);
	if (!a->began)
		read_carriers(a, true);
	a->began = true;
	return 0;
}

int cmd_alloc(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct alloc a = {.ctx = ctx};
	const struct table table = {.columns = columns};
	const struct table_options options = {.columns = o->columns, .sort = o->sort};
	const struct event_consumer consumer = {
		.kinds = CARRIER_STATS_KINDS,
		.arg = &a,
		.event = on_event,
		.drained = on_drained,
		.show = show,
	};
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : event_run(ctx, &consumer, &a.run, err);
	carrier_stats_close(&a.stats);
	vec_free(&a.begin);
	vec_free(&a.now);
	event_run_close(a.run);
	return rc;
}
