/* SPDX-License-Identifier: BSD-2-Clause */
/* See hot.h.  Shares are percent of all samples of the snapshot. */
#include "view/table/hot.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/vec.h"
#include "view/table/hot_internal.h"
#include "view/table/table.h"

double hot_share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

void hot_add_share(struct strbuf *out, uint64_t part, uint64_t all)
{
	strbuf_addf(out, "%.1f%%", hot_share(part, all));
}

void hot_add_count(struct strbuf *out, uint64_t n)
{
	char buf[32];

	strbuf_addstr(out, units_format_count(n, buf, sizeof(buf)));
}

void hot_add_time(struct strbuf *out, uint64_t ns)
{
	char buf[32];

	strbuf_addstr(out, units_format_ns(ns, buf, sizeof(buf)));
}

static void add_bytes(struct strbuf *out, uint64_t n)
{
	char buf[32];

	strbuf_addstr(out, units_format_bytes(n, buf, sizeof(buf)));
}

const char *hot_unit(const struct snapshot *s)
{
	const char *unit = snapshot_meta(s, "unit");

	return unit ? unit : "samples";
}

/* ---- functions ---------------------------------------------------------------------------- */

static void function_self(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct snap_function *)row)->self, *(const uint64_t *)ctx);
}

static void function_total(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct snap_function *)row)->total, *(const uint64_t *)ctx);
}

static void function_kind(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, frame_kind_name(((const struct snap_function *)row)->kind));
}

/* One without a name is known by its caller. */
static void function_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct snap_function *f = row;

	(void)ctx;
	strbuf_addstr(out, f->name);
	if (!f->caller)
		return;
	strbuf_addstr(out, "  (");
	if (f->called < f->total)
		strbuf_addf(out, "%u%% ", (unsigned int)hot_share(f->called, f->total));
	strbuf_addf(out, "called by %s)", f->caller);
}

static void function_source(struct strbuf *out, const void *row, const void *ctx)
{
	const char *name = symbol_source_name(((const struct snap_function *)row)->symbol_source);

	(void)ctx;
	if (name)
		strbuf_addstr(out, name);
	else if (((const struct snap_function *)row)->kind == FRAME_NATIVE)
		strbuf_addstr(out, "none");
}

#define FUNCTION(name, title, type, member)                                                        \
	TABLE_FIELD(name, title, type, struct snap_function, member)

const struct table_column function_columns[] = {
	{FUNCTION("self", "SELF", COUNT, self), .text = function_self},
	{FUNCTION("samples", "SAMPLES", COUNT, self)},
	{FUNCTION("total", "TOTAL", COUNT, total), .text = function_total},
	{"kind", "KIND", .text = function_kind},
	{"symbol_source", "SYMBOL SOURCE", .text = function_source, .hidden = true},
	{FUNCTION("function", "FUNCTION", TEXT, name), .text = function_name},
	{0},
};

/* ---- processes ---------------------------------------------------------------------------- */

static void process_share(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct snap_process *)row)->samples, *(const uint64_t *)ctx);
}

static void process_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct snap_process *p = row;

	(void)ctx;
	/* The name of a process without a name is its pid, which has a column of its own. */
	if (strcmp(p->name, p->pid) != 0)
		strbuf_addstr(out, p->name);
}

#define PROCESS(name, title, type, member)                                                         \
	TABLE_FIELD(name, title, type, struct snap_process, member)

const struct table_column sampled_process_columns[] = {
	{PROCESS("share", "SHARE", COUNT, samples), .text = process_share},
	{PROCESS("samples", "SAMPLES", COUNT, samples)},
	{PROCESS("pid", "PID", TEXT, pid)},
	{PROCESS("name", "NAME", TEXT, name), .text = process_name},
	{PROCESS("initial_call", "INITIAL CALL", TEXT, initial_call)},
	{0},
};

/* ---- differences -------------------------------------------------------------------------- */

struct both {
	uint64_t a, b; /* samples of the two snapshots */
};

/* Is a delta (percentage points) large enough to be shown as other than 0.0? */
static bool is_change(double delta)
{
	return delta >= 0.05 || delta <= -0.05;
}

static void add_change(struct strbuf *out, double delta)
{
	if (is_change(delta))
		strbuf_addf(out, "%+.1f", delta);
}

static void diff_delta(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_change(out, ((const struct diff_function *)row)->delta_self);
}

static void diff_self_a(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct diff_function *)row)->self_a,
		      ((const struct both *)ctx)->a);
}

static void diff_self_b(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct diff_function *)row)->self_b,
		      ((const struct both *)ctx)->b);
}

static void diff_delta_total(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_change(out, ((const struct diff_function *)row)->delta_total);
}

static const struct table_column diff_columns[] = {
	{"delta_self", "CHANGE", TABLE_RIGHT, .text = diff_delta},
	{"self_a", "SELF A", TABLE_RIGHT, .text = diff_self_a},
	{"self_b", "SELF B", TABLE_RIGHT, .text = diff_self_b},
	{"delta_total", "TOTAL CHANGE", TABLE_RIGHT, .text = diff_delta_total},
	{TABLE_FIELD("function", "FUNCTION", TEXT, struct diff_function, name)},
	{0},
};

/* ---- units -------------------------------------------------------------------------------- */

#define SAMPLES_COLUMN 1 /* index in function_columns[] and sampled_process_columns[] */

