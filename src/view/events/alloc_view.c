/* SPDX-License-Identifier: BSD-2-Clause */
/* See alloc_view.h. */
#include "view/events/alloc_view.h"

#include <math.h>

#include "base/compiler.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

uint64_t alloc_held_bytes(const struct alloc_held *h)
{
	return h->mbcs.bytes + h->sbcs.bytes + h->pool.bytes;
}

#define VALUE(name, value) TABLE_VALUE(name, struct alloc_row, value)
#define NOW(value)	   (r->now ? (double)(value) : NAN)

VALUE(created, r->c.mbcs.created + r->c.sbcs.created)
VALUE(created_bytes, r->c.mbcs.created_bytes + r->c.sbcs.created_bytes)
VALUE(destroyed, r->c.mbcs.destroyed + r->c.sbcs.destroyed)
VALUE(destroyed_bytes, r->c.mbcs.destroyed_bytes + r->c.sbcs.destroyed_bytes)
VALUE(carriers_now, NOW(r->now->mbcs.carriers + r->now->sbcs.carriers + r->now->pool.carriers))
VALUE(bytes_now, NOW(alloc_held_bytes(r->now)))
VALUE(mbcs_now, NOW(r->now->mbcs.carriers))
VALUE(sbcs_now, NOW(r->now->sbcs.carriers))
VALUE(pool_now, NOW(r->now->pool.carriers))
VALUE(delta, r->delta)

static void text_delta(struct strbuf *out, const void *row, const void *ctx)
{
	double d = ((const struct alloc_row *)row)->delta;

	UNUSED(ctx);
	if (isnan(d))
		return;
	strbuf_addstr(out, d > 0 ? "+" : d < 0 ? "-" : "");
	cell_bytes(out, fabs(d));
}

static void held_json(struct jsonw *w, const char *key, const struct alloc_held *h)
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

static void json_more(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	const struct alloc_row *r = row;

	UNUSED(key);
	UNUSED(ctx);
	count_json(w, "mbcs", &r->c.mbcs);
	count_json(w, "sbcs", &r->c.sbcs);
	jsonw_uint(w, "grown_bytes", r->c.grown_bytes);
	jsonw_uint(w, "shrunk_bytes", r->c.shrunk_bytes);
	jsonw_uint(w, "pool_put_bytes", r->c.pool_put_bytes);
	jsonw_uint(w, "pool_get_bytes", r->c.pool_get_bytes);
	held_json(w, "begin", r->begin);
	held_json(w, "now", r->now);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct alloc_row, member)
/* A column of text that is a sum; JSON has the summands instead. */
#define SUM(name, title, type) TABLE_NUMBER(#name, title, type, name), .json = table_json_none

const struct table_column alloc_columns[] = {
	{FIELD("type", "ALLOCATOR", TEXT, type)},
	{FIELD("churn", "CHURN/s", PERCENT, churn)},
	{SUM(created, "CREATED", COUNT)},
	{SUM(created_bytes, "BYTES", BYTES)},
	{SUM(destroyed, "DESTROYED", COUNT)},
	{SUM(destroyed_bytes, "BYTES", BYTES)},
	{FIELD("resized", "RESIZED", COUNT, c.resized), .hidden = true},
	{SUM(delta, "DELTA", BYTES), .text = text_delta},
	{FIELD("pool_put", "TO POOL", COUNT, c.pool_put)},
	{FIELD("pool_get", "FROM POOL", COUNT, c.pool_get)},
	{SUM(carriers_now, "CARRIERS", COUNT)},
	{SUM(bytes_now, "NOW", BYTES)},
	{SUM(mbcs_now, "MBCS", COUNT), .hidden = true},
	{SUM(sbcs_now, "SBCS", COUNT), .hidden = true},
	{SUM(pool_now, "IN POOL", COUNT), .hidden = true},
	{.json = json_more},
};

static struct table make_table(const struct alloc_answer *a)
{
	return (struct table){.columns = alloc_columns,
			      .rows = a->rows,
			      .nr_rows = a->nr_rows,
			      .row_size = sizeof(*a->rows)};
}

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct alloc_answer *a = answer;
	const struct table t = make_table(a);

	jsonw_uint(w, "duration_ns", a->duration_ns);
	jsonw_double(w, "share_seen", a->share_seen);
	histogram_json(w, "sizes", a->sizes, a->sizes_scale);
	table_json_rows(w, "rows", &t, o);
}

static double sum(const struct alloc_answer *a, double (*value)(const void *row))
{
	double all = 0;

	for (size_t i = 0; i < a->nr_rows; i++)
		all += value(&a->rows[i]);
	return all;
}

static void write_head(FILE *f, const void *answer)
{
	const struct alloc_answer *a = answer;
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(&line, "In ");
	cell_ns(&line, (double)a->duration_ns);
	strbuf_addstr(&line, ": ");
	cell_count(&line, (uint64_t)sum(a, created));
	strbuf_addstr(&line, " carriers created (");
	cell_bytes(&line, sum(a, created_bytes));
	strbuf_addstr(&line, "), ");
	cell_count(&line, (uint64_t)sum(a, destroyed));
	strbuf_addstr(&line, " destroyed (");
	cell_bytes(&line, sum(a, destroyed_bytes));
	fprintf(f, "%s)\n", line.buf);
	strbuf_free(&line);
}

static int write_rest(FILE *f, const void *answer, const struct table_options *o, struct error *err)
{
	const struct alloc_answer *a = answer;
	const struct table t = make_table(a);

	fputc('\n', f);
	if (a->sizes->nr) {
		histogram_write(f, "sizes of those created", a->sizes, HISTOGRAM_BYTES,
				a->sizes_scale);
		fputc('\n', f);
	}
	return t.nr_rows ? table_write(f, &t, o, err) : 0;
}

const struct answer_view alloc_view = {write_head, write_rest, write_json};
