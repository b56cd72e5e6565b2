/* SPDX-License-Identifier: BSD-2-Clause */
/* See waits_view.h. */
#include "view/inspect/waits_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "view/table/cells.h"

static void add_since(struct strbuf *out, const struct waits_since *s)
{
	if (!s->how)
		return;
	strbuf_addstr(out, strcmp(s->how, "at_least") == 0 ? ">= " : "");
	cell_ns(out, (double)s->ms * 1e6);
}

static void col_longest(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_since(out, &((const struct waits_target *)row)->longest);
}

static void col_current(struct strbuf *out, const void *row, const void *ctx)
{
	const struct dump_process *p = &((const struct waits_target *)row)->who.p;

	UNUSED(ctx);
	strbuf_addstr(out, p->current ? p->current : "");
	strbuf_addstr(out, p->stale ? " ~" : "");
}

#define TARGET(name, title, type, member)                                                          \
	TABLE_FIELD(name, title, type, struct waits_target, member)

static const struct table_column target_columns[] = {
	{TARGET("waiting", "WAITING", COUNT, n.waiting)},
	{TARGET("behind", "BEHIND", COUNT, n.behind)},
	{TARGET("longest_ms", "LONGEST", ID, longest.ms), .text = col_longest},
	{TARGET("longest_is", "", TEXT, longest.how), .hidden = true},
	{TARGET("reason", "FOR", TEXT, reason), .json = table_json_none},
	{TARGET("pid", "PID", TEXT, who.p.pid)},
	{TARGET("name", "NAME", TEXT, who.p.name)},
	{TARGET("message_queue_len", "QUEUE", COUNT, who.queue)},
	{TARGET("status", "STATUS", TEXT, who.p.status)},
	{TARGET("current_function", "CURRENT FUNCTION", TEXT, who.p.current), .text = col_current},
	{TARGET("stale", "", FLAG, who.p.stale), .hidden = true},
	{0},
};

/* A field of JSON only. */
#define PAIR(name, type, member)                                                                   \
	{                                                                                          \
		TABLE_FIELD(name, "", type, struct waits_pair, member)                             \
	}

static const struct table_column wait_columns[] = {
	PAIR("pid", TEXT, from.p.pid),
	PAIR("waits_for", TEXT, to.p.pid),
	PAIR("reason", TEXT, from.reason),
	PAIR("waiting_ms", ID, from.since.ms),
	PAIR("waiting_is", TEXT, from.since.how),
	{0},
};
static const struct table_column monitor_columns[] = {
	PAIR("pid", TEXT, from.p.pid),
	PAIR("monitors", TEXT, to.p.pid),
	PAIR("current_function", TEXT, from.p.current),
	{0},
};

static size_t limited(const struct table_options *o, size_t nr)
{
	return o->limit ? MIN(nr, (size_t)o->limit) : nr;
}