/* Sets heading and type of the column of samples by the unit of the profile. */
static void set_unit(struct table_column *columns, const char *unit)
{
	struct table_column *c = &columns[SAMPLES_COLUMN];

	if (strcmp(unit, "ns") == 0) {
		c->title = "TIME";
		c->type = TABLE_NS;
	} else if (strcmp(unit, "bytes") == 0) {
		c->title = "BYTES";
		c->type = TABLE_BYTES;
	} else if (strcmp(unit, "words") == 0) {
		c->title = "WORDS";
	} else if (strcmp(unit, "calls") == 0) {
		c->title = "CALLS";
	}
}

/* ---- the text ----------------------------------------------------------------------------- */

static const char *meta_or_dash(const struct snapshot *s, const char *key)
{
	const char *value = snapshot_meta(s, key);

	return value ? value : "-";
}

static void add_amount(struct strbuf *out, const struct snapshot *s)
{
	const char *unit = hot_unit(s);

	if (strcmp(unit, "ns") == 0) {
		hot_add_time(out, s->samples);
	} else if (strcmp(unit, "bytes") == 0) {
		add_bytes(out, s->samples);
	} else {
		hot_add_count(out, s->samples);
		strbuf_addf(out, " %s", unit);
	}
}

static void write_head(FILE *f, const char *label, const struct snapshot *s)
{
	double complete = hot_share(s->by_status[SAMPLE_STATUS_COMPLETE], s->samples);
	const char *title = snapshot_meta(s, "title");
	struct strbuf amount = STRBUF_INIT;
	char samples[32];

	/* 100.0 is shown only if it is exact: "%.1f" would round 99.95 up to it. */
	if (complete < 100 && complete > 99.9)
		complete = 99.9;
	if (title) {
		add_amount(&amount, s);
		fprintf(f, "%s%s  OTP %s  %s: %s", label, meta_or_dash(s, "node"),
			meta_or_dash(s, "otp"), title, amount.buf);
	} else {
		fprintf(f, "%s%s  OTP %s  %s Hz  %s samples", label, meta_or_dash(s, "node"),
			meta_or_dash(s, "otp"), meta_or_dash(s, "freq"),
			units_format_count(s->samples, samples, sizeof(samples)));
	}
	strbuf_free(&amount);
	if (s->samples)
		fprintf(f, "  complete %.1f%%", complete);
	if (snapshot_meta(s, "untested"))
		fprintf(f, "  %s", snapshot_meta(s, "untested"));
	fputc('\n', f);
}

static void write_spinning(FILE *f, const struct snapshot *s)
{
	if (s->by_kind[SAMPLE_WAIT] && !s->options.idle)
		fprintf(f,
			"%.1f%% are schedulers that spin while they wait for work ([wait]): only "
			"--idle has them in the table below\n",
			hot_share(s->by_kind[SAMPLE_WAIT], s->samples));
}

int hot_write_section(FILE *f, const char *title, const struct table *t,
		      const struct hot_options *o, struct error *err)
{
	struct table_options options = {
		.limit = o->limit ? o->limit : HOT_DEFAULT_LIMIT,
		.indent = 2,
		.color = o->color,
		.also = o->symbol_source ? "symbol_source" : NULL,
	};

	if (t->nr_rows > options.limit)
		fprintf(f, "\n%s (%u of %zu)\n", title, options.limit, t->nr_rows);
	else
		fprintf(f, "\n%s\n", title);
	return table_write(f, t, &options, err);
}

int hot_write(FILE *f, const struct snapshot *s, const struct hot_options *o, struct error *err)
{
	struct table_column of_functions[ARRAY_SIZE(function_columns)];
	struct table_column of_processes[ARRAY_SIZE(sampled_process_columns)];
	struct table functions = {
		.columns = of_functions,
		.rows = s->functions,
		.nr_rows = s->nr_functions,
		.row_size = sizeof(*s->functions),
		.ctx = &s->samples,
	};
	struct table processes = {
		.columns = of_processes,
		.rows = s->processes,
		.nr_rows = s->nr_processes,
		.row_size = sizeof(*s->processes),
		.ctx = &s->samples,
	};
	int rc;

	memcpy(of_functions, function_columns, sizeof(of_functions));
	memcpy(of_processes, sampled_process_columns, sizeof(of_processes));
	set_unit(of_functions, hot_unit(s));
	set_unit(of_processes, hot_unit(s));
	write_head(f, "", s);
	if (hot_has_states(s)) {
		rc = hot_write_states(f, s, o, err);
	} else {
		write_spinning(f, s);
		rc = hot_write_section(f, "Functions", &functions, o, err);
	}
	if (rc)
		return rc;
	return hot_write_section(f, "Processes", &processes, o, err);
}

int hot_write_diff(FILE *f, const struct diff *d, const struct hot_options *o, struct error *err)
{
	struct both both = {d->a->samples, d->b->samples};
	VEC(struct diff_function) changed = {0};
	struct table functions = {
		.columns = diff_columns,
		.row_size = sizeof(*d->functions),
		.ctx = &both,
	};
	int rc;

	for (uint32_t i = 0; i < d->nr_functions; i++)
		if (is_change(d->functions[i].delta_self) || is_change(d->functions[i].delta_total))
			vec_push(&changed, d->functions[i]);
	functions.rows = changed.data;
	functions.nr_rows = changed.len;
	write_head(f, "A  ", d->a);
	write_head(f, "B  ", d->b);
	if (!changed.len) {
		fputs("\nNo function changed.\n", f);
		return 0;
	}
	rc = hot_write_section(f, "Functions that changed, in percentage points of all samples",
			       &functions, o, err);
	vec_free(&changed);
	return rc;
}
