/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --waits`: who waits for whose answer; see dump.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/pid.h"
#include "beam/term.h"
#include "cmd/dump.h"
#include "cmd/render.h"
#include "model/wait_graph.h"
#include "view/table.h"

/* Members of a chain or circle that text shows. */
#define TEXT_PATH 20

/* Nodes of the graph: the processes of the list, then whatever else is waited for. */
struct waiting {
	const struct dump *d;
	struct wait_graph graph;
	uint32_t *to;
	VEC(uint64_t) others; /* terms */
	struct id_format pids;
	struct term_formats formats;
	struct term_reader reader;
};

/* ---- the graph ------------------------------------------------------------------------------ */

static uint32_t other(struct waiting *w, uint64_t item)
{
	for (size_t i = 0; i < w->others.len; i++) {
		if (w->others.data[i] == item)
			return (uint32_t)(w->d->list.len + i);
	}
	vec_push(&w->others, item);
	return (uint32_t)(w->d->list.len + w->others.len - 1);
}

static int waiting_open(struct waiting *w, const struct dump *d, struct error *err)
{
	size_t nr = d->list.len;
	int rc;

	memset(w, 0, sizeof(*w));
	w->d = d;
	rc = id_format_read(&w->pids, d->n->mem, &d->n->layout, d->n->anchors.proc_tab,
			    d->n->identity.otp);
	rc = rc ? rc : term_reader_init(&w->reader, &w->formats, d->n);
	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	w->to = xmalloc(sizeof(*w->to) * (nr + d->waits.v.len + 1));
	for (size_t i = 0; i < nr + d->waits.v.len; i++)
		w->to[i] = WAIT_NOBODY;
	for (size_t i = 0; i < d->waits.v.len; i++) {
		const struct wait *x = &d->waits.v.data[i];

		w->to[x->from] = x->to == WAIT_ELSEWHERE ? other(w, x->item) : x->to;
	}
	wait_graph_make(&w->graph, w->to, (uint32_t)(nr + w->others.len));
	return 0;
}

static void waiting_close(struct waiting *w)
{
	wait_graph_free(&w->graph);
	vec_free(&w->others);
	free(w->to);
}

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
	if (is_process(w, node))
		dump_pid(w->d, &w->pids, node, out);
	else
		term_print(&w->reader, out, w->others.data[node - w->d->list.len]);
}

static void add_current(const struct waiting *w, uint32_t node, struct strbuf *out)
{
	const struct stack_group *g = group_of(w, node);
	const struct name_frame *f = g ? dump_current(w->d, g) : NULL;

	if (f)
		dump_function(w->d, f, out);
}

/* ---- text ----------------------------------------------------------------------------------- */

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
	if (is_process(r->w, r->t->node))
		dump_name(r->w->d, r->t->node, out);
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
	const struct stack_group *g = group_of(r->w, r->t->node);

	(void)ctx;
	strbuf_addstr(out, g ? process_status_name(dump_status(g)) : "");
}

static void cell_current(struct strbuf *out, const void *row, const void *ctx)
{
	const struct target_row *r = row;

	(void)ctx;
	add_current(r->w, r->t->node, out);
}

static const struct table_column target_columns[] = {
	{"waiting", "WAITING", TABLE_RIGHT, false, cell_waiting, NULL},
	{"behind", "BEHIND", TABLE_RIGHT, false, cell_behind, NULL},
	{"pid", "PID", TABLE_LEFT, false, cell_pid, NULL},
	{"name", "NAME", TABLE_LEFT, false, cell_name, NULL},
	{"message_queue_len", "QUEUE", TABLE_RIGHT, false, cell_queue, NULL},
	{"status", "STATUS", TABLE_LEFT, false, cell_status, NULL},
	{"current_function", "CURRENT FUNCTION", TABLE_LEFT, false, cell_current, NULL},
	{.name = NULL},
};

static void add_member(struct waiting *w, uint32_t node, struct strbuf *out)
{
	size_t from;

	add_pid(w, node, out);
	if (!is_process(w, node))
		return;
	from = out->len;
	strbuf_addch(out, ' ');
	dump_name(w->d, node, out);
	if (out->len == from + 1)
		out->buf[--out->len] = '\0';
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
	}
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

int dump_waits_text(const struct dump *d, const struct command_context *ctx, FILE *f,
		    struct error *err)
{
	struct strbuf out = STRBUF_INIT;
	struct waiting w;
	size_t shown;
	int rc = waiting_open(&w, d, err);

	if (rc)
		return rc;
	text_count(&out, d->waits.v.len);
	strbuf_addstr(&out, d->waits.v.len == 1 ? " process waits for the answer of "
						: " processes wait for answers of ");
	text_count(&out, w.graph.targets.len);
	strbuf_addf(&out, w.graph.targets.len == 1 ? " other" : " others");
	strbuf_addf(&out, "; %zu deadlock%s\n\n", w.graph.circles.len,
		    w.graph.circles.len == 1 ? "" : "s");
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
	table_clean_text(&out, true);
	fwrite(out.buf, 1, out.len, f);
	strbuf_free(&out);
	waiting_close(&w);
	return rc;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_target(struct jsonw *w, struct waiting *x, const struct wait_target *t)
{
	const struct stack_group *g = group_of(x, t->node);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	add_pid(x, t->node, &text);
	jsonw_text(w, "pid", &text);
	strbuf_reset(&text);
	if (is_process(x, t->node))
		dump_name(x->d, t->node, &text);
	jsonw_text(w, "name", &text);
	jsonw_uint(w, "waiting", t->waiting);
	jsonw_uint(w, "behind", t->behind);
	if (is_process(x, t->node))
		jsonw_int(w, "message_queue_len", facts_of(x, t->node)->message_queue_len);
	else
		jsonw_null(w, "message_queue_len");
	jsonw_string(w, "status", g ? process_status_name(dump_status(g)) : NULL);
	strbuf_reset(&text);
	add_current(x, t->node, &text);
	jsonw_text(w, "current_function", &text);
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

int dump_waits_json(const struct dump *d, const struct command_context *ctx, FILE *f,
		    struct error *err)
{
	struct jsonw w = JSONW(f);
	struct waiting x;
	int rc = waiting_open(&x, d, err);
	const struct target_counter counters[] = {
		{"waits", d->waits.v.len}, {"vanished", d->vanished},		{"torn", d->torn},
		{"running", d->stale},	   {"unreadable", d->waits.unreadable},
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
	jsonw_end_object(&w);
	rc = target_json_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	waiting_close(&x);
	return rc;
}
