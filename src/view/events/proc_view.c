/* SPDX-License-Identifier: BSD-2-Clause */
/* See proc_view.h. */
#include "view/events/proc_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define ROWS_SHOWN    20
#define PARENTS_SHOWN 10
#define REASONS_SHOWN 10
#define NAMES_SHOWN   10
#define ALARMS_SHOWN  3

/* ---- columns -------------------------------------------------------------------------------- */

#define VALUE(name, value) TABLE_VALUE(name, struct proc_row, value)

VALUE(mean_life, r->mean_lifetime_ns)
VALUE(max_life, r->max_lifetime_ns)

static void json_mean_life(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	double mean = mean_life(row);

	UNUSED(ctx);
	jsonw_uint_if(w, name, !isnan(mean), isnan(mean) ? 0 : (uint64_t)mean);
}

static void add_reason(struct strbuf *out, const char *text)
{
	if (text)
		names_format_text(out, text, strlen(text));
}

static void col_last_crash(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_reason(out, ((const struct proc_row *)row)->last_crash);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct proc_row, member)
#define COUNT_COLUMNS                                                                              \
	{FIELD("spawned", "SPAWNED", COUNT, spawned)},                                             \
		{FIELD("spawned_per_s", "/S", RATE, spawned_per_s)},                               \
		{FIELD("exited", "EXITED", COUNT, exited)},                                        \
		{FIELD("crashed", "CRASHED", COUNT, crashed)},                                     \
		{FIELD("living", "LIVING", COUNT, living)},                                        \
		{TABLE_NUMBER("mean_lifetime_ns", "MEAN LIFE", NS, mean_life),                     \
		 .json = json_mean_life},                                                          \
	{                                                                                          \
		TABLE_NUMBER("max_lifetime_ns", "MAX LIFE", NS, max_life)                          \
	}
#define CRASH_COLUMN FIELD("last_crash", "LAST CRASH", TEXT, last_crash), .text = col_last_crash

