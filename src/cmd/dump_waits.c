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
#include "target/sockets.h"
#include "view/table.h"

/* Members of a chain or circle that text shows. */
#define TEXT_PATH 20

/* What is waited for and is no process of this node: a term, or text (the peer of a socket). */
struct other {
	uint64_t item;
	char *text; /* NULL: a term */
};

/* How long somebody has been waiting. */
struct since {
	enum { SINCE_UNKNOWN, SINCE_AT_LEAST, SINCE_TIMER } how;
	uint64_t ms;
};

/* Nodes of the graph: the processes of the list, then whatever else is waited for. */
struct waiting {
	const struct dump *d;
	struct wait_graph graph;
	VEC(uint32_t) to;
	VEC(struct other) others;
	VEC(uint32_t) wait_of;	   /* of each process: 1 + index in waits.v; 0 = none */
	VEC(struct since) longest; /* of those that wait for each node */
	struct id_format pids;
	struct term_formats formats;
	struct term_reader reader;
	struct socket_table sockets;
};

/* ---- since when ----------------------------------------------------------------------------- */

static int by_epid(const void *a, const void *b)
{
	const struct dump_seen *x = a, *y = b;

	return x->epid < y->epid ? -1 : x->epid > y->epid;
}

void dump_waits_remember(struct dump *d)
{
	struct dump_seen *old = d->seen.data;
	size_t nr = d->seen.len;

	memset(&d->seen, 0, sizeof(d->seen));
	d->looked_ns = clock_monotonic_ns();
	d->looks++;
	if (nr)
		qsort(old, nr, sizeof(*old), by_epid);
	for (size_t i = 0; i < d->waits.v.len; i++) {
		const struct wait *x = &d->waits.v.data[i];
		struct dump_seen new = {.epid = d->list.data[x->from].epid,
					.item = x->item,
					.mark = x->mark,
					.reason = x->reason,
					.first_ns = d->looked_ns};
		const struct dump_seen *before =
			nr ? bsearch(&new, old, nr, sizeof(*old), by_epid) : NULL;

		if (before && before->mark == new.mark &&
		    (before->item == new.item || new.reason == WAIT_ANSWER))
			new.first_ns = before->first_ns;
		vec_push(&d->seen, new);
	}
	free(old);
}

static struct since since_of(const struct dump *d, size_t i)
{
	const struct wait *x = &d->waits.v.data[i];
	uint64_t ns = d->looked_ns - d->seen.data[i].first_ns;

