/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of `ebeam trace` instead of lines: --count, --histogram, --args (trace.h). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cmd/trace/trace.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"
#include "view/table/table.h"

#define ROWS_SHOWN 20

/* ---- tables --------------------------------------------------------------------------------- */

struct totals_ctx {
	struct names *names;
	uint64_t calls; /* of all rows */
	bool shapes;	/* what a row is by: a shape, else a caller */
};

static void text_share(struct strbuf *out, const void *row, const void *ctx)
{
	const struct totals_ctx *c = ctx;

	if (c->calls)
		strbuf_addf(out, "%.1f %%",
			    100.0 * (double)((const struct call_row *)row)->calls /
				    (double)c->calls);
}

#define VALUE(name, value) TABLE_VALUE(name, struct call_row, value)

VALUE(exceptions, r->ends ? (double)r->exceptions : NAN)
VALUE(mean, r->ends ? (double)(r->total_ns / r->ends) : NAN)
VALUE(longest, r->ends ? (double)r->max_ns : NAN)

static void text_function(struct strbuf *out, const void *row, const void *ctx)
{
	const struct totals_ctx *c = ctx;
	const struct name_function *f =
		names_function(c->names, ((const struct call_row *)row)->function);

	if (f)
		names_format_function(out, f);
	else
		strbuf_addstr(out, "[others]");
}

static void text_what(struct strbuf *out, const void *row, const void *ctx)
{
	const struct totals_ctx *c = ctx;
	const struct call_row *r = row;

	if (c->shapes) {
		strbuf_addstr(out, r->what ? names_string(c->names, r->what) : "");
		return;
	}
	trace_add_frame(out, c->names, r->what);
}

#define CALLS(name, title) TABLE_FIELD(name, title, COUNT, struct call_row, calls)
#define MEAN_COLUMN	   TABLE_NUMBER("mean_ns", "MEAN", NS, mean)
#define MAX_COLUMN	   TABLE_NUMBER("max_ns", "MAX", NS, longest)

static const struct table_column caller_columns[] = {
	{CALLS("calls", "CALLS")},
	{CALLS("share", "SHARE"), .text = text_share},
	{TABLE_NUMBER("exceptions", "EXCEPTIONS", COUNT, exceptions)},
	{MEAN_COLUMN},
	{MAX_COLUMN},
	{"function", "FUNCTION", .text = text_function},
	{"caller", "CALLER", .text = text_what},
	{0},
};

static const struct table_column shape_columns[] = {
	{CALLS("calls", "CALLS")},
	{CALLS("share", "SHARE"), .text = text_share},
	{MEAN_COLUMN},
	{MAX_COLUMN},
	{"function", "FUNCTION", .text = text_function},
	{"args", "ARGUMENTS", .text = text_what},
	{0},
};

static int write_rows(struct trace *t, const struct call_row *rows, size_t nr, bool shapes,
		      struct error *err)
{
	struct totals_ctx ctx = {.names = event_run_stream(t->run)->names, .shapes = shapes};
	struct table table = {
		.columns = shapes ? shape_columns : caller_columns,
		.rows = rows,
		.nr_rows = nr,
		.row_size = sizeof(*rows),
		.ctx = &ctx,
	};
	const struct options *o = &t->ctx->opt;
	struct table_options options = {.limit = o->limit ? o->limit : ROWS_SHOWN};
	int rc;

