/* SPDX-License-Identifier: BSD-2-Clause */
/* See locks_view.h. */
#include "view/events/locks_view.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define LOCKS_SHOWN	20
#define PROCESSES_SHOWN 10

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct lock_row, member)
#define NUMBERS                                                                                    \
	{FIELD("waits", "WAITS", COUNT, waits)},                                                   \
		{FIELD("waits_margin", "+-", COUNT, waits_margin)},                                \
		{FIELD("total_ns", "TIME", NS, total_ns)},                                         \
		{FIELD("margin_ns", "+-", NS, margin_ns)},                                         \
	{                                                                                          \
		FIELD("max_ns", "MAX", NS, max_ns)                                                 \
	}

const struct table_column lock_columns[] = {
	NUMBERS,
	{FIELD("kind", "KIND", TEXT, kind)},
	{FIELD("lock", "LOCK", TEXT, lock)},
	{FIELD("objects", "OBJECTS", COUNT, objects)},
	{FIELD("write_concurrency", "WRITE CONC.", TEXT, write_concurrency)},
	{FIELD("read_concurrency", "READ CONC.", TEXT, read_concurrency)},
	{0},
};

/* "ets:update_counter/4 in hit_counter:bump/1" */
static void col_function(struct strbuf *out, const void *row, const void *ctx)
{
	const struct lock_row *r = row;

	UNUSED(ctx);
	if (r->function)
		strbuf_addstr(out, r->function);
	if (r->function && r->caller)
		strbuf_addf(out, " in %s", r->caller);
}

static void json_function(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct lock_row *r = row;

	UNUSED(ctx);
	jsonw_string(w, name, r->function);
	jsonw_string(w, "caller", r->caller);
}

static const struct table_column place_columns[] = {
	NUMBERS,
	{"function", "FUNCTION", .text = col_function, .json = json_function},
	{FIELD("kind", "KIND", TEXT, kind)},
	{FIELD("lock", "LOCK", TEXT, lock)},
	{0},
};

/* "16 x page_views:viewer/2", "<0.80.0> router" */
static void col_who(struct strbuf *out, const void *row, const void *ctx)
{
	const struct lock_row *r = row;

	UNUSED(ctx);
	if (r->nr > 1)
		strbuf_addf(out, "%" PRIu32 " x ", r->nr);
	else if (r->pid)
		strbuf_addf(out, "%s%s", r->pid, r->name ? " " : "");
	if (r->name)
		strbuf_addstr(out, r->name);
	else if (r->nr > 1)
		strbuf_addstr(out, "processes without a name");
}

static const struct table_column group_columns[] = {
	NUMBERS,
	{"process", "PROCESS", .text = col_who},
	{FIELD("kind", "KIND", TEXT, kind)},
	{FIELD("lock", "LOCK", TEXT, lock)},
	{0},
};

static const struct table_column process_columns[] = {
	NUMBERS,
	{FIELD("pid", "PID", TEXT, pid)},
	{FIELD("name", "NAME", TEXT, name)},
	{FIELD("kind", "KIND", TEXT, kind)},
	{FIELD("lock", "LOCK", TEXT, lock)},
	{0},
};

static const struct table_column all_columns[] = {NUMBERS, {0}};

static void add_margin(struct strbuf *line, uint64_t margin, bool ns)
{
	strbuf_addstr(line, " +- ");
	if (margin == UINT64_MAX)
		strbuf_addch(line, '-');
	else if (ns)
		cell_ns(line, (double)margin);
	else
		cell_count(line, margin);
}

static void write_head(FILE *f, const void *answer)
{
	const struct locks_answer *a = answer;
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s  waits ", (double)a->duration_ns / 1e9);
	cell_count(&line, a->all.waits);
	add_margin(&line, a->all.waits_margin, false);
	strbuf_addstr(&line, "  blocked ");
	cell_ns(&line, (double)a->all.total_ns);
	add_margin(&line, a->all.margin_ns, true);
	strbuf_addstr(&line, "  longest ");
	cell_ns(&line, (double)a->all.max_ns);
	strbuf_addstr(&line, "  on CPUs for locks ");
	cell_ns(&line, (double)a->spin_ns);
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

static struct table table_of(const struct table_column *columns, const struct lock_row *rows,
			     size_t nr)
{
	return (struct table){columns, rows, nr, sizeof(*rows), NULL};
}

static int write_rest(FILE *f, const void *answer, const struct table_options *o, struct error *err)
{
	const struct locks_answer *a = answer;
	const struct table locks = table_of(lock_columns, a->locks, a->nr_locks),
			   places = table_of(place_columns, a->places, a->nr_places),
			   waiters = table_of(group_columns, a->waiter_groups, a->nr_waiter_groups),
			   releasers = table_of(group_columns, a->releaser_groups,
						a->nr_releaser_groups);
	const struct table_options below = {
		.limit = o->limit, .width = o->width, .color = o->color};
	char text[32];
	int rc;

	if (a->not_copied_ns)
		fprintf(f,
			"%s in futexes of which it is not known whether they are locks, as their "
			"stacks were not copied\n",
			units_format_ns(a->not_copied_ns, text, sizeof(text)));
	if (a->overflows)
		fprintf(f,
			"too many locks and processes for a row each: %" PRIu64
			" waits have none\n",
			a->overflows);
	if (a->truncated)
		fprintf(f,
			"%" PRIu64 " waits went on when their windows ended: MAX and the histogram "
			"have their part until then\n",
			a->truncated);
	rc = table_write_below(f, "Locks\n", &locks, o, LOCKS_SHOWN, err);
	rc = rc ? rc
		: table_write_below(f, "Where they waited\n", &places, &below, PROCESSES_SHOWN,
				    err);
	rc = rc ? rc : table_write_below(f, "Who waited\n", &waiters, &below, PROCESSES_SHOWN, err);
	rc = rc ? rc
		: table_write_below(f, "Whose release ended the wait\n", &releasers, &below,
				    PROCESSES_SHOWN, err);
	if (rc == 0 && a->waits->nr) {
		fputc('\n', f);
		histogram_write_estimated(f, "wait", a->waits, HISTOGRAM_NS, a->waits_margins);
	}
	return rc;
}

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct locks_answer *a = answer;
	const struct table locks = table_of(lock_columns, a->locks, a->nr_locks),
			   places = table_of(place_columns, a->places, a->nr_places),
			   waiters = table_of(process_columns, a->waiters, a->nr_waiters),
			   releasers = table_of(process_columns, a->releasers, a->nr_releasers);
	const struct table_options of_rows = {.sort = o->sort, .limit = o->limit};
	const struct table_options of_others = {.limit = o->limit};

	jsonw_uint(w, "duration_ns", a->duration_ns);
	table_json_fields(all_columns, w, &a->all, NULL);
	jsonw_uint(w, "spin_ns", a->spin_ns);
	jsonw_uint(w, "spin_samples", a->spin_samples);
	jsonw_uint(w, "not_copied_ns", a->not_copied_ns);
	jsonw_uint(w, "overflows", a->overflows);
	jsonw_uint(w, "truncated", a->truncated);
	table_json_rows(w, "locks", &locks, &of_rows);
	table_json_rows(w, "places", &places, &of_others);
	table_json_rows(w, "waiters", &waiters, &of_others);
	table_json_rows(w, "releasers", &releasers, &of_others);
	histogram_json_estimated(w, "wait_ns", a->waits, a->waits_margins);
}

const struct answer_view locks_view = {write_head, write_rest, write_json};
