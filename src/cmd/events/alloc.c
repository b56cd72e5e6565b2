/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam alloc`: carriers by allocator: created, destroyed, moved through the pool, and those that
 * exist now; of a node or of a capture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/allocators.h"
#include "cmd/run/event_run.h"
#include "model/stats/carrier_stats.h"
#include "view/events/alloc_view.h"

/* Carriers of an allocator, read as by `ebeam mem`. */
struct held {
	char type[24];
	struct alloc_held has;
};

struct alloc {
	struct command_context *ctx;
	struct event_run *run;
	struct carrier_stats stats;
	VEC(struct held) begin, now;
	bool began;
};

/* ---- what the node has ----------------------------------------------------------------------- */

static void add_held(struct alloc_carriers *to, const struct allocator_count *from)
{
	to->carriers += from->carriers;
	to->bytes += from->carriers_size;
}

/* Reads the carriers of all allocators; none if the node has exited. */
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
		add_held(&h->has.mbcs, &from->mbcs);
		add_held(&h->has.sbcs, &from->sbcs);
		add_held(&h->has.pool, &from->pool);
	}
	allocators_free(&all);
	if (!begin)
		return;
	a->begin.len = 0;
	for (size_t i = 0; i < a->now.len; i++)
		vec_push(&a->begin, a->now.data[i]);
}

static const struct alloc_held *held_of(const struct held *v, size_t nr, const char *type)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(v[i].type, type) == 0)
			return &v[i].has;
	}
	return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct rows {
	VEC(struct alloc_row) v;
};

static struct alloc_row *row_of(struct rows *r, const char *type)
{
	const struct alloc_row row = {.type = type};

	for (size_t i = 0; i < r->v.len; i++) {
		if (strcmp(r->v.data[i].type, type) == 0)
			return &r->v.data[i];
	}
	vec_push(&r->v, row);
	return &r->v.data[r->v.len - 1];
}

/* Change of the bytes in carriers.  From events if all were seen; else from the allocators' own
 * sizes, as the difference of estimates would be too inexact.  NAN = not known. */
static double delta_of(const struct alloc_row *r, bool sampled)
{
	if (!sampled)
		return (double)carrier_row_delta(&r->c);
	if (r->now && r->begin)
		return (double)(int64_t)(alloc_held_bytes(r->now) - alloc_held_bytes(r->begin));
	return NAN;
}

/* Rows for the allocators of the node, then for those that are only known from events. */
static void make_rows(const struct alloc *a, struct rows *r, double seconds, bool sampled)
{
	const struct names *names = event_run_stream(a->run)->names;

	for (size_t i = 0; i < a->now.len; i++)
		row_of(r, a->now.data[i].type)->now = &a->now.data[i].has;
	for (size_t i = 0; i < a->stats.rows.len; i++) {
		const struct carrier_row *c = &a->stats.rows.data[i];
		const char *type = c->type ? names_string(names, c->type) : NULL;
		struct alloc_row *row = row_of(r, type ? type : "[unknown]");

		row->c = *c;
		carrier_row_scale(&a->stats, &row->c);
	}
	for (size_t i = 0; i < r->v.len; i++) {
		struct alloc_row *row = &r->v.data[i];

		row->begin = held_of(a->begin.data, a->begin.len, row->type);
		row->delta = delta_of(row, sampled);
		row->churn = units_rate((double)carrier_row_churn(&row->c), seconds);
	}
}

/* ---- the command ----------------------------------------------------------------------------- */

static void on_ready(void *arg)
{
	struct alloc *a = arg;

	carrier_stats_open(&a->stats, event_run_stream(a->run));
}

static int show(void *arg, bool last, struct error *err)
{
	struct alloc *a = arg;
	const struct coverage *coverage = &event_run_stream(a->run)->coverage;
	const struct table_options o = event_run_table_options(a->run, "churn", 0);
	struct alloc_answer answer = {
		.sizes = &a->stats.sizes,
		.sizes_scale = 1 / coverage_share(coverage, EVENT_CARRIER_CREATE),
		.share_seen = coverage_share_of(coverage, CARRIER_STATS_KINDS),
	};
	uint64_t start_ns, end_ns;
	struct rows rows = {0};
	int rc;

	read_carriers(a, false);
	event_run_span(a->run, &start_ns, &end_ns);
	answer.duration_ns = end_ns - start_ns;
	make_rows(a, &rows, (double)answer.duration_ns / 1e9, answer.share_seen < 1);
	answer.rows = rows.v.data;
	answer.nr_rows = rows.v.len;
	rc = event_run_show(a->run, &alloc_view, &answer, CARRIER_STATS_KINDS, &o, err);
	vec_free(&rows.v);
	if (!last) {
		carrier_stats_restart(&a->stats);
		read_carriers(a, true);
	}
	return rc;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct alloc *a = arg;

	carrier_stats_take(&a->stats, kind, ev);
	return 0;
}

/* At the first drain: reads the carriers that the node has at the begin. */
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
	struct alloc a = {.ctx = ctx};
	const struct event_consumer consumer = {
		.kinds = CARRIER_STATS_KINDS,
		.columns = alloc_columns,
		.arg = &a,
		.ready = on_ready,
		.event = on_event,
		.drained = on_drained,
		.show = show,
	};
	int rc = event_run(ctx, &consumer, &a.run, err);

	carrier_stats_close(&a.stats);
	vec_free(&a.begin);
	vec_free(&a.now);
	event_run_close(a.run);
	return rc;
}
