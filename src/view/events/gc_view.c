/* SPDX-License-Identifier: BSD-2-Clause */
/* See gc_view.h. */
#include "view/events/gc_view.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/events/group_rows.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

struct gc_row {
	struct group_row of;
	struct gc_count c;   /* scaled, if events were sampled */
	uint64_t reclaimed;  /* words; EVENT_UNKNOWN = not known, as without probes */
	uint64_t allocated;  /* likewise */
	uint64_t heap_after; /* words of both heaps after the last GC; EVENT_UNKNOWN = not known */
	uint64_t mean_ns;    /* of a pause */
};

static void json_reclaimed(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_uint(w, key, ((const struct gc_row *)row)->c.reclaimed);
}

static void json_more(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	const struct gc_row *r = row;

	UNUSED(key);
	UNUSED(ctx);
	jsonw_uint(w, "minor_continued", r->c.continued);
	jsonw_uint(w, "reclaimed_unknown", r->c.unknown);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct gc_row, member)
#define NR_OF_TOTALS			 8 /* columns, from the first, that JSON's totals have */

const struct table_column gc_columns[] = {
	{FIELD("minor", "MINOR", COUNT, c.minor)},
	{FIELD("major", "MAJOR", COUNT, c.major)},
	{FIELD("dirty", "DIRTY", COUNT, c.dirty), .hidden = true},
	{FIELD("total_ns", "TOTAL", NS, c.estimate_ns)},
	{FIELD("max_ns", "MAX", NS, c.max_ns)},
	{FIELD("mean_ns", "MEAN", NS, mean_ns)},
	{FIELD("reclaimed", "WORDS RECLAIMED", COUNT, reclaimed), .json = json_reclaimed},
	{FIELD("allocated", "WORDS ALLOCATED", COUNT, allocated)},
	{FIELD("heap_after", "HEAP WORDS AFTER", COUNT, heap_after)},
	{FIELD("heap", "YOUNG HEAP WORDS", COUNT, c.heap), .hidden = true},
	{FIELD("old_heap", "OLD HEAP WORDS", COUNT, c.old_heap), .hidden = true},
	{FIELD("max_heap", "MAX HEAP WORDS", COUNT, c.max_heap), .hidden = true},
	GROUP_COLUMNS,
	{.json = json_more},
};

static struct gc_row make_row(const struct gc_answer *a, const struct gc_count *c)
{
	struct gc_row r = {.c = *c};
	uint64_t *const counts[] = {&r.c.minor,	    &r.c.major,	  &r.c.dirty,	 &r.c.continued,
				    &r.c.reclaimed, &r.c.unknown, &r.c.allocated};
	uint64_t nr = c->minor + c->major;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		*counts[i] = units_scale(*counts[i], a->scale);
	r.reclaimed = c->unknown && c->unknown == nr ? EVENT_UNKNOWN : r.c.reclaimed;
	r.allocated = nr && !c->reported ? EVENT_UNKNOWN : r.c.allocated;
	/* A minor collection that continued as a major one counts as one pause with it. */
	r.mean_ns = nr > c->continued ? c->total_ns / (nr - c->continued) : 0;
	if (c->heap == EVENT_UNKNOWN || c->old_heap == EVENT_UNKNOWN)
		r.heap_after = EVENT_UNKNOWN;
	else if (__builtin_add_overflow(c->heap, c->old_heap, &r.heap_after))
		r.heap_after = UINT64_MAX - 1;
	return r;
}

/* The groups that had collections; the rows are malloc'ed. */
static struct table make_table(const struct gc_answer *a)
{
	const struct gc_stats *s = a->stats;
	struct gc_row *rows = xcalloc(s->counts.len, sizeof(*rows));
	struct table t = {.columns = gc_columns, .rows = rows, .row_size = sizeof(*rows)};

	for (size_t i = 0; i < s->counts.len; i++) {
		const struct gc_count *c = &s->counts.data[i];

		if (!c->minor && !c->major)
			continue;
		rows[t.nr_rows] = make_row(a, c);
		rows[t.nr_rows++].of = (struct group_row){&s->groups, (uint32_t)i};
	}
	return t;
}

/* Percent of the time of the normal schedulers, while online, that they spent in GC; NaN =
 * unknown. */
static double share_of_time(const struct gc_time *t)
{
	return t->of_normal_ns > 0 ? 100 * t->normal_ns / t->of_normal_ns : NAN;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct gc_answer *a = answer;
	const struct gc_stats *s = a->stats;
	const struct gc_row total = make_row(a, &s->total);
	const struct table t = make_table(a);

	jsonw_uint(w, "duration_ns", a->duration_ns);
	jsonw_double(w, "share_seen", 1 / a->scale);
	jsonw_string(w, "by", process_group_by_name(s->groups.by));
	jsonw_uint(w, "longer_than_ns", s->longer_than_ns);
	jsonw_begin_object(w, "totals");
	for (int i = 0; i < NR_OF_TOTALS; i++)
		table_json_field(&gc_columns[i], w, &total, NULL);
	json_more(w, NULL, &total, NULL);
	jsonw_uint(w, "dirty_ns", (uint64_t)a->time.dirty_ns);
	jsonw_known(w, "error_ns",
		    isnan(a->time.error_ns) ? EVENT_UNKNOWN : (uint64_t)a->time.error_ns);
	jsonw_double(w, "scheduler_percent", share_of_time(&a->time));
	jsonw_double(w, "cpu_wait", a->waited);
	jsonw_end_object(w);
	jsonw_begin_object(w, "pauses");
	histogram_json(w, "minor", &s->minor, a->scale);
	histogram_json(w, "major", &s->major, a->scale);
	histogram_json(w, "dirty", &s->dirty, a->scale);
	jsonw_end_object(w);
	node_wide_view_json(w, &a->wide);
	table_json_rows(w, "rows", &t, o);
	free((void *)t.rows);
}