	if (x->waiting_ms >= 0)
		return (struct since){SINCE_TIMER, (uint64_t)x->waiting_ms};
	if (ns)
		return (struct since){SINCE_AT_LEAST, ns / 1000000};
	return (struct since){SINCE_UNKNOWN, 0};
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

/* ---- the graph ------------------------------------------------------------------------------ */

/* Takes over the text. */
static uint32_t other(struct waiting *w, uint64_t item, char *text)
{
	struct other new = {item, text};

	for (size_t i = 0; i < w->others.len; i++) {
		const struct other *o = &w->others.data[i];

		if (text ? o->text && strcmp(o->text, text) == 0 : !o->text && o->item == item) {
			free(text);
			return (uint32_t)(w->d->list.len + i);
		}
	}
	vec_push(&w->others, new);
	return (uint32_t)(w->d->list.len + w->others.len - 1);
}

/* Where a port leads to: the peer of its socket, or the program that it talks to; malloc'ed, NULL =
 * not known. */
static char *peer_of(struct waiting *w, const struct port_facts *p)
{
	const struct socket_info *socket;
	char target[64], peer[160] = "";

	if (p->os_pid > 0)
		return xasprintf("os pid %lld", (long long)p->os_pid);
	if (w->d->n->core || p->fd_kind != PORT_FD_INET || p->fds[0] < 0 ||
	    proc_fd_target(w->d->n->os_pid, p->fds[0], target, sizeof(target)) != 0)
		return NULL;
	if (!w->sockets.data)
		sockets_read(&w->sockets, w->d->n->os_pid);
	socket = socket_find(&w->sockets, socket_inode(target));
	if (socket)
		socket_peer(socket, peer, sizeof(peer));
	return *peer ? xstrdup(peer) : NULL;
}

/* From a node to what keeps the connection, from a port to its peer. */
static uint32_t leads_to(struct waiting *w, struct other o)
{
	const struct port_facts *port = o.text ? NULL : waits_port(&w->d->waits, o.item);
	uint64_t keeper = o.text || port ? 0 : waits_controller(&w->d->waits, o.item);
	uint32_t process = waits_process(&w->d->waits, keeper);
	char *peer = port ? peer_of(w, port) : NULL;

	if (peer)
		return other(w, 0, peer);
	if (!keeper)
		return WAIT_NOBODY;
	return process != IDMAP_NONE ? process : other(w, keeper, NULL);
}

static void find_longest(struct waiting *w)
{
	for (size_t i = 0; i < w->to.len; i++)
		vec_push(&w->longest, ((struct since){SINCE_UNKNOWN, 0}));
	for (size_t i = 0; i < w->d->waits.v.len; i++) {
		struct since s = since_of(w->d, i);
		struct since *most = &w->longest.data[w->to.data[w->d->waits.v.data[i].from]];

		if (s.how != SINCE_UNKNOWN && (most->how == SINCE_UNKNOWN || s.ms > most->ms))
			*most = s;
	}
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
	for (size_t i = 0; i < nr; i++) {
		vec_push(&w->to, WAIT_NOBODY);
		vec_push(&w->wait_of, 0);
	}
	for (size_t i = 0; i < d->waits.v.len; i++) {
		const struct wait *x = &d->waits.v.data[i];

		w->wait_of.data[x->from] = (uint32_t)i + 1;
		w->to.data[x->from] = x->to == WAIT_ELSEWHERE ? other(w, x->item, NULL) : x->to;
	}
	for (size_t i = 0; i < w->others.len; i++) {
		uint32_t to = leads_to(w, w->others.data[i]);

		vec_push(&w->to, to);
	}
	find_longest(w);
	wait_graph_make(&w->graph, w->to.data, (uint32_t)(nr + w->others.len));
	return 0;
}

static void waiting_close(struct waiting *w)
{
	wait_graph_free(&w->graph);
	for (size_t i = 0; i < w->others.len; i++)
		free(w->others.data[i].text);
	vec_free(&w->others);
	vec_free(&w->to);
	vec_free(&w->wait_of);
	vec_free(&w->longest);
	socket_table_free(&w->sockets);
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

	return i ? since_of(w->d, i - 1) : (struct since){SINCE_UNKNOWN, 0};
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
}

static const struct table_column target_columns[] = {
	{"waiting", "WAITING", TABLE_RIGHT, false, cell_waiting, NULL},
	{"behind", "BEHIND", TABLE_RIGHT, false, cell_behind, NULL},
	{"longest", "LONGEST", TABLE_RIGHT, false, cell_longest, NULL},
	{"reason", "FOR", TABLE_LEFT, false, cell_reason, NULL},
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
	bool told = x && x->reason != WAIT_ANSWER;

	if (!told && s.how == SINCE_UNKNOWN)
		return;
	strbuf_addf(out, " (%s%s", told ? wait_reason_name(x->reason) : "",
		    told && s.how != SINCE_UNKNOWN ? ", " : "");
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
	strbuf_addstr(&out, d->waits.v.len == 1 ? " process waits for " : " processes wait for ");
	text_count(&out, count_targets(&w));
	strbuf_addf(&out, " other%s", count_targets(&w) == 1 ? "" : "s");
	if (d->waits.unexplained)
		strbuf_addf(&out, "; %" PRIu64 " suspended, by what is not known",
			    d->waits.unexplained);
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

/* ---- JSON ----------------------------------------------------------------------------------- */

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
	const struct target_counter counters[] = {
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
	rc = target_json_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	waiting_close(&x);
	return rc;
}
