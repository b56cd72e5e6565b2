/* SPDX-License-Identifier: BSD-2-Clause */
/* See msg_view.h. */
#include "view/events/msg_view.h"

#include <math.h>

#include "base/compiler.h"
#include "base/units.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"

#define ROWS_SHOWN  20
#define BOXES_SHOWN 10
#define NODES_SHOWN 10
/* Mailboxes of at least ALARM_LEN messages get a line at the top, if they grow. */
#define ALARM_LEN    1000
#define ALARMS_SHOWN 3

/* ---- columns -------------------------------------------------------------------------------- */

#define BOX(r) ((const struct msg_box *)(r))

#define VALUE(name, value) TABLE_VALUE(name, struct msg_row, value)

VALUE(bytes, r->n.without_size < r->n.messages ? (double)r->n.bytes : NAN)
VALUE(byte_rate, r->n.without_size < r->n.messages ? r->n.bytes_per_s : NAN)

/* For --sort: keeps the order of the rows, which have most messages first already. */
static int as_they_stand(const void *a, const void *b)
{
	return a < b ? -1 : a > b;
}

/* JSON has these numbers even if no size is known, for which text has "-". */
static void json_sizes(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct msg_counts *n = &((const struct msg_row *)row)->n;

	UNUSED(name);
	UNUSED(ctx);
	jsonw_uint(w, "bytes", n->bytes);
	jsonw_double(w, "bytes_per_s", n->bytes_per_s);
	jsonw_uint(w, "without_size", n->without_size);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct msg_row, member)
#define COUNT_COLUMNS                                                                              \
	{FIELD("messages", "MESSAGES", COUNT, n.messages), .compare = as_they_stand},              \
		{FIELD("messages_per_s", "/S", RATE, n.messages_per_s), .compare = as_they_stand}, \
		{TABLE_NUMBER("bytes", "COPIED", BYTES, bytes), .json = table_json_none},          \
	{                                                                                          \
		TABLE_NUMBER("bytes_per_s", "COPIED/S", BYTES, byte_rate), .json = table_json_none \
	}
#define FROM_COLUMN FIELD("from", "FROM", TEXT, from)
#define TO_COLUMN   FIELD("to", "TO", TEXT, to)

#define SIZES .json = json_sizes

static const struct table_column pair_columns[] = {
	COUNT_COLUMNS, {FROM_COLUMN}, {TO_COLUMN}, {SIZES}};
static const struct table_column sender_columns[] = {COUNT_COLUMNS, {FROM_COLUMN}, {SIZES}};
static const struct table_column receiver_columns[] = {COUNT_COLUMNS, {TO_COLUMN}, {SIZES}};

static const char *sign_of(double n)
{
	return n > 0 ? "+" : n < 0 ? "-" : "";
}

static void box_growth(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, sign_of(BOX(row)->growth));
	cell_count(out, (uint64_t)fabs(BOX(row)->growth));
}

static void box_growth_rate(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, sign_of(BOX(row)->growth_per_s));
	cell_rate(out, fabs(BOX(row)->growth_per_s));
}

static void box_full_in(struct strbuf *out, const void *row, const void *ctx)
{
	double s = BOX(row)->full_in_s;
	char text[32];

	UNUSED(ctx);
	if (s == 0)
		strbuf_addstr(out, "now");
	else if (s > 0)
		strbuf_addstr(out, units_format_uptime((uint64_t)s, text, sizeof(text)));
}

#define BOX_FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct msg_box, member)

static const struct table_column box_columns[] = {
	{BOX_FIELD("message_queue_len", "LENGTH", COUNT, len)},
	{BOX_FIELD("max_message_queue_len", "", COUNT, max_len), .hidden = true},
	{BOX_FIELD("growth", "GROWTH", RATE, growth), .text = box_growth},
	{BOX_FIELD("growth_per_s", "/S", RATE, growth_per_s), .text = box_growth_rate},
	{BOX_FIELD("full_in_s", "FULL IN", RATE, full_in_s), .text = box_full_in},
	{BOX_FIELD("queued", "CAME", COUNT, queued)},
	{BOX_FIELD("queued_bytes", "", COUNT, queued_bytes), .hidden = true},
	{BOX_FIELD("received", "", COUNT, received), .hidden = true},
	{BOX_FIELD("pid", "PID", TEXT, pid)},
	{BOX_FIELD("name", "NAME", TEXT, name)},
	{0},
};

const struct table_column *msg_columns(bool has_from, bool has_to)
{
	return !has_to ? sender_columns : !has_from ? receiver_columns : pair_columns;
}

static struct table rows_table(const struct msg_answer *a)
{
	return (struct table){msg_columns(a->has_from, a->has_to), a->rows, a->nr_rows,
			      sizeof(*a->rows), NULL};
}

static struct table boxes_table(const struct msg_answer *a)
{
	return (struct table){box_columns, a->boxes, a->nr_boxes, sizeof(*a->boxes), NULL};
}

/* ---- text ----------------------------------------------------------------------------------- */

