/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam msg` answers, as text: mailboxes that grow, who sends to whom, messages to
 * other nodes, sizes.  Lengths of mailboxes are those that the node has now, if there is one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/process/process.h"
#include "cmd/events/msg.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"
#include "view/table/table.h"

#define ROWS_SHOWN  20
#define BOXES_SHOWN 10
/* Of the longest, and of those that grew most: so many that are there, of at most so many. */
#define BOXES_ASKED 64
#define BOXES_TRIED 1024
#define NODES_SHOWN 10
/* A mailbox is worth a line at the top from here on. */
#define ALARM_LEN    1000
#define ALARMS_SHOWN 3

double msg_per_second(const struct msg_view *v, double n)
{
	return units_rate(n, (double)v->span_ns / 1e9);
}

double msg_growth_rate(const struct msg_view *v, const struct mailbox *b)
{
	return units_rate((double)mailbox_growth(b), (double)v->box_span_ns / 1e9);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
	const struct msg_row *x = a, *y = b;
	double nx = (double)x->n.messages / x->share, ny = (double)y->n.messages / y->share;

	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->n.words != y->n.words)
		return x->n.words > y->n.words ? -1 : 1;
	return x->from != y->from ? (x->from < y->from ? -1 : 1)
	       : x->to < y->to	  ? -1
				  : x->to > y->to;
}

static void add_row(struct msg_view *v, uint32_t from, uint32_t to, const struct message_counts *n,
		    double share)
{
	if (n->messages)
		v->rows[v->nr_rows++] = (struct msg_row){
			.view = v, .from = from, .to = to, .n = *n, .share = share};
}

static void make_rows(struct msg_view *v, enum message_rows by)
{
	const struct message_stats *m = v->stats;

	v->rows = xcalloc(m->pairs.len + m->ends.len, sizeof(*v->rows));
	for (size_t i = 0; by == MESSAGE_ROWS_PAIR && i < m->pairs.len; i++) {
		const struct message_pair *p = &m->pairs.data[i];

		add_row(v, p->from, p->to, &p->n, message_share(m, &m->ends.data[p->from]));
	}
	for (uint32_t i = 0; by != MESSAGE_ROWS_PAIR && i < m->ends.len; i++) {
		const struct message_end *e = &m->ends.data[i];

		if (by == MESSAGE_ROWS_SENDER)
			add_row(v, i, UINT32_MAX, &e->sent, message_share(m, e));
		else
			add_row(v, UINT32_MAX, i, &e->received, message_share_all(m));
	}
	qsort(v->rows, v->nr_rows, sizeof(*v->rows), most_first);
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

/* What the node says of the length now.  Events say it as of the last message that was seen, so
 * that it is no longer now if only receive is not watched: asking the first ones is enough. */
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

/* Of a node only what it has been asked about: others may be gone. */
static void make_boxes(struct msg_view *v, struct msg *m)
{
	struct beam_node *n = event_run_node(m->run);
	size_t len = m->stats.boxes.len, nr = 0;

	v->boxes = xcalloc(len ? len : 1, sizeof(struct mailbox *));
	for (size_t i = 0; i < len; i++) {
		struct mailbox *b = &m->stats.boxes.data[i];

		b->asked = false;
		if (mailbox_is_notable(b, v->box_span_ns))
			v->boxes[nr++] = b;
	}
	if (n) {
		qsort(v->boxes, nr, sizeof(struct mailbox *), longest_first);
		ask_node(n, v->boxes, nr);
		qsort(v->boxes, nr, sizeof(struct mailbox *), grown_first);
		ask_node(n, v->boxes, nr);
	}
	for (size_t i = 0; i < nr; i++) {
		struct mailbox *b = v->boxes[i];

		if ((!n || b->asked) && mailbox_is_notable(b, v->box_span_ns))
			v->boxes[v->nr_boxes++] = b;
	}
	qsort(v->boxes, v->nr_boxes, sizeof(struct mailbox *), grown_first);
}

/* ---- columns -------------------------------------------------------------------------------- */

#define ROW(r)	((const struct msg_row *)(r))
#define VIEW(c) ((const struct msg_view *)(c))
#define BOX(r)	(*(struct mailbox *const *)(r))

double msg_row_bytes(const struct msg_row *r)
{
	return 8.0 * (double)r->n.words / r->share;
}

static double known_bytes(const struct msg_row *r)
{
	return r->n.unsized < r->n.messages ? msg_row_bytes(r) : NAN;
}

#define VALUE(name, value) TABLE_VALUE(name, struct msg_row, value)

VALUE(messages, units_of_share(r->n.messages, r->share))
VALUE(message_rate, msg_per_second(r->view, (double)r->n.messages / r->share))
VALUE(bytes, known_bytes(r))
VALUE(byte_rate, msg_per_second(r->view, known_bytes(r)))

static void col_from(struct strbuf *out, const void *row, const void *ctx)
{
	if (ROW(row)->from != UINT32_MAX)
		message_end_text(VIEW(ctx)->stats, ROW(row)->from, out);
}

static void col_to(struct strbuf *out, const void *row, const void *ctx)
{
	if (ROW(row)->to != UINT32_MAX)
		message_end_text(VIEW(ctx)->stats, ROW(row)->to, out);
}

#define COUNT_COLUMNS                                                                              \
	{TABLE_NUMBER("messages", "MESSAGES", COUNT, messages), .compare = most_first},            \
		{TABLE_NUMBER("messages_per_s", "/S", RATE, message_rate), .compare = most_first}, \
		{TABLE_NUMBER("bytes", "COPIED", BYTES, bytes)},                                   \
	{                                                                                          \
		TABLE_NUMBER("bytes_per_s", "COPIED/S", BYTES, byte_rate)                          \
	}
#define FROM_COLUMN "from", "FROM", .text = col_from
#define TO_COLUMN   "to", "TO", .text = col_to

static const struct table_column pair_columns[] = {COUNT_COLUMNS, {FROM_COLUMN}, {TO_COLUMN}, {0}};
static const struct table_column sender_columns[] = {COUNT_COLUMNS, {FROM_COLUMN}, {0}};
static const struct table_column receiver_columns[] = {COUNT_COLUMNS, {TO_COLUMN}, {0}};

static const struct table_column *const columns_by[] = {
	[MESSAGE_ROWS_PAIR] = pair_columns,
	[MESSAGE_ROWS_SENDER] = sender_columns,
	[MESSAGE_ROWS_RECEIVER] = receiver_columns,
};

static void box_len(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	cell_count(out, BOX(row)->len);
}

static void box_growth(struct strbuf *out, const void *row, const void *ctx)
{
	int64_t growth = mailbox_growth(BOX(row));

	UNUSED(ctx);
	strbuf_addstr(out, growth > 0 ? "+" : growth < 0 ? "-" : "");
	cell_count(out, (uint64_t)llabs(growth));
}

static void box_growth_rate(struct strbuf *out, const void *row, const void *ctx)
{
	double rate = msg_growth_rate(VIEW(ctx), BOX(row));

	strbuf_addstr(out, rate > 0 ? "+" : rate < 0 ? "-" : "");
	cell_rate(out, fabs(rate));
}

static void add_full_in(struct strbuf *out, const struct mailbox *b, uint64_t span_ns)
{
	uint64_t ns = mailbox_full_in_ns(b, span_ns);
	char text[32];

	if (ns == 0)
		strbuf_addstr(out, "now");
	else if (ns != UINT64_MAX)
		strbuf_addstr(out, units_format_uptime(ns / 1000000000u, text, sizeof(text)));
}

static void box_full_in(struct strbuf *out, const void *row, const void *ctx)
{
	add_full_in(out, BOX(row), VIEW(ctx)->box_span_ns);
}

static void box_queued(struct strbuf *out, const void *row, const void *ctx)
{
	double share = coverage_share(&VIEW(ctx)->stats->stream->coverage, EVENT_MESSAGE_QUEUED);

	cell_count(out, units_of_share(BOX(row)->queued.messages, share));
}

const struct name_process *msg_process(const struct msg_view *v, const struct mailbox *b)
{
	return names_process(v->stats->stream->names, b->process);
}

static void box_pid(struct strbuf *out, const void *row, const void *ctx)
{
	const struct name_process *p = msg_process(VIEW(ctx), BOX(row));

	if (p)
		strbuf_addstr(out, p->pid);
}

static void box_name(struct strbuf *out, const void *row, const void *ctx)
{
	process_group_name_of(VIEW(ctx)->stats->stream->names, BOX(row)->process, out);
}

static const struct table_column box_columns[] = {
	{"message_queue_len", "LENGTH", TABLE_RIGHT, .text = box_len},
	{"growth", "GROWTH", TABLE_RIGHT, .text = box_growth},
	{"growth_per_s", "/S", TABLE_RIGHT, .text = box_growth_rate},
	{"full_in_s", "FULL IN", TABLE_RIGHT, .text = box_full_in},
	{"queued", "CAME", TABLE_RIGHT, .text = box_queued},
	{"pid", "PID", .text = box_pid},
	{"name", "NAME", .text = box_name},
	{0},
};

/* ---- text ----------------------------------------------------------------------------------- */

double msg_share(const struct msg *m)
{
	return coverage_share_of(&m->stats.stream->coverage, m->kinds);
}

#define KIND(kind) (1ull << EVENT_MESSAGE_##kind)

static void write_head(const struct msg *m, const struct msg_view *v, FILE *out)
{
	double share = message_share_all(&m->stats);
	double messages = (double)m->stats.all.messages / share;
	double bytes = 8.0 * (double)m->stats.all.words / share;
	struct strbuf line = STRBUF_INIT;
	uint64_t away = 0;

	for (size_t i = 0; i < m->stats.nodes.len; i++)
		away += m->stats.nodes.data[i].messages;
	strbuf_addf(&line, "%.1f s  ", (double)v->span_ns / 1e9);
	event_run_add_estimate(m->run, m->kinds & (KIND(SEND) | KIND(QUEUED)),
			       (uint64_t)llround(messages), &line);
	strbuf_addstr(&line, " messages (");
	cell_rate(&line, msg_per_second(v, messages));
	strbuf_addstr(&line, "/s)  copied ");
	cell_bytes(&line, bytes);
	strbuf_addstr(&line, " (");
	cell_bytes(&line, msg_per_second(v, bytes));
	strbuf_addstr(&line, "/s)");
	if (away) {
		strbuf_addstr(&line, "  to other nodes ");
		cell_count(&line, units_of_share(away, share));
	}
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

/* Long mailboxes that grow: what must not be missed. */
static void write_alarms(const struct msg_view *v, FILE *out)
{
	struct strbuf line = STRBUF_INIT;
	size_t shown = 0;

	for (size_t i = 0; i < v->nr_boxes && shown < ALARMS_SHOWN; i++) {
		const struct mailbox *b = v->boxes[i];

		if (b->len < ALARM_LEN || mailbox_growth(b) <= 0)
			continue;
		strbuf_reset(&line);
		strbuf_addstr(&line, "! mailbox of ");
		box_pid(&line, &b, v);
		strbuf_addch(&line, ' ');
		box_name(&line, &b, v);
		strbuf_addstr(&line, " grows: ");
		box_len(&line, &b, v);
		strbuf_addstr(&line, " messages, ");
		box_growth_rate(&line, &b, v);
		strbuf_addstr(&line, "/s, full in ");
		add_full_in(&line, b, v->box_span_ns);
		table_clean_text(&line, false);
		fprintf(out, "%s\n", line.buf);
		shown++;
	}
	strbuf_free(&line);
}

static struct table rows_table(const struct options *o, const struct msg_view *v)
{
	return (struct table){
		.columns = columns_by[o->rows],
		.rows = v->rows,
		.nr_rows = v->nr_rows,
		.row_size = sizeof(*v->rows),
		.ctx = v,
	};
}

int msg_check(const struct options *o, struct error *err)
{
	const struct msg_view none = {0};
	const struct table t = rows_table(o, &none);
	const struct table_options options = {.sort = o->sort, .columns = o->columns};

	return table_check(&t, &options, err);
}

int msg_order(const struct msg *m, const struct msg_view *v, unsigned int limit, size_t **order,
	      size_t *nr, struct error *err)
{
	const struct table t = rows_table(&m->ctx->opt, v);
	const struct table_options options = {.sort = m->ctx->opt.sort, .limit = limit};

	return table_order(&t, &options, order, nr, err);
}

static int write_rows(const struct msg *m, const struct msg_view *v, FILE *out, struct error *err)
{
	const struct options *o = &m->ctx->opt;
	const struct table t = rows_table(o, v);
	const struct table_options options = {
		.sort = o->sort, .columns = o->columns, .limit = o->limit ? o->limit : ROWS_SHOWN};
	int rc;

	if (!v->nr_rows)
		return 0;
	fputc('\n', out);
	rc = table_write(out, &t, &options, err);
	event_run_tell_more(m->run, MIN(v->nr_rows, options.limit), v->nr_rows);
	return rc;
}

static int write_boxes(const struct msg *m, const struct msg_view *v, FILE *out, struct error *err)
{
	const struct table t = {
		.columns = box_columns,
		.rows = v->boxes,
		.nr_rows = v->nr_boxes,
		.row_size = sizeof(struct mailbox *),
		.ctx = v,
	};
	const struct table_options options = {
		.limit = m->ctx->opt.limit ? m->ctx->opt.limit : BOXES_SHOWN, .indent = 2};
	int rc;

	if (!v->nr_boxes)
		return 0;
	fprintf(out, "\nMailboxes%s\n",
		event_run_node(m->run) ? "" : ", as of the last message that was seen");
	rc = table_write(out, &t, &options, err);
	event_run_tell_more(m->run, MIN(v->nr_boxes, options.limit), v->nr_boxes);
	return rc;
}

/* What tables had no room for. */
static void write_overflows(const struct msg *m, FILE *out)
{
	uint64_t others = message_stats_overflows(&m->stats), boxes = m->stats.lost_boxes;
	char text[32];

	if (others)
		fprintf(out,
			"too many senders, receivers or pairs: [others] stands for %s of them\n",
			units_format_count(others, text, sizeof(text)));
	if (boxes)
		fprintf(out, "%s messages went to mailboxes beyond the first %u: no lengths\n",
			units_format_count(boxes, text, sizeof(text)), m->stats.max_boxes);
}

static int most_messages(const void *a, const void *b)
{
	const struct message_node *x = a, *y = b;

	return x->messages > y->messages ? -1 : x->messages < y->messages;
}

/* The first one is what did not fit, and stays there. */
void msg_sort_nodes(struct msg *m)
{
	qsort(m->stats.nodes.data + 1, m->stats.nodes.len - 1, sizeof(struct message_node),
	      most_messages);
}

void msg_node_text(const struct msg *m, const struct message_node *n, struct strbuf *out)
{
	const char *text = names_string(m->stats.stream->names, n->node);

	if (text)
		names_format_module(out, text, strlen(text));
	else
		strbuf_addstr(out, "[others]");
}

static void write_nodes(struct msg *m, FILE *out)
{
	double share = coverage_share(&m->stats.stream->coverage, EVENT_MESSAGE_SEND);
	size_t limit = m->ctx->opt.limit ? m->ctx->opt.limit : NODES_SHOWN;
	size_t shown = 0, all = 0;
	struct strbuf name = STRBUF_INIT;

	msg_sort_nodes(m);
	for (size_t i = 1; i <= m->stats.nodes.len; i++) {
		const struct message_node *n = &m->stats.nodes.data[i % m->stats.nodes.len];
		char text[32];

		all += n->messages != 0;
		if (!n->messages || shown >= limit)
			continue;
		if (!shown++)
			fprintf(out, "\nTo other nodes\n");
		strbuf_reset(&name);
		msg_node_text(m, n, &name);
		table_clean_text(&name, false);
		fprintf(out, "  %10s  %s\n",
			units_format_count(units_of_share(n->messages, share), text, sizeof(text)),
			name.buf);
	}
	event_run_tell_more(m->run, shown, all);
	strbuf_free(&name);
}

static void write_sizes(const struct msg *m, FILE *out)
{
	if (!m->stats.sizes.nr)
		return;
	fputc('\n', out);
	histogram_write(out, "copied for a message", &m->stats.sizes, HISTOGRAM_WORDS_AS_BYTES,
			1 / message_share_all(&m->stats));
}

static int show_text(struct msg *m, struct msg_view *v, struct error *err)
{
	FILE *out = event_run_out(m->run);
	int rc;

	event_run_begin_screen(m->run);
	write_head(m, v, out);
	event_run_tell_sampled(m->run, m->kinds);
	write_overflows(m, out);
	write_alarms(v, out);
	rc = write_rows(m, v, out, err);
	rc = rc ? rc : write_boxes(m, v, out, err);
	if (rc)
		return rc;
	write_nodes(m, out);
	write_sizes(m, out);
	return 0;
}

int msg_show(struct msg *m, struct error *err)
{
	struct msg_view v = {.stats = &m->stats};
	uint64_t start_ns, end_ns;
	int rc;

	event_run_span(m->run, &start_ns, &end_ns);
	v.span_ns = v.box_span_ns = end_ns - start_ns;
	make_rows(&v, m->ctx->opt.rows);
	make_boxes(&v, m);
	if (event_run_node(m->run))
		v.box_span_ns = clock_monotonic_ns() - start_ns;
	rc = m->ctx->opt.json ? msg_json(m, &v, err) : show_text(m, &v, err);
	free(v.rows);
	free(v.boxes);
	return rc;
}
