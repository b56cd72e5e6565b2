/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --waits`: makes the answer of waits_view.h, with its texts, and writes it. */
#include <stdlib.h>

#include "base/compiler.h"
#include "cmd/inspect/dump_waits.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"

static bool is_process(const struct waiting *w, uint32_t node)
{
	return node < w->d->list.len;
}

static const char *reason_of(const struct waiting *w, uint32_t node)
{
	uint32_t i = is_process(w, node) ? w->wait_of.data[node] : 0;

	return i ? wait_reason_name(w->d->waits.v.data[i - 1].reason) : NULL;
}

static const char *text_of_term(struct waiting *w, uint64_t term)
{
	struct strbuf text = STRBUF_INIT;
	const char *s;

	term_print(&w->reader, &text, term);
	s = arena_text(&w->texts, &text);
	strbuf_free(&text);
	return s;
}

/* `named`: with the name, for which the Erlang node may have to be read. */
static struct waits_party party(struct waiting *w, uint32_t node, bool named)
{
	struct waits_party p = {
		.queue = UINT64_MAX, .reason = reason_of(w, node), .since = waiting_since(w, node)};
	const struct port_facts *port;
	const struct other *o;

	if (is_process(w, node)) {
		p.p = dump_process(w->d, node, named, &w->texts);
		p.queue = (uint64_t)MAX(w->d->list.data[node].message_queue_len, 0);
		return p;
	}
	o = &w->others.data[node - w->d->list.len];
	p.p.pid = o->text ? o->text : text_of_term(w, o->item);
	port = o->text ? NULL : waits_port(&w->d->waits, o->item);
	if (port) {
		p.p.name = arena_copy(&w->texts, port->driver);
		p.p.status = port_is_busy(port) ? "busy" : NULL;
	}
	return p;
}

static struct waits_pair pair(struct waiting *w, const struct wait *x, bool named)
{
	struct waits_pair p = {.from = party(w, x->from, named)};

	if (x->to != WAIT_ELSEWHERE)
		p.to = party(w, x->to, named);
	else
		p.to.p.pid = text_of_term(w, x->item);
	return p;
}

static void add_path(struct waits_answer *a, struct waiting *w, const struct wait_path *p,
		     bool named)
{
	for (uint32_t i = 0; i < p->nr; i++)
		a->members[p->first + i] = party(w, w->graph.nodes.data[p->first + i],
						 named && (i < WAITS_PATH_SHOWN || i + 1 == p->nr));
}

static size_t limited(const struct command_context *ctx, size_t nr)
{
	return ctx->opt.limit ? MIN(nr, (size_t)ctx->opt.limit) : nr;
}

/* Only text has names of processes in paths, and only JSON has the list of waits. */
static void make_answer(struct waits_answer *a, struct waiting *w,
			const struct command_context *ctx, bool text)
{
	const struct waits *waits = &w->d->waits;
	const struct wait_graph *g = &w->graph;

	*a = (struct waits_answer){
		.graph = g,
		.targets = xcalloc(g->targets.len + 1, sizeof(*a->targets)),
		.members = xcalloc(g->nodes.len + 1, sizeof(*a->members)),
		.all_waits = waits->v.len,
		.all_monitors = waits->monitors.len,
		.unexplained = waits->unexplained,
	};
	for (size_t i = 0; i < g->targets.len; i++)
		a->waited_for += is_process(w, g->targets.data[i].example);
	for (size_t i = 0; i < limited(ctx, g->targets.len); i++) {
		const struct wait_target *t = &g->targets.data[i];

		a->targets[i] =
			(struct waits_target){*t, party(w, t->node, true), reason_of(w, t->example),
					      w->longest.data[t->node]};
	}
	for (size_t i = 0; i < g->circles.len; i++)
		add_path(a, w, &g->circles.data[i], text);
	for (size_t i = 0; i < limited(ctx, g->chains.len); i++)
		add_path(a, w, &g->chains.data[i], text);
	for (size_t i = 0; !text && i < limited(ctx, waits->v.len); i++)
		vec_push(&a->waits, pair(w, &waits->v.data[i], false));
	for (size_t i = 0; i < limited(ctx, waits->monitors.len); i++)
		vec_push(&a->monitors, pair(w, &waits->monitors.data[i], text));
}

int dump_waits(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	       struct error *err)
{
	const struct table_options options = {.limit = ctx->opt.limit,
					      .color = text && render_color(&ctx->opt, f)};
	const struct envelope_counter counters[] = {
		{"waits", d->waits.v.len},
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
		{"unreadable", d->waits.unreadable},
		{"unexplained", d->waits.unexplained},
	};
	struct jsonw w = JSONW(f);
	struct waits_answer a;
	struct waiting x;
	int rc = waiting_open(&x, d, err);

	if (rc)
		return rc;
	make_answer(&a, &x, ctx, text);
	if (text) {
		rc = waits_view_write(f, &a, &options, err);
	} else {
		target_json_begin(&w, ctx, d->n);
		waits_view_json(&w, &a, &options);
		rc = envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	}
	free(a.targets);
	free(a.members);
	vec_free(&a.waits);
	vec_free(&a.monitors);
	waiting_close(&x);
	return rc;
}
