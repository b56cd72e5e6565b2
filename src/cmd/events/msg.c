/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam msg`: who floods whom, and which mailboxes grow.  Lengths of mailboxes are those that the
 * node has now, if there is one.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/process/process.h"
#include "cmd/run/event_run.h"
#include "model/stats/message_stats.h"
#include "view/events/msg_view.h"

/* Mailboxes whose lengths are read from the node: BOXES_ASKED of the longest, and of those that
 * grew most, whose process exists; at most BOXES_TRIED are tried. */
#define BOXES_ASKED 64
#define BOXES_TRIED 1024

struct msg {
	struct command_context *ctx;
	struct event_run *run;
	struct message_stats stats;
	uint64_t kinds; /* bit set of the kinds of events that are watched */
};

struct view {
	struct msg *m;
	uint64_t box_span_ns; /* from the start to when the lengths of mailboxes were read */
	struct arena texts;
	struct strbuf text;
	const char **ends; /* texts of ends, made on demand; index = end */
	struct msg_answer a;
};

static struct msg_counts counts_of(const struct view *v, const struct message_counts *n,
				   double share)
{
	double seconds = (double)v->a.span_ns / 1e9;

	return (struct msg_counts){
		.messages = units_of_share(n->messages, share),
		.without_size = units_of_share(n->unsized, share),
		.bytes = units_of_share(8 * n->words, share),
		.messages_per_s = units_rate((double)n->messages / share, seconds),
		.bytes_per_s = units_rate(8.0 * (double)n->words / share, seconds),
	};
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct found_row {
	uint32_t from, to; /* ends; UINT32_MAX = any */
	struct message_counts n;
	double share;
};

static int most_first(const void *a, const void *b)
{
	const struct found_row *x = a, *y = b;
	double nx = (double)x->n.messages / x->share, ny = (double)y->n.messages / y->share;

	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->n.words != y->n.words)
		return x->n.words > y->n.words ? -1 : 1;
	return x->from != y->from ? (x->from < y->from ? -1 : 1)
	       : x->to < y->to	  ? -1
				  : x->to > y->to;
}

static const char *end_text(struct view *v, uint32_t end)
{
	if (end == UINT32_MAX)
		return NULL;
	if (!v->ends[end]) {
		message_end_text(&v->m->stats, end, &v->text);
		v->ends[end] = arena_text(&v->texts, &v->text);
	}
	return v->ends[end];
}

static void make_rows(struct view *v, enum message_rows by)
{
	const struct message_stats *m = &v->m->stats;
	VEC(struct found_row) found = {0};

	for (size_t i = 0; by == MESSAGE_ROWS_PAIR && i < m->pairs.len; i++) {
		const struct message_pair *p = &m->pairs.data[i];

		if (p->n.messages)
			vec_push(&found,
				 ((struct found_row){p->from, p->to, p->n,
						     message_share(m, &m->ends.data[p->from])}));
	}
	for (uint32_t i = 0; by != MESSAGE_ROWS_PAIR && i < m->ends.len; i++) {
		const struct message_end *e = &m->ends.data[i];

		if (by == MESSAGE_ROWS_SENDER && e->sent.messages)
			vec_push(&found,
				 ((struct found_row){i, UINT32_MAX, e->sent, message_share(m, e)}));
		else if (by == MESSAGE_ROWS_RECEIVER && e->received.messages)
			vec_push(&found, ((struct found_row){UINT32_MAX, i, e->received,
							     message_share_all(m)}));
	}
	if (found.len)
		qsort(found.data, found.len, sizeof(*found.data), most_first);
	v->ends = xcalloc(m->ends.len, sizeof(*v->ends));
	v->a.rows = xcalloc(found.len, sizeof(*v->a.rows));
	v->a.nr_rows = found.len;
	for (size_t i = 0; i < found.len; i++) {
		const struct found_row *r = &found.data[i];

		v->a.rows[i] = (struct msg_row){end_text(v, r->from), end_text(v, r->to),
						counts_of(v, &r->n, r->share)};
	}
	vec_free(&found);
}

/* ---- mailboxes ------------------------------------------------------------------------------ */

static int longest_first(const void *a, const void *b)
{
	const struct mailbox *x = *(struct mailbox *const *)a, *y = *(struct mailbox *const *)b;

	if (x->len != y->len)
		return x->len > y->len ? -1 : 1;
	return x->epid < y->epid ? -1 : x->epid > y->epid;
}

static int grown_first(const void *a, const void *b)
{
	const struct mailbox *x = *(struct mailbox *const *)a, *y = *(struct mailbox *const *)b;
	int64_t gx = mailbox_growth(x), gy = mailbox_growth(y);

	if (gx != gy)
		return gx > gy ? -1 : 1;
	return longest_first(a, b);
}

/* Reads the current lengths of the first mailboxes from the node.  Events only have the length at
 * the last message that was seen. */
static void ask_node(struct beam_node *n, struct mailbox **boxes, size_t nr)
{
	unsigned int there = 0;

	for (size_t i = 0; i < nr && i < BOXES_TRIED && there < BOXES_ASKED; i++) {
		struct mailbox *b = boxes[i];
		struct process_facts p;
		int rc = b->asked ? 1 : process_read(n, b->epid, 0, &p);

		if (rc == 0 && p.message_queue_len >= 0)
			mailbox_set(b, false, (uint64_t)p.message_queue_len);
		else if (rc == -ESRCH)
			mailbox_set(b, true, 0);
		b->asked |= rc == 0 || rc == -ESRCH;
		there += b->asked && !b->gone;
	}
}

static struct msg_box box_of(struct view *v, const struct mailbox *b)
{
	const struct message_stats *m = &v->m->stats;
	const struct coverage *c = &m->stream->coverage;
	const struct name_process *p = names_process(m->stream->names, b->process);
	double share = coverage_share(c, EVENT_MESSAGE_QUEUED);
	double growth = (double)mailbox_growth(b);
	uint64_t full_in_ns = mailbox_full_in_ns(b, v->box_span_ns);

	process_group_name_of(m->stream->names, b->process, &v->text);
	return (struct msg_box){
		.pid = p ? p->pid : NULL,
		.name = arena_text(&v->texts, &v->text),
		.len = b->len,
		.max_len = b->max_len,
		.queued = units_of_share(b->queued.messages, share),
		.queued_bytes = units_of_share(8 * b->queued.words, share),
		.received = v->m->kinds >> EVENT_MESSAGE_RECEIVE & 1
				    ? units_of_share(b->received,
						     coverage_share(c, EVENT_MESSAGE_RECEIVE))
				    : UINT64_MAX,
		.growth = growth,
		.growth_per_s = units_rate(growth, (double)v->box_span_ns / 1e9),
		.full_in_s = full_in_ns == UINT64_MAX ? NAN : (double)full_in_ns / 1e9,
	};
}

/* Makes the rows of mailboxes; live, only of those that were read, as others may be gone. */
static void make_boxes(struct view *v)
{
	struct beam_node *n = event_run_node(v->m->run);
	size_t len = v->m->stats.boxes.len, nr = 0;
	struct mailbox **boxes = xcalloc(len, sizeof(struct mailbox *));
	uint64_t span_ns = v->a.span_ns, start_ns, end_ns;

	v->a.boxes_asked = n != NULL;
	for (size_t i = 0; i < len; i++) {
		struct mailbox *b = &v->m->stats.boxes.data[i];

		b->asked = false;
		if (mailbox_is_notable(b, span_ns))
			boxes[nr++] = b;
	}
	if (n) {
		qsort(boxes, nr, sizeof(struct mailbox *), longest_first);
		ask_node(n, boxes, nr);
		qsort(boxes, nr, sizeof(struct mailbox *), grown_first);
		ask_node(n, boxes, nr);
	}
	len = nr;
	nr = 0;
	for (size_t i = 0; i < len; i++) {
		if ((!n || boxes[i]->asked) && mailbox_is_notable(boxes[i], span_ns))
			boxes[nr++] = boxes[i];
	}
	qsort(boxes, nr, sizeof(struct mailbox *), grown_first);
	event_run_span(v->m->run, &start_ns, &end_ns);
	v->box_span_ns = n ? clock_monotonic_ns() - start_ns : span_ns;
	v->a.boxes = xcalloc(nr, sizeof(*v->a.boxes));
	while (v->a.nr_boxes < nr) {
		v->a.boxes[v->a.nr_boxes] = box_of(v, boxes[v->a.nr_boxes]);
		v->a.nr_boxes++;
	}
	free(boxes);
}

/* ---- other nodes ---------------------------------------------------------------------------- */

static int most_messages(const void *a, const void *b)
{
	const struct message_node *x = a, *y = b;

	return x->messages > y->messages ? -1 : x->messages < y->messages;
}

static void make_nodes(struct view *v)
{
	struct message_stats *m = &v->m->stats;
	double share = coverage_share(&m->stream->coverage, EVENT_MESSAGE_SEND);
	uint64_t away = 0;

	/* The first one is the sum of nodes that did not fit: it stays first. */
	qsort(m->nodes.data + 1, m->nodes.len - 1, sizeof(struct message_node), most_messages);
	v->a.nodes = xcalloc(m->nodes.len, sizeof(*v->a.nodes));
	v->a.nr_nodes = m->nodes.len;
	for (size_t i = 0; i < m->nodes.len; i++) {
		const struct message_node *n = &m->nodes.data[i];
		const char *name = names_string(m->stream->names, n->node);

		away += n->messages;
		if (name)
			names_format_module(&v->text, name, strlen(name));
		else
			strbuf_addstr(&v->text, "[others]");
		v->a.nodes[i].name = arena_text(&v->texts, &v->text);
		v->a.nodes[i].messages = units_of_share(n->messages, share);
	}
	v->a.to_nodes = units_of_share(away, message_share_all(m));
}

/* ---- the answer ----------------------------------------------------------------------------- */

static struct msg_answer empty_answer(const struct options *o)
{
	return (struct msg_answer){
		.by = process_group_by_name(o->group_by),
		.rows_of = message_rows_name(o->rows),
		.has_from = o->rows != MESSAGE_ROWS_RECEIVER,
		.has_to = o->rows != MESSAGE_ROWS_SENDER,
	};
}

static int show(struct msg *m, struct error *err)
{
	const struct options *o = &m->ctx->opt;
	const struct table_options options = {
		.sort = o->sort, .columns = o->columns, .limit = o->limit};
	double share = message_share_all(&m->stats);
	struct view v = {.m = m, .text = STRBUF_INIT, .a = empty_answer(o)};
	uint64_t start_ns, end_ns;
	int rc;

	event_run_span(m->run, &start_ns, &end_ns);
	v.a.span_ns = end_ns - start_ns;
	v.a.share_seen = coverage_share_of(&m->stats.stream->coverage, m->kinds);
	v.a.all = counts_of(&v, &m->stats.all, share);
	v.a.overflows = message_stats_overflows(&m->stats);
	v.a.lost_boxes = m->stats.lost_boxes;
	v.a.max_boxes = m->stats.max_boxes;
	v.a.sizes = &m->stats.sizes;
	v.a.sizes_scale = 1 / share;
	make_rows(&v, o->rows);
	make_boxes(&v);
	make_nodes(&v);
	event_run_add_estimate(
		m->run, m->kinds & (1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED),
		(uint64_t)llround((double)m->stats.all.messages / share), &v.text);
	v.a.estimate = arena_text(&v.texts, &v.text);
	rc = event_run_show(m->run, &msg_view, &v.a, m->kinds, &options, err);
	free(v.ends);
	free(v.a.rows);
	free(v.a.boxes);
	free(v.a.nodes);
	strbuf_free(&v.text);
	arena_free(&v.texts);
	return rc;
}

/* ---- the command ---------------------------------------------------------------------------- */

static void on_ready(void *arg)
{
	struct msg *m = arg;

	message_stats_open(&m->stats, event_run_stream(m->run), m->ctx->opt.group_by, m->kinds);
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct msg *m = arg;

	message_stats_take(&m->stats, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct msg *m = arg;
	int rc;

	message_stats_settle(&m->stats);
	rc = show(m, err);
	if (!last)
		message_stats_restart(&m->stats);
	return rc;
}

int cmd_msg(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct msg m = {.ctx = ctx};
	const struct msg_answer a = empty_answer(o);
	struct event_consumer consumer = {
		.arg = &m, .ready = on_ready, .event = on_event, .show = on_show};
	int rc;

	m.kinds = o->events  ? o->events & MESSAGE_KINDS
		  : o->input ? MESSAGE_KINDS
			     : MESSAGE_DEFAULT_KINDS;
	if (!m.kinds)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'msg' is about message_send, message_queued and "
				 "message_receive: one of them must be among -e");
	consumer.kinds = m.kinds;
	consumer.columns = msg_columns(a.has_from, a.has_to);
	rc = event_run(ctx, &consumer, &m.run, err);
	message_stats_close(&m.stats);
	event_run_close(m.run);
	return rc;
}
