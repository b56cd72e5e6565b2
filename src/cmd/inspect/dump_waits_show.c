/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --waits`, as text and JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/inspect/dump_waits.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "view/table/table.h"

/* Members of a chain or circle that text shows. */
#define TEXT_PATH 20

static bool is_process(const struct waiting *w, uint32_t node)
{
	return node < w->d->list.len;
}

static const struct process_facts *facts_of(const struct waiting *w, uint32_t node)
{
	return &w->d->list.data[node];
}

/* The stack that it has; NULL if none could be read. */
static const struct stack_group *group_of(const struct waiting *w, uint32_t node)
{
	uint32_t g = is_process(w, node) ? w->d->group_of[node] : DUMP_NO_GROUP;

	return g == DUMP_NO_GROUP ? NULL : &w->d->groups.groups.data[g];
}

static void add_pid(struct waiting *w, uint32_t node, struct strbuf *out)
{
	const struct other *o;

	if (is_process(w, node)) {
		dump_pid(w->d, &w->pids, node, out);
		return;
	}
	o = &w->others.data[node - w->d->list.len];
	if (o->text)
		strbuf_addstr(out, o->text);
	else
		term_print(&w->reader, out, o->item);
}

/* NULL: it is none, or one that leads to nobody who waits. */
static const struct port_facts *port_of(const struct waiting *w, uint32_t node)
{
	const struct other *o = is_process(w, node) ? NULL : &w->others.data[node - w->d->list.len];

	return o && !o->text ? waits_port(&w->d->waits, o->item) : NULL;
}

/* Of a port, its driver. */
static void add_name(const struct waiting *w, uint32_t node, struct strbuf *out)
{
	const struct port_facts *port = port_of(w, node);

	if (is_process(w, node))
		dump_name(w->d, node, out);
	else if (port)
		strbuf_addstr(out, port->driver);
}

static const struct wait *wait_of(const struct waiting *w, uint32_t node)
{
	uint32_t i = is_process(w, node) ? w->wait_of.data[node] : 0;

	return i ? &w->d->waits.v.data[i - 1] : NULL;
}

static struct since since_of_node(const struct waiting *w, uint32_t node)
{
	uint32_t i = is_process(w, node) ? w->wait_of.data[node] : 0;

	return i ? waiting_since(w->d, i - 1) : (struct since){SINCE_UNKNOWN, 0};
}

static const char *status_of(const struct waiting *w, uint32_t node)
{
	const struct stack_group *g = group_of(w, node);
	const struct port_facts *port = port_of(w, node);

	if (g)
		return process_status_name(dump_status(g));
	return port && port_is_busy(port) ? "busy" : NULL;
}

static void add_current(const struct waiting *w, uint32_t node, struct strbuf *out)
{
	const struct stack_group *g = group_of(w, node);
	const struct name_frame *f = g ? dump_current(w->d, g) : NULL;

	if (f)
		dump_function(w->d, f, out);
}

/* It runs: its function is where it last stopped. */
static bool is_stale(const struct waiting *w, uint32_t node)
{
	const struct stack_group *g = group_of(w, node);

	return g && g->what & DUMP_STALE;
}

static void add_since(struct strbuf *out, struct since s)
{
	char text[32];

	if (s.how == SINCE_UNKNOWN)
		return;
	strbuf_addstr(out, s.how == SINCE_AT_LEAST ? ">= " : "");
	strbuf_addstr(out, units_format_ns(s.ms * 1000000, text, sizeof(text)));
}

static void json_since(struct jsonw *w, const char *time, const char *how, struct since s)
{
	jsonw_uint_if(w, time, s.how != SINCE_UNKNOWN, s.ms);
	jsonw_string(w, how,
		     s.how == SINCE_TIMER      ? "timer"
		     : s.how == SINCE_AT_LEAST ? "at_least"
					       : NULL);
}

/* ---- text ------------------------------------------------------------------------------------ */

struct target_row {
	struct waiting *w;
	const struct wait_target *t;
};

static void text_count(struct strbuf *out, uint64_t n)
{
	char text[32];

	strbuf_addstr(out, units_format_count(n, text, sizeof(text)));
}

static void cell_waiting(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	text_count(out, ((const struct target_row *)row)->t->waiting);
}

static void cell_behind(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	text_count(out, ((const struct target_row *)row)->t->behind);
}

static void cell_pid(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	add_pid(r->w, r->t->node, out);
}

static void cell_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	add_name(r->w, r->t->node, out);
}

static void cell_reason(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;
	const struct wait *x = wait_of(r->w, r->t->example);

	(void)ctx;
	if (x)
		strbuf_addstr(out, wait_reason_name(x->reason));
}

static void cell_longest(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	add_since(out, r->w->longest.data[r->t->node]);
}

static void cell_queue(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	if (is_process(r->w, r->t->node))
		text_count(out, (uint64_t)MAX(facts_of(r->w, r->t->node)->message_queue_len, 0));
}

static void cell_status(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;
	const char *status = status_of(r->w, r->t->node);

	(void)ctx;
	strbuf_addstr(out, status ? status : "");
}

static void cell_current(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	add_current(r->w, r->t->node, out);
	if (is_stale(r->w, r->t->node))
		strbuf_addstr(out, " ~");
}

static const struct table_column target_columns[] = {
	{"waiting", "WAITING", TABLE_RIGHT, .text = cell_waiting},
	{"behind", "BEHIND", TABLE_RIGHT, .text = cell_behind},
	{"longest", "LONGEST", TABLE_RIGHT, .text = cell_longest},
	{"reason", "FOR", .text = cell_reason},
	{"pid", "PID", .text = cell_pid},
	{"name", "NAME", .text = cell_name},
	{"message_queue_len", "QUEUE", TABLE_RIGHT, .text = cell_queue},
	{"status", "STATUS", .text = cell_status},
	{"current_function", "CURRENT FUNCTION", .text = cell_current},
	{.name = NULL},
};

static void add_member(struct waiting *w, uint32_t node, struct strbuf *out)
{
	size_t from;

	add_pid(w, node, out);
	from = out->len;
	strbuf_addch(out, ' ');
	add_name(w, node, out);
	if (out->len == from + 1)
		out->buf[--out->len] = '\0';
}

/* " (busy_port, >= 3.2 s)": why it waits, if it is not for an answer, and how long. */
static void add_how(const struct waiting *w, uint32_t node, struct strbuf *out)
{
	const struct wait *x = wait_of(w, node);
	struct since s = since_of_node(w, node);
	bool has_reason = x && x->reason != WAIT_ANSWER;

	if (!has_reason && s.how == SINCE_UNKNOWN)
		return;
	strbuf_addf(out, " (%s%s", has_reason ? wait_reason_name(x->reason) : "",
		    has_reason && s.how != SINCE_UNKNOWN ? ", " : "");
	add_since(out, s);
	strbuf_addch(out, ')');
}

/* Each on a line of its own, with what it waits in. */
static void add_circle(struct waiting *w, const struct wait_path *p, struct strbuf *out)
{
	strbuf_addf(out, "DEADLOCK: %" PRIu32 " %s\n", p->nr,
		    p->nr == 1 ? "process waits for itself" : "processes wait for each other");
	for (uint32_t i = 0; i <= p->nr; i++) {
		if (i == TEXT_PATH && p->nr > TEXT_PATH) {
			strbuf_addf(out, "    ... %" PRIu32 " more ...\n", p->nr - i);
			i = p->nr;
		}
		strbuf_addstr(out, i ? "    waits for " : "    ");
		add_member(w, w->graph.nodes.data[p->first + i % p->nr], out);
		if (i < p->nr) {
			strbuf_addstr(out, ", in ");
			add_current(w, w->graph.nodes.data[p->first + i], out);
			add_how(w, w->graph.nodes.data[p->first + i], out);
		}
		strbuf_addch(out, '\n');
	}
	strbuf_addch(out, '\n');
}

static void add_chain(struct waiting *w, const struct wait_path *p, struct strbuf *out)
{
	strbuf_addstr(out, "  ");
	for (uint32_t i = 0; i < p->nr; i++) {
		if (i == TEXT_PATH && p->nr > TEXT_PATH + 1) {
			strbuf_addf(out, " -> ... %" PRIu32 " more ...", p->nr - i - 1);
			i = p->nr - 1;
		}
		strbuf_addstr(out, i ? " -> " : "");
		add_member(w, w->graph.nodes.data[p->first + i], out);
		if (i + 1 < p->nr)
			add_how(w, w->graph.nodes.data[p->first + i], out);
	}
	strbuf_addch(out, '\n');
}

static void add_monitor(struct waiting *w, const struct wait *x, struct strbuf *out)
{
	strbuf_addstr(out, "  ");
	add_member(w, x->from, out);
	strbuf_addstr(out, ", in ");
	add_current(w, x->from, out);
	strbuf_addstr(out, ", monitors ");
	if (x->to != WAIT_ELSEWHERE)
		add_member(w, x->to, out);
	else
		term_print(&w->reader, out, x->item);
	strbuf_addch(out, '\n');
}

static void add_more(struct strbuf *out, size_t shown, size_t nr)
{
	if (shown < nr)
		strbuf_addf(out, "  ... %zu more (-n %zu shows them)\n", nr - shown, nr);
}

static size_t limited(const struct command_context *ctx, size_t nr)
{
	return ctx->opt.limit ? MIN(nr, (size_t)ctx->opt.limit) : nr;
}

static int write_targets(struct waiting *w, const struct command_context *ctx, FILE *f,
			 struct error *err)
{
	struct target_row *rows = xcalloc(w->graph.targets.len + 1, sizeof(*rows));
	struct table table = {.columns = target_columns,
			      .rows = rows,
			      .nr_rows = limited(ctx, w->graph.targets.len),
			      .row_size = sizeof(*rows)};
	struct table_options options = {.indent = 2, .color = render_color(&ctx->opt, f)};
	int rc;

	for (size_t i = 0; i < w->graph.targets.len; i++)
		rows[i] = (struct target_row){w, &w->graph.targets.data[i]};
	fprintf(f, "Waited for\n");
	rc = table_write(f, &table, &options, err);
	free(rows);
	return rc;
}

/* Those for which a process waits itself. */
static size_t count_targets(const struct waiting *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->graph.targets.len; i++)
		nr += is_process(w, w->graph.targets.data[i].example);
	return nr;
}

/* Why there may be none although processes wait. */
static void add_none(struct strbuf *out)
{
	strbuf_addstr(out, "no process was seen to wait for another: calls of gen_server, "
			   "gen_statem and their like are recognised (ebeam help dump); a receive "
			   "that is written by hand does not say for whom it waits, nor does a "
			   "process that waits for a scheduler\n");
}

static void add_summary(const struct waiting *w, struct strbuf *out)
{
	const struct dump *d = w->d;
	size_t nr = count_targets(w);

	if (!d->waits.v.len && !d->waits.unexplained) {
		add_none(out);
		return;
	}
	text_count(out, d->waits.v.len);
	strbuf_addstr(out, d->waits.v.len == 1 ? " process waits for " : " processes wait for ");
	text_count(out, nr);
	strbuf_addf(out, " other%s", nr == 1 ? "" : "s");
	if (d->waits.unexplained)
		strbuf_addf(out, "; %" PRIu64 " suspended, by what is not known",
			    d->waits.unexplained);
	strbuf_addf(out, "; %zu deadlock%s\n", w->graph.circles.len,
		    w->graph.circles.len == 1 ? "" : "s");
	if (d->waits.v.len)
		strbuf_addch(out, '\n');
}

int dump_waits_text(const struct dump *d, const struct command_context *ctx, FILE *f,
		    struct error *err)
{
	struct strbuf out = STRBUF_INIT;
	struct waiting w;
	size_t shown;
	int rc = waiting_open(&w, d, err);

	if (rc)
		return rc;
	add_summary(&w, &out);
	for (size_t i = 0; i < w.graph.circles.len; i++)
		add_circle(&w, &w.graph.circles.data[i], &out);
	table_clean_text(&out, true);
	fwrite(out.buf, 1, out.len, f);
	strbuf_reset(&out);
	if (w.graph.targets.len)
		rc = write_targets(&w, ctx, f, err);
	add_more(&out, limited(ctx, w.graph.targets.len), w.graph.targets.len);
	shown = limited(ctx, w.graph.chains.len);
	if (shown)
		strbuf_addstr(&out, "\nChains\n");
	for (size_t i = 0; i < shown; i++)
		add_chain(&w, &w.graph.chains.data[i], &out);
	add_more(&out, shown, w.graph.chains.len);
	shown = limited(ctx, d->waits.monitors.len);
	if (shown)
		strbuf_addstr(&out,
			      "\nWith a monitor at hand (whether they wait for that process is not "
			      "known)\n");
	for (size_t i = 0; i < shown; i++)
		add_monitor(&w, &d->waits.monitors.data[i], &out);
	add_more(&out, shown, d->waits.monitors.len);
	table_clean_text(&out, true);
	fwrite(out.buf, 1, out.len, f);
	strbuf_free(&out);
	waiting_close(&w);
	return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_target(struct jsonw *w, struct waiting *x, const struct wait_target *t)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	add_pid(x, t->node, &text);
	jsonw_text(w, "pid", &text);
	strbuf_reset(&text);
	add_name(x, t->node, &text);
	jsonw_text(w, "name", &text);
	jsonw_uint(w, "waiting", t->waiting);
	jsonw_uint(w, "behind", t->behind);
	if (is_process(x, t->node))
		jsonw_int(w, "message_queue_len", facts_of(x, t->node)->message_queue_len);
	else
		jsonw_null(w, "message_queue_len");
	json_since(w, "longest_ms", "longest_is", x->longest.data[t->node]);
	jsonw_string(w, "status", status_of(x, t->node));
	strbuf_reset(&text);
	add_current(x, t->node, &text);
	jsonw_text(w, "current_function", &text);
	jsonw_bool(w, "stale", is_stale(x, t->node));
	jsonw_end_object(w);
	strbuf_free(&text);
}

static void json_path(struct jsonw *w, struct waiting *x, const struct wait_path *p)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_array(w, NULL);
	for (uint32_t i = 0; i < p->nr; i++) {
		strbuf_reset(&text);
		add_pid(x, x->graph.nodes.data[p->first + i], &text);
		jsonw_text(w, NULL, &text);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void json_wait(struct jsonw *w, struct waiting *x, const struct wait *wait)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	add_pid(x, wait->from, &text);
	jsonw_text(w, "pid", &text);
	strbuf_reset(&text);
	if (wait->to != WAIT_ELSEWHERE)
		add_pid(x, wait->to, &text);
	else
		term_print(&x->reader, &text, wait->item);
	jsonw_text(w, wait->reason == WAIT_MONITOR ? "monitors" : "waits_for", &text);
	strbuf_reset(&text);
	if (wait->reason == WAIT_MONITOR) {
		add_current(x, wait->from, &text);
		jsonw_text(w, "current_function", &text);
	} else {
		jsonw_string(w, "reason", wait_reason_name(wait->reason));
		json_since(w, "waiting_ms", "waiting_is", since_of_node(x, wait->from));
	}
	jsonw_end_object(w);
	strbuf_free(&text);
}

int dump_waits_json(const struct dump *d, const struct command_context *ctx, FILE *f,
		    struct error *err)
{
	struct jsonw w = JSONW(f);
	struct waiting x;
	int rc = waiting_open(&x, d, err);
	const struct envelope_counter counters[] = {
		{"waits", d->waits.v.len},
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
		{"unreadable", d->waits.unreadable},
		{"unexplained", d->waits.unexplained},
	};

	if (rc)
		return rc;
	target_json_begin(&w, ctx, d->n);
	jsonw_begin_object(&w, "data");
	jsonw_begin_rows(&w, "targets");
	for (size_t i = 0; i < limited(ctx, x.graph.targets.len); i++)
		json_target(&w, &x, &x.graph.targets.data[i]);
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "chains");
	for (size_t i = 0; i < limited(ctx, x.graph.chains.len); i++)
		json_path(&w, &x, &x.graph.chains.data[i]);
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "deadlocks");
	for (size_t i = 0; i < x.graph.circles.len; i++)
		json_path(&w, &x, &x.graph.circles.data[i]);
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "waits");
	for (size_t i = 0; i < limited(ctx, d->waits.v.len); i++)
		json_wait(&w, &x, &d->waits.v.data[i]);
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "monitors");
	for (size_t i = 0; i < limited(ctx, d->waits.monitors.len); i++)
		json_wait(&w, &x, &d->waits.monitors.data[i]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	rc = envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	waiting_close(&x);
	return rc;
}