static void write_head(FILE *out, const void *answer)
{
	const struct msg_answer *a = answer;
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s  %s messages (", (double)a->span_ns / 1e9, a->estimate);
	cell_rate(&line, a->all.messages_per_s);
	strbuf_addstr(&line, "/s)  copied ");
	cell_bytes(&line, (double)a->all.bytes);
	strbuf_addstr(&line, " (");
	cell_bytes(&line, a->all.bytes_per_s);
	strbuf_addstr(&line, "/s)");
	if (a->to_nodes) {
		strbuf_addstr(&line, "  to other nodes ");
		cell_count(&line, a->to_nodes);
	}
	fprintf(out, "%s\n", line.buf);
	strbuf_free(&line);
}

/* Writes lines for senders, receivers and mailboxes beyond the limits of the tables. */
static void write_overflows(FILE *out, const struct msg_answer *a)
{
	char text[32];

	if (a->overflows)
		fprintf(out,
			"too many senders, receivers or pairs for a row each: %s counts are in "
			"[others]\n",
			units_format_count(a->overflows, text, sizeof(text)));
	if (a->lost_boxes)
		fprintf(out,
			"%s messages went to mailboxes beyond the first %u, whose lengths are not "
			"known\n",
			units_format_count(a->lost_boxes, text, sizeof(text)), a->max_boxes);
}

/* Lines at the top for long mailboxes that grow. */
static void write_alarms(FILE *out, const struct msg_answer *a)
{
	struct strbuf line = STRBUF_INIT;
	size_t shown = 0;

	for (size_t i = 0; i < a->nr_boxes && shown < ALARMS_SHOWN; i++) {
		const struct msg_box *b = &a->boxes[i];

		if (b->len < ALARM_LEN || b->growth <= 0)
			continue;
		strbuf_reset(&line);
		strbuf_addf(&line, "! mailbox of %s %s grows: ", b->pid ? b->pid : "",
			    b->name ? b->name : "");
		cell_count(&line, b->len);
		strbuf_addstr(&line, " messages, ");
		box_growth_rate(&line, b, NULL);
		strbuf_addstr(&line, "/s, full in ");
		box_full_in(&line, b, NULL);
		table_clean_text(&line, false);
		fprintf(out, "%s\n", line.buf);
		shown++;
	}
	strbuf_free(&line);
}

static void write_nodes(FILE *out, const struct msg_answer *a, size_t limit)
{
	size_t shown = 0, all = 0;
	struct strbuf name = STRBUF_INIT;
	char text[32];

	for (size_t i = 1; i <= a->nr_nodes; i++) {
		const struct msg_node *n = &a->nodes[i % a->nr_nodes];

		all += n->messages != 0;
		if (!n->messages || shown >= limit)
			continue;
		if (!shown++)
			fprintf(out, "\nTo other nodes\n");
		strbuf_reset(&name);
		strbuf_addstr(&name, n->name);
		table_clean_text(&name, false);
		fprintf(out, "  %10s  %s\n", units_format_count(n->messages, text, sizeof(text)),
			name.buf);
	}
	table_write_more(out, shown, all);
	strbuf_free(&name);
}

static int write_rest(FILE *out, const void *answer, const struct table_options *o,
		      struct error *err)
{
	const struct msg_answer *a = answer;
	const struct table rows = rows_table(a), boxes = boxes_table(a);
	struct table_options of_rows = *o;
	const struct table_options of_boxes = {
		.limit = o->limit ? o->limit : BOXES_SHOWN, .indent = 2, .write_more = true};
	int rc = 0;

	write_overflows(out, a);
	write_alarms(out, a);
	of_rows.limit = o->limit ? o->limit : ROWS_SHOWN;
	of_rows.write_more = true;
	if (a->nr_rows) {
		fputc('\n', out);
		rc = table_write(out, &rows, &of_rows, err);
	}
	if (rc == 0 && a->nr_boxes) {
		fprintf(out, "\nMailboxes%s\n",
			a->boxes_asked ? "" : ", lengths at the last message that was seen");
		rc = table_write(out, &boxes, &of_boxes, err);
	}
	if (rc)
		return rc;
	write_nodes(out, a, o->limit ? o->limit : NODES_SHOWN);
	if (a->sizes->nr) {
		fputc('\n', out);
		histogram_write(out, "copied for a message", a->sizes, HISTOGRAM_WORDS_AS_BYTES,
				a->sizes_scale);
	}
	return 0;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void nodes_json(struct jsonw *w, const struct msg_answer *a)
{
	jsonw_begin_array(w, "nodes");
	for (size_t i = 0; i < a->nr_nodes; i++) {
		if (!a->nodes[i].messages)
			continue;
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "node", a->nodes[i].name);
		jsonw_uint(w, "messages", a->nodes[i].messages);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct msg_answer *a = answer;
	const struct table rows = rows_table(a), boxes = boxes_table(a);
	const struct table_options of_rows = {.sort = o->sort, .limit = o->limit};
	const struct table_options of_boxes = {.limit = o->limit};

	jsonw_uint(w, "duration_ns", a->span_ns);
	jsonw_double(w, "share_seen", a->share_seen);
	jsonw_string(w, "by", a->by);
	jsonw_string(w, "rows_of", a->rows_of);
	jsonw_uint(w, "messages", a->all.messages);
	jsonw_uint(w, "bytes", a->all.bytes);
	jsonw_uint(w, "without_size", a->all.without_size);
	jsonw_uint(w, "overflows", a->overflows);
	jsonw_uint(w, "lost_mailboxes", a->lost_boxes);
	table_json_rows(w, "rows", &rows, &of_rows);
	table_json_rows(w, "mailboxes", &boxes, &of_boxes);
	nodes_json(w, a);
	histogram_json(w, "size_words", a->sizes, a->sizes_scale);
}

const struct answer_view msg_view = {write_head, write_rest, write_json};
