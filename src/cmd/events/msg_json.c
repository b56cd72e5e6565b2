/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam msg -j` answers: see msg_show.c. */
#include <stdlib.h>

#include "base/units.h"
#include "cmd/events/msg.h"
#include "view/table/histogram.h"

static void end_json(struct jsonw *w, const struct msg_view *v, const char *key, uint32_t end)
{
	struct strbuf text = STRBUF_INIT;

	if (end == UINT32_MAX)
		return;
	message_end_text(v->stats, end, &text);
	jsonw_string(w, key, text.buf);
	strbuf_free(&text);
}

static void row_json(struct jsonw *w, const struct msg_view *v, const struct msg_row *r)
{
	jsonw_begin_object(w, NULL);
	end_json(w, v, "from", r->from);
	end_json(w, v, "to", r->to);
	jsonw_uint(w, "messages", units_of_share(r->n.messages, r->share));
	jsonw_double(w, "messages_per_s", msg_per_second(v, (double)r->n.messages / r->share));
	jsonw_uint(w, "bytes", units_of_share(8 * r->n.words, r->share));
	jsonw_double(w, "bytes_per_s", msg_per_second(v, msg_row_bytes(r)));
	jsonw_uint(w, "without_size", units_of_share(r->n.unsized, r->share));
	jsonw_end_object(w);
}

static void box_json(struct jsonw *w, const struct msg *m, const struct msg_view *v,
		     const struct mailbox *b)
{
	const struct name_process *p = msg_process(v, b);
	double share = coverage_share(&v->stats->stream->coverage, EVENT_MESSAGE_QUEUED);
	uint64_t full_in = mailbox_full_in_ns(b, v->box_span_ns);
	struct strbuf name = STRBUF_INIT;

	process_group_name_of(v->stats->stream->names, b->process, &name);
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "pid", p ? p->pid : NULL);
	jsonw_string(w, "name", name.len ? name.buf : NULL);
	jsonw_uint(w, "message_queue_len", b->len);
	jsonw_uint(w, "max_message_queue_len", b->max_len);
	jsonw_int(w, "growth", mailbox_growth(b));
	jsonw_double(w, "growth_per_s", msg_growth_rate(v, b));
	if (full_in == UINT64_MAX)
		jsonw_null(w, "full_in_s");
	else
		jsonw_double(w, "full_in_s", (double)full_in / 1e9);
	jsonw_uint(w, "queued", units_of_share(b->queued.messages, share));
	jsonw_uint(w, "queued_bytes", units_of_share(8 * b->queued.words, share));
	if (m->kinds >> EVENT_MESSAGE_RECEIVE & 1)
		jsonw_uint(w, "received",
			   units_of_share(b->received, coverage_share(&v->stats->stream->coverage,
								      EVENT_MESSAGE_RECEIVE)));
	else
		jsonw_null(w, "received");
	jsonw_end_object(w);
	strbuf_free(&name);
}

static void nodes_json(struct jsonw *w, struct msg *m)
{
	double share = coverage_share(&m->stats.stream->coverage, EVENT_MESSAGE_SEND);
	struct strbuf name = STRBUF_INIT;

	msg_sort_nodes(m);
	jsonw_begin_array(w, "nodes");
	for (size_t i = 0; i < m->stats.nodes.len; i++) {
		const struct message_node *n = &m->stats.nodes.data[i];

		if (!n->messages)
			continue;
		strbuf_reset(&name);
		msg_node_text(m, n, &name);
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "node", name.buf);
		jsonw_uint(w, "messages", units_of_share(n->messages, share));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&name);
}

int msg_json(struct msg *m, struct msg_view *v, struct error *err)
{
	double share = message_share_all(&m->stats);
	const struct options *o = &m->ctx->opt;
	size_t *order, nr;
	struct jsonw w;
	int rc = msg_order(m, v, o->limit, &order, &nr, err);

	if (rc)
		return rc;
	event_run_json_begin(m->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", v->span_ns);
	jsonw_double(&w, "share_seen", msg_share(m));
	jsonw_string(&w, "by", process_group_by_name(o->group_by));
	jsonw_string(&w, "rows_of", message_rows_name(o->rows));
	jsonw_uint(&w, "messages", units_of_share(m->stats.all.messages, share));
	jsonw_uint(&w, "bytes", units_of_share(8 * m->stats.all.words, share));
	jsonw_uint(&w, "without_size", units_of_share(m->stats.all.unsized, share));
	jsonw_uint(&w, "overflows", message_stats_overflows(&m->stats));
	jsonw_uint(&w, "lost_mailboxes", m->stats.lost_boxes);
	jsonw_begin_array(&w, "rows");
	for (size_t i = 0; i < nr; i++)
		row_json(&w, v, &v->rows[order[i]]);
	jsonw_end_array(&w);
	jsonw_begin_array(&w, "mailboxes");
	for (size_t i = 0; i < v->nr_boxes && (!o->limit || i < o->limit); i++)
		box_json(&w, m, v, v->boxes[i]);
	jsonw_end_array(&w);
	nodes_json(&w, m);
	histogram_json(&w, "size_words", &m->stats.sizes, 1 / share);
	jsonw_end_object(&w);
	free(order);
	return event_run_json_end(m->run, &w, err);
}