/* ---- text ------------------------------------------------------------------------------------ */

#define STOOD_STILL 0.05 /* shorter parts of the time are not mentioned */

/* Which process was collected longest, if it has a row to itself, and collections of literal
 * areas: the share of schedulers above shows neither, as both go on beside other work. */
static void write_stood_still(FILE *f, const struct gc_answer *a)
{
	const struct gc_stats *s = a->stats;
	double most_ns = STOOD_STILL * (double)a->duration_ns;
	struct strbuf line = STRBUF_INIT;
	size_t most = 0;

	for (size_t i = 1; s->groups.by != PROCESS_GROUP_FUNCTION && i < s->counts.len; i++) {
		if ((double)s->counts.data[i].estimate_ns < most_ns ||
		    process_groups_members(&s->groups, (uint32_t)i) != 1)
			continue;
		most_ns = (double)s->counts.data[i].estimate_ns;
		most = i;
	}
	if (most) {
		process_group_text(&s->groups, (uint32_t)most, &line);
		strbuf_addstr(&line, " was collected for ");
		cell_ns(&line, most_ns);
		fprintf(f, "%s, %.1f %% of the time: it stood still meanwhile\n", line.buf,
			100 * most_ns / (double)a->duration_ns);
	}
	strbuf_free(&line);
	node_wide_view_head(f, &a->wide, STOOD_STILL);
}

static void write_head(FILE *f, const void *answer)
{
	const struct gc_answer *a = answer;
	const struct gc_row r = make_row(a, &a->stats->total);
	const struct gc_time *t = &a->time;
	double share = share_of_time(t);
	const char *about = a->scale > 1 ? "~" : ""; /* an estimate */
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(&line, "In ");
	cell_ns(&line, (double)a->duration_ns);
	strbuf_addf(&line, ": %s collections", a->collections);
	if (a->stats->longer_than_ns) {
		strbuf_addstr(&line, " longer than ");
		cell_ns(&line, (double)a->stats->longer_than_ns);
	}
	strbuf_addstr(&line, " (");
	cell_count(&line, r.c.minor);
	strbuf_addstr(&line, " minor, ");
	cell_count(&line, r.c.major);
	strbuf_addstr(&line, " major; ");
	if (r.c.continued) {
		cell_count(&line, r.c.continued);
		strbuf_addstr(&line, " minor went over into a major one and share its pause; ");
	}
	cell_count(&line, r.c.dirty);
	strbuf_addf(&line, " on dirty schedulers), %s", about);
	cell_ns(&line, floor(t->normal_ns + t->dirty_ns));
	if (!isnan(t->error_ns)) {
		strbuf_addstr(&line, " +- ");
		cell_ns(&line, floor(t->error_ns));
	}
	if (t->dirty_ns >= 1) {
		strbuf_addstr(&line, " (");
		cell_ns(&line, floor(t->dirty_ns));
		strbuf_addstr(&line, " of it on dirty schedulers)");
	}
	if (!isnan(share)) {
		int digits = share < 1 ? 2 : 1;

		strbuf_addf(&line, ", %s%.*f %%", about, digits, share);
		if (!isnan(t->error_ns))
			strbuf_addf(&line, " +- %.*f %%", digits,
				    100 * t->normal_error_ns / t->of_normal_ns);
		strbuf_addf(&line, " of the time of %u normal schedulers", a->schedulers);
	}
	if (r.reclaimed != EVENT_UNKNOWN) {
		strbuf_addstr(&line, r.c.unknown ? "; at least " : "; ");
		cell_count(&line, r.reclaimed);
		strbuf_addstr(&line, " words reclaimed (");
		cell_bytes(&line, 8 * (double)r.reclaimed);
		strbuf_addch(&line, ')');
	}
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
	write_stood_still(f, a);
}

#define WAITED_LONG 5.0 /* percent; shorter waits for a CPU are not mentioned */

static int write_rest(FILE *f, const void *answer, const struct table_options *o, struct error *err)
{
	const struct gc_answer *a = answer;
	const struct gc_stats *s = a->stats;
	const struct table t = make_table(a);
	int rc;

	if (a->scale > 1 && !s->longer_than_ns)
		fputs("MAX is the longest pause of the collections that were seen; others may have "
		      "been longer (--longer-than 5ms finds every pause of 5 ms or more)\n",
		      f);
	/* A pause includes the time in which its thread was runnable but had no CPU: without
	 * pauses there is nothing to correct. */
	if (s->total.total_ns && a->waited >= WAITED_LONG)
		fprintf(f,
			"Scheduler threads had no CPU for %.1f %% of the time in which they were "
			"runnable: pauses include that time\n",
			a->waited);
	rc = node_wide_view_write(f, &a->wide, err);
	if (rc) {
		free((void *)t.rows);
		return rc;
	}
	fputc('\n', f);
	histogram_write(f, "minor pauses", &s->minor, HISTOGRAM_NS, a->scale);
	histogram_write(f, "major pauses", &s->major, HISTOGRAM_NS, a->scale);
	if (s->dirty.nr)
		histogram_write(f, "pauses on dirty schedulers", &s->dirty, HISTOGRAM_NS, a->scale);
	rc = group_rows_write(f, &s->groups, &t, o, err);
	if (t.nr_rows && a->no_stacks)
		fputs("This capture has no stacks, so that the functions are not known.\n", f);
	free((void *)t.rows);
	return rc;
}

const struct answer_view gc_view = {write_head, write_rest, write_json};
