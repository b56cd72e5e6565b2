/* SPDX-License-Identifier: BSD-2-Clause */
/* See totals_view.h. */
#include "view/trace/totals_view.h"

#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define ROWS_SHOWN 20

/* ---- columns -------------------------------------------------------------------------------- */

#define ROW(r) ((const struct totals_row *)(r))

static void text_share(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (!isnan(ROW(row)->share))
		strbuf_addf(out, "%.1f %%", ROW(row)->share);
}

/* JSON has these numbers even if no end was seen, for which text has "-". */
static void json_sums(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(name);
	UNUSED(ctx);
	jsonw_uint(w, "ends", ROW(row)->ends);
	jsonw_uint(w, "exceptions", ROW(row)->exceptions);
	jsonw_uint(w, "total_ns", ROW(row)->total_ns);
	jsonw_uint(w, "max_ns", ROW(row)->max_ns);
}

#define VALUE(name, value) TABLE_VALUE(name, struct totals_row, r->ends ? (double)(value) : NAN)

VALUE(exceptions, r->exceptions)
VALUE(mean, r->total_ns / r->ends)
VALUE(longest, r->max_ns)

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct totals_row, member)
#define NUMBER(name, title, type, value)                                                           \
	TABLE_NUMBER(name, title, type, value), .json = table_json_none
#define CALLS_COLUMN FIELD("calls", "CALLS", COUNT, calls)
#define SHARE_COLUMN                                                                               \
	FIELD("share", "SHARE", PERCENT, share), .text = text_share, .json = table_json_none
#define MEAN_COLUMN	NUMBER("mean_ns", "MEAN", NS, mean)
#define MAX_COLUMN	NUMBER("max_ns", "MAX", NS, longest)
#define FUNCTION_COLUMN FIELD("mfa", "FUNCTION", TEXT, function)

static const struct table_column caller_columns[] = {
	{CALLS_COLUMN},
	{SHARE_COLUMN},
	{NUMBER("exceptions", "EXCEPTIONS", COUNT, exceptions)},
	{MEAN_COLUMN},
	{MAX_COLUMN},
	{FUNCTION_COLUMN},
	{FIELD("caller", "CALLER", TEXT, what)},
	{.json = json_sums},
};

static const struct table_column shape_columns[] = {
	{CALLS_COLUMN},	     {SHARE_COLUMN},	{MEAN_COLUMN},
	{MAX_COLUMN},	     {FUNCTION_COLUMN}, {FIELD("args", "ARGUMENTS", TEXT, what)},
	{.json = json_sums},
};

#define SLOW(name, type, member) TABLE_FIELD(name, "", type, struct totals_slow, member)

static const struct table_column slow_columns[] = {
	{SLOW("duration_ns", NS, ns)},
	{SLOW("mfa", TEXT, function)},
	{SLOW("args", TEXT, args)},
	{0},
};

static struct table callers_of(const struct totals_answer *a)
{
	return (struct table){caller_columns, a->callers, a->nr_callers, sizeof(*a->callers), NULL};
}

static struct table shapes_of(const struct totals_answer *a)
{
	return (struct table){shape_columns, a->shapes, a->nr_shapes, sizeof(*a->shapes), NULL};
}

/* ---- text ----------------------------------------------------------------------------------- */

static void write_histograms(FILE *out, const struct totals_answer *a)
{
	for (size_t i = 0; i < a->nr_durations; i++) {
		const struct totals_durations *d = &a->durations[i];

		if (d->ns)
			histogram_write(out, d->function, d->ns, HISTOGRAM_NS, 1);
		else
			fprintf(out,
				"%s: no durations, as no call was seen to return (a capture has "
				"returns if it was recorded with '-> return')\n",
				d->function);
	}
}

static void write_slowest(FILE *out, const struct totals_answer *a)
{
	char ns[32];

	if (a->nr_slowest)
		fprintf(out, "\nThe slowest\n");
	for (size_t i = 0; i < a->nr_slowest; i++) {
		const struct totals_slow *s = &a->slowest[i];

		fprintf(out, "  %s  %s  %s\n", units_format_ns(s->ns, ns, sizeof(ns)), s->function,
			s->args);
	}
}

/* Writes how exact durations are; lines of `trace` have that for each call ("<2.50 us"). */
static void write_unsure(FILE *out, const struct totals_answer *a)
{
	char hit[32], unsure[32];

	if (a->hit_ns)
		fprintf(out,
			"\nDurations are without the time that tracing took, %s for a call without "
			"traced calls inside: one below %s may be zero.\n",
			units_format_ns(a->hit_ns, hit, sizeof(hit)),
			units_format_ns(a->unsure_ns, unsure, sizeof(unsure)));
}

static int write_text(FILE *out, const void *answer, const struct table_options *o,
		      struct error *err)
{
	const struct totals_answer *a = answer;
	const struct table callers = callers_of(a), shapes = shapes_of(a);
	const struct table_options of_rows = {.limit = o->limit ? o->limit : ROWS_SHOWN,
					      .write_more = true};
	int rc = a->count ? table_write(out, &callers, &of_rows, err) : 0;

	if (rc == 0 && a->histogram)
		write_histograms(out, a);
	if (rc == 0 && a->args)
		rc = table_write(out, &shapes, &of_rows, err);
	if (rc)
		return rc;
	if (a->args)
		write_slowest(out, a);
	if (a->histogram || a->args)
		write_unsure(out, a);
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct totals_answer *a = answer;
	const struct table callers = callers_of(a), shapes = shapes_of(a);
	const struct table slowest = {slow_columns, a->slowest, a->args ? a->nr_slowest : 0,
				      sizeof(*a->slowest), NULL};

	table_json_rows(w, "callers", &callers, o);
	table_json_rows(w, "shapes", &shapes, o);
	jsonw_begin_rows(w, "durations");
	for (size_t i = 0; i < a->nr_durations; i++) {
		if (!a->durations[i].ns)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "mfa", a->durations[i].function);
		histogram_json(w, "duration_ns", a->durations[i].ns, 1);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	table_json_rows(w, "slowest", &slowest, &(struct table_options){0});
}

const struct answer_view totals_view = {.write = write_text, .json = write_json};