static struct table targets_table(const struct waits_answer *a, const struct table_options *o)
{
	return (struct table){target_columns, a->targets, limited(o, a->graph->targets.len),
			      sizeof(*a->targets), NULL};
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_member(struct strbuf *out, const struct waits_party *m)
{
	strbuf_addf(out, "%s%s%s", m->p.pid ? m->p.pid : "", m->p.name ? " " : "",
		    m->p.name ? m->p.name : "");
}

static void add_in(struct strbuf *out, const struct waits_party *m)
{
	strbuf_addf(out, ", in %s", m->p.current ? m->p.current : "");
}

/* Adds " (busy_port, >= 3.2 s)": why a member waits, unless for an answer, and how long. */
static void add_how(struct strbuf *out, const struct waits_party *m)
{
	bool has_reason = m->reason && strcmp(m->reason, "answer") != 0;

	if (!has_reason && !m->since.how)
		return;
	strbuf_addf(out, " (%s%s", has_reason ? m->reason : "",
		    has_reason && m->since.how ? ", " : "");
	add_since(out, &m->since);
	strbuf_addch(out, ')');
}

/* Adds a line for each member of a circle, with the function in which it waits. */
static void add_circle(struct strbuf *out, const struct waits_party *members, uint32_t nr)
{
	strbuf_addf(out, "DEADLOCK: %" PRIu32 " %s\n", nr,
		    nr == 1 ? "process waits for itself" : "processes wait for each other");
	for (uint32_t i = 0; i <= nr; i++) {
		if (i == WAITS_PATH_SHOWN && nr > WAITS_PATH_SHOWN) {
			strbuf_addf(out, "    ... %" PRIu32 " more ...\n", nr - i);
			i = nr;
		}
		strbuf_addstr(out, i ? "    waits for " : "    ");
		add_member(out, &members[i % nr]);
		if (i < nr) {
			add_in(out, &members[i]);
			add_how(out, &members[i]);
		}
		strbuf_addch(out, '\n');
	}
	strbuf_addch(out, '\n');
}

static void add_chain(struct strbuf *out, const struct waits_party *members, uint32_t nr)
{
	strbuf_addstr(out, "  ");
	for (uint32_t i = 0; i < nr; i++) {
		if (i == WAITS_PATH_SHOWN && nr > WAITS_PATH_SHOWN + 1) {
			strbuf_addf(out, " -> ... %" PRIu32 " more ...", nr - i - 1);
			i = nr - 1;
		}
		strbuf_addstr(out, i ? " -> " : "");
		add_member(out, &members[i]);
		if (i + 1 < nr)
			add_how(out, &members[i]);
	}
	strbuf_addch(out, '\n');
}

static void add_monitor(struct strbuf *out, const struct waits_pair *m)
{
	strbuf_addstr(out, "  ");
	add_member(out, &m->from);
	add_in(out, &m->from);
	strbuf_addstr(out, ", monitors ");
	add_member(out, &m->to);
	strbuf_addch(out, '\n');
}

static void add_more(struct strbuf *out, size_t shown, size_t nr)
{
	if (shown < nr)
		strbuf_addf(out, "  ... %zu more (-n %zu shows them)\n", nr - shown, nr);
}

static void add_summary(struct strbuf *out, const struct waits_answer *a)
{
	size_t circles = a->graph->circles.len;

	if (!a->all_waits && !a->unexplained) {
		/* The text has reasons why processes may wait unseen. */
		strbuf_addstr(out,
			      "no process was seen to wait for another: calls of gen_server, "
			      "gen_statem and their like are recognised (ebeam help dump). It "
			      "is not known for whom a receive that is written by hand waits. Of "
			      "processes that wait for a scheduler, and of timers that are "
			      "overdue, 'ebeam diagnose' and 'ebeam sched --now' know\n");
		return;
	}
	cell_count(out, a->all_waits);
	strbuf_addstr(out, a->all_waits == 1 ? " process waits for " : " processes wait for ");
	cell_count(out, a->waited_for);
	strbuf_addf(out, " other%s", a->waited_for == 1 ? "" : "s");
	if (a->unexplained)
		strbuf_addf(out, "; %" PRIu64 " suspended, it is not known by whom",
			    a->unexplained);
	strbuf_addf(out, "; %zu deadlock%s\n", circles, circles == 1 ? "" : "s");
	if (a->all_waits)
		strbuf_addch(out, '\n');
}

static void add_rest(struct strbuf *out, const struct waits_answer *a,
		     const struct table_options *o)
{
	const struct wait_graph *g = a->graph;
	size_t shown = limited(o, g->chains.len);

	add_more(out, limited(o, g->targets.len), g->targets.len);
	strbuf_addstr(out, shown ? "\nChains\n" : "");
	for (size_t i = 0; i < shown; i++)
		add_chain(out, a->members + g->chains.data[i].first, g->chains.data[i].nr);
	add_more(out, shown, g->chains.len);
	if (a->monitors.len)
		strbuf_addstr(out, "\nWaiting processes and what they monitor (they may wait for "
				   "another process)\n");
	for (size_t i = 0; i < a->monitors.len; i++)
		add_monitor(out, &a->monitors.data[i]);
	add_more(out, a->monitors.len, a->all_monitors);
}

int waits_view_write(FILE *f, const struct waits_answer *a, const struct table_options *o,
		     struct error *err)
{
	const struct table targets = targets_table(a, o);
	const struct table_options of_targets = {.indent = 2, .color = o->color};
	const struct wait_graph *g = a->graph;
	struct strbuf out = STRBUF_INIT;
	int rc = 0;

	add_summary(&out, a);
	for (size_t i = 0; i < g->circles.len; i++)
		add_circle(&out, a->members + g->circles.data[i].first, g->circles.data[i].nr);
	table_write_text(f, &out);
	if (targets.nr_rows) {
		fprintf(f, "Waited for\n");
		rc = table_write(f, &targets, &of_targets, err);
	}
	add_rest(&out, a, o);
	table_write_text(f, &out);
	strbuf_free(&out);
	return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_paths(struct jsonw *w, const char *name, const struct waits_answer *a,
		       const struct wait_path *paths, size_t nr)
{
	jsonw_begin_rows(w, name);
	for (size_t i = 0; i < nr; i++) {
		jsonw_begin_array(w, NULL);
		for (uint32_t k = 0; k < paths[i].nr; k++)
			jsonw_string(w, NULL, a->members[paths[i].first + k].p.pid);
		jsonw_end_array(w);
	}
	jsonw_end_array(w);
}

static void json_pairs(struct jsonw *w, const char *name, const struct table_column *columns,
		       const struct waits_pair *pairs, size_t nr)
{
	const struct table t = {columns, pairs, nr, sizeof(*pairs), NULL};

	table_json_rows(w, name, &t, &(struct table_options){0});
}

void waits_view_json(struct jsonw *w, const struct waits_answer *a, const struct table_options *o)
{
	const struct table targets = targets_table(a, o);
	const struct wait_graph *g = a->graph;

	jsonw_begin_object(w, "data");
	table_json_rows(w, "targets", &targets, &(struct table_options){0});
	json_paths(w, "chains", a, g->chains.data, limited(o, g->chains.len));
	json_paths(w, "deadlocks", a, g->circles.data, g->circles.len);
	json_pairs(w, "waits", wait_columns, a->waits.data, a->waits.len);
	json_pairs(w, "monitors", monitor_columns, a->monitors.data, a->monitors.len);
	jsonw_end_object(w);
}