/* The columns of rows; the heading of the last one depends on --by. */
#define COLUMNS_BY(heading)                                                                        \
	{                                                                                          \
		COUNT_COLUMNS, {FIELD("group", heading, TEXT, group)},                             \
			{CRASH_COLUMN, .hidden = true},                                            \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

static const struct table_column columns_by[NR_PROCESS_GROUP_BY][10] = {
	[PROCESS_GROUP_NAME] = COLUMNS_BY("NAME"),
	[PROCESS_GROUP_PROCESS] = COLUMNS_BY("PROCESS"),
	[PROCESS_GROUP_INITIAL_CALL] = COLUMNS_BY("INITIAL CALL"),
	[PROCESS_GROUP_FUNCTION] = COLUMNS_BY("SPAWNED TO RUN"),
};
static const struct table_column all_columns[] = {COUNT_COLUMNS, {CRASH_COLUMN}, {0}};
static const struct table_column parent_columns[] = {
	COUNT_COLUMNS,
	{FIELD("parent", "PARENT", TEXT, group)},
	{CRASH_COLUMN},
	{FIELD("restart_loop", "", FLAG, restart_loop), .hidden = true},
	{FIELD("spawn_storm", "", FLAG, spawn_storm), .hidden = true},
	{FIELD("piles_up", "", FLAG, piles_up), .hidden = true},
	{0},
};

static void col_reason(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_reason(out, ((const struct proc_reason *)row)->text);
}

#define REASON_FIELD(name, title, type, member)                                                    \
	TABLE_FIELD(name, title, type, struct proc_reason, member)

static const struct table_column reason_columns[] = {
	{REASON_FIELD("exits", "EXITS", COUNT, exits)},
	{REASON_FIELD("exits_per_s", "/S", RATE, exits_per_s), .json = table_json_none},
	{REASON_FIELD("crash", "CRASH", FLAG, crash)},
	{REASON_FIELD("reason", "REASON", TEXT, text), .text = col_reason},
	{0},
};

#define NAME_FIELD(name, type, member) TABLE_FIELD(name, "", type, struct proc_name, member)

static const struct table_column name_columns[] = {
	{NAME_FIELD("name", TEXT, name)},
	{NAME_FIELD("registered", COUNT, registered)},
	{NAME_FIELD("unregistered", COUNT, unregistered)},
	{0},
};

const struct table_column *proc_columns(enum process_group_by by)
{
	return columns_by[by];
}

static struct table rows_table(const struct proc_answer *a)
{
	return (struct table){columns_by[a->by], a->rows, a->nr_rows, sizeof(*a->rows), NULL};
}

static struct table parents_table(const struct proc_answer *a)
{
	return (struct table){parent_columns, a->parents, a->nr_parents, sizeof(*a->parents), NULL};
}

static struct table reasons_table(const struct proc_answer *a)
{
	return (struct table){reason_columns, a->reasons, a->nr_reasons, sizeof(*a->reasons), NULL};
}

/* ---- text ----------------------------------------------------------------------------------- */

static void write_head(FILE *out, const void *answer)
{
	const struct proc_answer *a = answer;
	double seconds = (double)a->span_ns / 1e9;
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s", seconds);
	for (size_t i = 0; i < a->nr_counts; i++) {
		const struct proc_count *c = &a->counts[i];

		strbuf_addf(&line, "  %s %s", c->word, c->estimate);
		if (c->n) {
			strbuf_addstr(&line, " (");
			cell_rate(&line, units_rate((double)c->n, seconds));
			strbuf_addstr(&line, "/s)");
		}
	}
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

static void write_alarm(FILE *out, const struct proc_row *r, const char *what, unsigned int width)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "! %s %s started ", what, r->group);
	cell_count(&line, r->spawned);
	strbuf_addstr(&line, " (");
	cell_rate(&line, r->spawned_per_s);
	strbuf_addstr(&line, "/s)");
	if (r->crashed) {
		strbuf_addstr(&line, ", ");
		cell_count(&line, r->crashed);
		strbuf_addstr(&line, " of its processes crashed: ");
		add_reason(&line, r->last_crash);
	} else if (!isnan(r->mean_lifetime_ns)) {
		strbuf_addstr(&line, " that lived for ");
		cell_ns(&line, r->mean_lifetime_ns);
	}
	if (r->piles_up) {
		strbuf_addstr(&line, ", ");
		cell_count(&line, r->living);
		strbuf_addstr(&line, " live");
	}
	table_clean_text(&line, false);
	if (width)
		table_cut_text(&line, width);
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

/* Lines at the top for restart loops and spawn storms. */
static void write_alarms(FILE *out, const struct proc_answer *a, unsigned int width)
{
	const struct proc_row *end = a->parents + a->nr_parents;
	size_t shown = 0;

	for (const struct proc_row *r = a->parents; r < end && shown < ALARMS_SHOWN; r++) {
		if (r->restart_loop) {
			write_alarm(out, r, "restart loop?", width);
			shown++;
		}
	}
	for (const struct proc_row *r = a->parents; r < end && shown < 2 * ALARMS_SHOWN; r++) {
		if (!r->restart_loop && (r->spawn_storm || r->piles_up)) {
			write_alarm(out, r,
				    r->piles_up ? "processes pile up:" : "spawn storm:", width);
			shown++;
		}
	}
}

/* Writes lines for groups, names and processes beyond the limits of the tables. */
static void write_overflows(FILE *out, const struct proc_answer *a)
{
	char text[32];

	if (a->overflows)
		fprintf(out,
			"too many groups, reasons or names for a row each: %s counts are in "
			"[others]\n",
			units_format_count(a->overflows, text, sizeof(text)));
	if (a->not_followed)
		fprintf(out,
			"too many processes to track: of %s it is not known whether they live\n",
			units_format_count(a->not_followed, text, sizeof(text)));
}

/* Names registered more than once: their processes are started again and again. */
static void write_names(FILE *out, const struct proc_answer *a, size_t limit)
{
	struct strbuf line = STRBUF_INIT;
	size_t shown = 0, all = 0;

	for (size_t i = 0; i < a->nr_names; i++) {
		const struct proc_name *n = &a->names[i];

		if (!n->again || all++ >= limit)
			continue;
		if (!shown++)
			fprintf(out, "\nNames that were registered more than once\n");
		strbuf_reset(&line);
		strbuf_addstr(&line, n->name);
		table_clean_text(&line, false);
		fprintf(out, "  %8" PRIu64 "  %s\n", n->registered, line.buf);
	}
	table_write_more(out, shown, all);
	strbuf_free(&line);
}

static int write_rest(FILE *out, const void *answer, const struct table_options *o,
		      struct error *err)
{
	const struct proc_answer *a = answer;
	const struct table rows = rows_table(a), parents = parents_table(a),
			   reasons = reasons_table(a);
	const struct table_options below = {.limit = o->limit, .indent = 2, .width = o->width};
	char heading[80] = "Parents\n", nr[32];
	int rc;

	write_overflows(out, a);
	write_alarms(out, a, o->width);
	if (a->parent_unknown)
		snprintf(heading, sizeof(heading),
			 "Parents (not known of %s processes that exited)\n",
			 units_format_count(a->parent_unknown, nr, sizeof(nr)));
	rc = table_write_below(out, "", &rows, o, ROWS_SHOWN, err);
	rc = rc ? rc : table_write_below(out, heading, &parents, &below, PARENTS_SHOWN, err);
	rc = rc ? rc
		: table_write_below(out, "Exit reasons\n", &reasons, &below, REASONS_SHOWN, err);
	if (rc)
		return rc;
	write_names(out, a, o->limit ? o->limit : NAMES_SHOWN);
	if (a->lifetimes->nr) {
		fputc('\n', out);
		histogram_write(out, "lifetime", a->lifetimes, HISTOGRAM_NS, a->lifetimes_scale);
	}
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct proc_answer *a = answer;
	const struct table rows = rows_table(a), parents = parents_table(a),
			   reasons = reasons_table(a);
	const struct table names = {name_columns, a->names, a->nr_names, sizeof(*a->names), NULL};
	const struct table_options of_rows = {.sort = o->sort, .limit = o->limit};
	const struct table_options of_others = {.limit = o->limit};

	jsonw_uint(w, "duration_ns", a->span_ns);
	jsonw_double(w, "share_seen", a->share_seen);
	jsonw_string(w, "by", process_group_by_name(a->by));
	table_json_fields(all_columns, w, &a->all, NULL);
	jsonw_uint(w, "links", a->links);
	jsonw_uint(w, "unlinks", a->unlinks);
	jsonw_uint(w, "registered", a->registered);
	jsonw_uint(w, "unregistered", a->unregistered);
	jsonw_uint(w, "overflows", a->overflows);
	jsonw_uint(w, "not_followed", a->not_followed);
	table_json_rows(w, "rows", &rows, &of_rows);
	table_json_rows(w, "parents", &parents, &of_others);
	table_json_rows(w, "reasons", &reasons, &of_others);
	table_json_rows(w, "names", &names, &of_others);
	histogram_json(w, "lifetime_ns", a->lifetimes, a->lifetimes_scale);
}

const struct answer_view proc_view = {write_head, write_rest, write_json};
