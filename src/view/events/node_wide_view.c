/* SPDX-License-Identifier: BSD-2-Clause */
/* See node_wide_view.h. */
#include "view/events/node_wide_view.h"

#include <inttypes.h>
#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "model/process/process_group.h"
#include "view/table/cells.h"

#define ASKERS 3 /* processes named in a line of text */

/* Counts and totals are scaled up from what was seen; under_way_ns is not. */
struct work_row {
	const char *title;
	const struct node_wide_count *seen;
	uint64_t count, total_ns, max_ns;
	uint64_t under_way_ns; /* duration so far of work that has not ended; 0 = there is none */
	double per_s;	       /* NAN = not known */
};

static void text_count(struct strbuf *out, const void *row, const void *ctx)
{
	const struct work_row *r = row;

	UNUSED(ctx);
	cell_count(out, r->count);
	if (r->under_way_ns)
		strbuf_addstr(out, " + 1 under way");
}

static void add_asker(struct strbuf *out, const struct names *names,
		      const struct node_wide_asker *a)
{
	const struct name_process *p = names_process(names, a->process);
	const struct name_function *f = names_function(names, a->function);
	struct strbuf name = STRBUF_INIT;

	strbuf_addstr(out, a->what);
	if (a->key)
		strbuf_addf(out, " of the key %s", a->key);
	if (f) {
		strbuf_addstr(out, " in ");
		names_format_function(out, f);
	}
	if (p)
		strbuf_addf(out, " of %s", p->pid);
	process_group_name_of(names, a->process, &name);
	if (name.len)
		strbuf_addf(out, " %s", name.buf);
	strbuf_free(&name);
}

static void text_by(struct strbuf *out, const void *row, const void *ctx)
{
	const struct node_wide_count *c = ((const struct work_row *)row)->seen;
	uint64_t rest = c->others;

	for (size_t i = 0; i < MIN(c->askers.len, (size_t)ASKERS); i++) {
		strbuf_addstr(out, i ? ", " : "");
		add_asker(out, ctx, &c->askers.data[i]);
		if (c->askers.data[i].nr > 1)
			strbuf_addf(out, " (%" PRIu64 ")", c->askers.data[i].nr);
	}
	for (size_t i = ASKERS; i < c->askers.len; i++)
		rest += c->askers.data[i].nr;
	if (c->askers.len > ASKERS)
		strbuf_addf(out, " and %s%zu more (%" PRIu64 ")", c->others ? ">= " : "",
			    c->askers.len - ASKERS, rest);
}

static void asker_json(struct jsonw *w, const struct names *names, const struct node_wide_asker *a)
{
	const struct name_process *p = names_process(names, a->process);
	const struct name_function *f = names_function(names, a->function);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	jsonw_string(w, "what", a->what);
	jsonw_string(w, "key", a->key);
	jsonw_string(w, "pid", p ? p->pid : NULL);
	process_group_name_of(names, a->process, &text);
	jsonw_text(w, "name", &text);
	if (f)
		names_format_function(&text, f);
	jsonw_text(w, "function", &text);
	jsonw_uint(w, "count", a->nr);
	jsonw_end_object(w);
	strbuf_free(&text);
}

static void json_by(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	const struct work_row *r = row;

	jsonw_uint(w, "under_way_ns", r->under_way_ns);
	jsonw_begin_array(w, key);
	for (size_t i = 0; i < r->seen->askers.len; i++)
		asker_json(w, ctx, &r->seen->askers.data[i]);
	jsonw_end_array(w);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct work_row, member)

TABLE_VALUE(per_s_of, struct work_row, r->per_s)

static const struct table_column columns[] = {
	{FIELD("work", "WORK OF THE WHOLE NODE", TEXT, title), .json = table_json_none},
	{FIELD("count", "COUNT", COUNT, count), .text = text_count},
	{TABLE_NUMBER("per_s", "/S", RATE, per_s_of)},
	{FIELD("total_ns", "TOTAL", NS, total_ns)},
	{FIELD("max_ns", "MAX", NS, max_ns)},
	{"asked_by", "ASKED FOR BY", .text = text_by, .json = json_by},
	{0},
};