	for (size_t i = 0; i < nr; i++)
		ctx.calls += rows[i].calls;
	rc = table_write(event_run_out(t->run), &table, &options, err);
	if (rc == 0)
		event_run_tell_more(t->run, MIN(nr, (size_t)options.limit), nr);
	return rc;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* The functions that were called, most frequent first; malloc'ed. */
static uint32_t *called_functions(struct trace *t, size_t *nr)
{
	size_t nr_rows;
	const struct call_row *rows = call_stats_callers(t->stats, &nr_rows);
	uint32_t *ids = xcalloc(nr_rows + 1, sizeof(*ids));

	*nr = 0;
	for (size_t i = 0; i < nr_rows; i++) {
		bool before = false;

		for (size_t k = 0; k < *nr; k++)
			before = before || ids[k] == rows[i].function;
		if (!before && rows[i].function && *nr < TRACE_FUNCTIONS_MAX)
			ids[(*nr)++] = rows[i].function;
	}
	return ids;
}

static void write_histograms(struct trace *t)
{
	struct names *names = event_run_stream(t->run)->names;
	struct strbuf title = STRBUF_INIT;
	size_t nr;
	uint32_t *ids = called_functions(t, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct histogram *h = call_stats_durations(t->stats, ids[i]);

		strbuf_reset(&title);
		names_format_function(&title, names_function(names, ids[i]));
		if (h)
			histogram_write(event_run_out(t->run), title.buf, h, HISTOGRAM_NS, 1);
		else
			fprintf(event_run_out(t->run),
				"%s: no durations, as no call was seen to return (a capture has "
				"returns if it was recorded with '-> return')\n",
				title.buf);
	}
	strbuf_free(&title);
	free(ids);
}

/* What lines say of each call. */
static void write_unsure(struct trace *t)
{
	const struct event_stream_calls *c = &event_run_stream(t->run)->calls;
	uint64_t hit_ns = MAX(t->ended[0] ? c->hit_ns[0] : 0, t->ended[1] ? c->hit_ns[1] : 0);
	char hit[32], unsure[32];

	if (hit_ns)
		fprintf(event_run_out(t->run),
			"\nDurations are without what tracing took, %s of a call without others "
			"inside: less than %s may be nothing.\n",
			units_format_ns(hit_ns, hit, sizeof(hit)),
			units_format_ns(hit_ns / TRACE_UNSURE, unsure, sizeof(unsure)));
}

static void write_slowest(struct trace *t)
{
	struct names *names = event_run_stream(t->run)->names;
	struct strbuf line = STRBUF_INIT;
	size_t nr;
	const struct call_slow *slow = call_stats_slowest(t->stats, &nr);

	if (nr)
		fprintf(event_run_out(t->run), "\nThe slowest\n");
	for (size_t i = 0; i < nr; i++) {
		strbuf_reset(&line);
		strbuf_addstr(&line, "  ");
		cell_ns(&line, slow[i].ns);
		strbuf_addstr(&line, "  ");
		names_format_function(&line, names_function(names, slow[i].function));
		strbuf_addf(&line, "  %s\n", slow[i].args);
		fputs(line.buf, event_run_out(t->run));
	}
	strbuf_free(&line);
}

static int totals_text(struct trace *t, struct error *err)
{
	const struct options *o = &t->ctx->opt;
	const struct call_row *rows;
	size_t nr;
	int rc = 0;

	if (o->count) {
		rows = call_stats_callers(t->stats, &nr);
		rc = write_rows(t, rows, nr, false, err);
	}
	if (rc == 0 && o->histogram)
		write_histograms(t);
	if (rc == 0 && o->args) {
		rows = call_stats_shapes(t->stats, &nr);
		rc = write_rows(t, rows, nr, true, err);
		write_slowest(t);
	}
	if (rc == 0 && (o->histogram || o->args))
		write_unsure(t);
	return rc;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void row_json(struct trace *t, struct jsonw *w, const struct call_row *r, bool shapes)
{
	struct totals_ctx ctx = {.names = event_run_stream(t->run)->names, .shapes = shapes};
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	text_function(&text, r, &ctx);
	jsonw_string(w, "mfa", text.buf);
	strbuf_reset(&text);
	text_what(&text, r, &ctx);
	jsonw_string(w, shapes ? "args" : "caller", text.len ? text.buf : NULL);
	jsonw_uint(w, "calls", r->calls);
	jsonw_uint(w, "ends", r->ends);
	jsonw_uint(w, "exceptions", r->exceptions);
	jsonw_uint(w, "total_ns", r->total_ns);
	jsonw_uint(w, "max_ns", r->max_ns);
	jsonw_end_object(w);
	strbuf_free(&text);
}

static void rows_json(struct trace *t, struct jsonw *w, const char *key, bool shapes)
{
	size_t nr, limit = t->ctx->opt.limit;
	const struct call_row *rows =
		shapes ? call_stats_shapes(t->stats, &nr) : call_stats_callers(t->stats, &nr);

	jsonw_begin_rows(w, key);
	for (size_t i = 0; i < nr && (!limit || i < limit); i++)
		row_json(t, w, &rows[i], shapes);
	jsonw_end_array(w);
}

static void slowest_json(struct trace *t, struct jsonw *w)
{
	struct names *names = event_run_stream(t->run)->names;
	struct strbuf text = STRBUF_INIT;
	size_t nr;
	const struct call_slow *slow = call_stats_slowest(t->stats, &nr);

	jsonw_begin_rows(w, "slowest");
	for (size_t i = 0; t->ctx->opt.args && i < nr; i++) {
		strbuf_reset(&text);
		names_format_function(&text, names_function(names, slow[i].function));
		jsonw_begin_object(w, NULL);
		jsonw_uint(w, "duration_ns", slow[i].ns);
		jsonw_string(w, "mfa", text.buf);
		jsonw_string(w, "args", slow[i].args);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void durations_json(struct trace *t, struct jsonw *w)
{
	struct names *names = event_run_stream(t->run)->names;
	struct strbuf text = STRBUF_INIT;
	size_t nr;
	uint32_t *ids = called_functions(t, &nr);

	jsonw_begin_rows(w, "durations");
	for (size_t i = 0; i < nr; i++) {
		const struct histogram *h = call_stats_durations(t->stats, ids[i]);

		if (!h)
			continue;
		strbuf_reset(&text);
		names_format_function(&text, names_function(names, ids[i]));
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "mfa", text.buf);
		histogram_json(w, "duration_ns", h, 1);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
	free(ids);
}

static int totals_json(struct trace *t, struct error *err)
{
	struct jsonw w;

	event_run_json_begin(t->run, &w);
	jsonw_begin_object(&w, "data");
	rows_json(t, &w, "callers", false);
	rows_json(t, &w, "shapes", true);
	durations_json(t, &w);
	slowest_json(t, &w);
	jsonw_end_object(&w);
	return event_run_json_end(t->run, &w, err);
}

int trace_totals_show(struct trace *t, struct error *err)
{
	return t->ctx->opt.json ? totals_json(t, err) : totals_text(t, err);
}