static const struct {
	const char *title, *key;
} works[NR_NODE_WIDE] = {
	[NODE_WIDE_LITERALS] = {"literal area collection", "literal_areas"},
	[NODE_WIDE_PURGE] = {"code purge", "code_purges"},
	[NODE_WIDE_BLOCK] = {"multi-scheduling blocked", "multi_scheduling_blocks"},
};

/* Makes the row of a kind of work.  Work that has not ended adds to total_ns and max_ns, but not to
 * the count. */
static struct work_row make_row(const struct node_wide_answer *a, int work)
{
	const struct node_wide_count *c = &a->work->work[work];
	double scale = 1 / node_wide_share(a->work);
	struct work_row r = {.title = works[work].title, .seen = c};

	if (c->since_ns && a->end_ns > c->since_ns)
		r.under_way_ns = a->end_ns - c->since_ns;
	r.count = units_scale(c->nr, scale);
	r.total_ns = units_scale(c->total_ns, scale) + r.under_way_ns;
	r.max_ns = MAX(c->max_ns, r.under_way_ns);
	r.per_s = a->duration_ns ? 1e9 * (double)r.count / (double)a->duration_ns : NAN;
	return r;
}

void node_wide_view_head(FILE *f, const struct node_wide_answer *a, double least_share)
{
	struct strbuf line = STRBUF_INIT;
	struct work_row r;
	double share;

	if (!a->work || !a->duration_ns)
		return;
	r = make_row(a, NODE_WIDE_LITERALS);
	share = MIN((double)r.total_ns / (double)a->duration_ns, 1.0);
	if (share < least_share)
		return;
	cell_ns(&line, (double)r.total_ns);
	fprintf(f, "Literal areas were collected for %s, %.1f %% of the time\n", line.buf,
		100 * share);
	strbuf_free(&line);
}

int node_wide_view_write(FILE *f, const struct node_wide_answer *a, struct error *err)
{
	const struct table_options options = {0};
	struct work_row rows[NR_NODE_WIDE];
	struct table t = {
		.columns = columns, .rows = rows, .row_size = sizeof(*rows), .ctx = a->names};
	struct strbuf processes = STRBUF_INIT;
	int rc;

	for (int i = 0; a->work && i < NR_NODE_WIDE; i++) {
		struct work_row *r = &rows[t.nr_rows];

		*r = make_row(a, i);
		t.nr_rows += a->all || r->seen->nr || r->under_way_ns;
	}
	if (!t.nr_rows)
		return 0;
	fputc('\n', f);
	if (node_wide_share(a->work) < 1)
		fprintf(f,
			"Only %.1f %% of the work below was seen (--max-overhead): COUNT and TOTAL "
			"are estimates, ASKED FOR BY has only processes that were seen\n",
			100 * node_wide_share(a->work));
	rc = table_write(f, &t, &options, err);
	if (!rc && a->processes && rows[0].seen == &a->work->work[NODE_WIDE_LITERALS] &&
	    (rows[0].seen->nr || rows[0].under_way_ns)) {
		strbuf_addstr(&processes, "In each literal area collection all ");
		cell_count(&processes, a->processes);
		fprintf(f, "%s processes search their heaps.\n", processes.buf);
	}
	strbuf_free(&processes);
	return rc;
}

void node_wide_view_json(struct jsonw *w, const struct node_wide_answer *a)
{
	if (!a->work) {
		jsonw_null(w, "node_wide");
		return;
	}
	jsonw_begin_object(w, "node_wide");
	jsonw_double(w, "share_seen", node_wide_share(a->work));
	jsonw_known(w, "processes", a->processes ? a->processes : UINT64_MAX);
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		const struct work_row r = make_row(a, i);

		jsonw_begin_object(w, works[i].key);
		table_json_fields(columns, w, &r, a->names);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}
