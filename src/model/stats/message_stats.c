/* SPDX-License-Identifier: BSD-2-Clause */
/* See message_stats.h. */
#include "model/stats/message_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define AT(kind, field) EVENT_AT(kind, field)

static const char *const by_names[NR_MESSAGE_ROWS] = {
	[MESSAGE_ROWS_PAIR] = "pair",
	[MESSAGE_ROWS_SENDER] = "sender",
	[MESSAGE_ROWS_RECEIVER] = "receiver",
};

const char *message_rows_name(enum message_rows by)
{
	return (unsigned int)by < NR_MESSAGE_ROWS ? by_names[by] : "unknown";
}

static void add_counts(struct message_counts *c, uint64_t words)
{
	c->messages++;
	if (words == EVENT_UNKNOWN)
		c->unsized++;
	else
		c->words += words;
}

/* ---- ends and pairs -------------------------------------------------------------------------- */

static bool end_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct message_end *e = &((const struct message_stats *)ctx)->ends.data[id];
	const struct message_end *k = key;

	return e->type == k->type && e->id == k->id && e->node == k->node;
}

static uint32_t find_end(struct message_stats *m, enum message_end_type type, uint32_t id,
			 uint32_t node)
{
	const struct message_end key = {.type = type, .id = id, .node = node};
	uint32_t hash = hash_mix(hash_mix((uint32_t)type, id), node);
	uint32_t found = idmap_find(&m->end_index, hash, end_equal, m, &key);

	if (found != IDMAP_NONE)
		return found;
	if (m->ends.len >= m->max_ends) {
		m->lost_ends++;
		return 0;
	}
	idmap_add(&m->end_index, hash, (uint32_t)m->ends.len);
	vec_push(&m->ends, key);
	return (uint32_t)m->ends.len - 1;
}

static uint32_t end_of_process(struct message_stats *m, uint32_t process)
{
	if (!process)
		return find_end(m, MESSAGE_END_UNKNOWN, 0, 0);
	return find_end(m, MESSAGE_END_PROCESS, process_groups_of(&m->groups, process), 0);
}

static bool pair_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct message_pair *p = &((const struct message_stats *)ctx)->pairs.data[id];
	const struct message_pair *k = key;

	return p->from == k->from && p->to == k->to;
}

static struct message_pair *find_pair(struct message_stats *m, uint32_t from, uint32_t to)
{
	const struct message_pair key = {.from = from, .to = to};
	uint32_t hash = hash_mix(hash_mix(11, from), to);
	uint32_t found;

	if (!from && !to)
		return &m->pairs.data[0];
	found = idmap_find(&m->pair_index, hash, pair_equal, m, &key);
	if (found != IDMAP_NONE)
		return &m->pairs.data[found];
	if (m->pairs.len >= m->max_pairs) {
		m->lost_pairs++;
		return &m->pairs.data[0];
	}
	idmap_add(&m->pair_index, hash, (uint32_t)m->pairs.len);
	vec_push(&m->pairs, key);
	return &m->pairs.data[m->pairs.len - 1];
}

static void add_message(struct message_stats *m, uint32_t from, uint32_t to, uint64_t words)
{
	add_counts(&m->all, words);
	add_counts(&m->ends.data[from].sent, words);
	add_counts(&m->ends.data[to].received, words);
	add_counts(&find_pair(m, from, to)->n, words);
	if (words != EVENT_UNKNOWN)
		histogram_add(&m->sizes, words, 1);
}

static void add_node(struct message_stats *m, uint32_t node)
{
	size_t i;

	for (i = 1; i < m->nodes.len && m->nodes.data[i].node != node; i++)
		;
	if (i == m->nodes.len && i < MESSAGE_NODES_MAX)
		vec_push(&m->nodes, ((struct message_node){.node = node}));
	m->nodes.data[i < m->nodes.len ? i : 0].messages++;
}

double message_share(const struct message_stats *m, const struct message_end *from)
{
	/* Messages from outside of this node's processes are seen where they are queued. */
	if (from->type == MESSAGE_END_SOURCE)
		return coverage_share(&m->stream->coverage, EVENT_MESSAGE_QUEUED);
	return message_share_all(m);
}

double message_share_all(const struct message_stats *m)
{
	bool sends = m->sends || (m->kinds >> EVENT_MESSAGE_SEND & 1 && !m->queues);

	return coverage_share(&m->stream->coverage,
			      sends ? EVENT_MESSAGE_SEND : EVENT_MESSAGE_QUEUED);
}

uint64_t message_stats_overflows(const struct message_stats *m)
{
	return m->groups.overflows + m->lost_ends + m->lost_pairs;
}

static void add_string(const struct message_stats *m, uint32_t id, bool atom, struct strbuf *out)
{
	const char *text = names_string(m->stream->names, id);

	if (!text)
		strbuf_addstr(out, "[unknown]");
	else if (atom)
		names_format_module(out, text, strlen(text));
	else
		names_format_text(out, text, strlen(text));
}

void message_end_text(const struct message_stats *m, uint32_t end, struct strbuf *out)
{
	const struct message_end *e = &m->ends.data[end];

	switch (e->type) {
	case MESSAGE_END_PROCESS:
		process_group_text(&m->groups, e->id, out);
		return;
	case MESSAGE_END_SOURCE:
		add_string(m, e->id, false, out);
		return;
	case MESSAGE_END_NAME:
		add_string(m, e->id, true, out);
		strbuf_addstr(out, " at ");
		add_string(m, e->node, true, out);
		return;
	case MESSAGE_END_NODE:
		strbuf_addstr(out, "processes at ");
		add_string(m, e->node, true, out);
		return;
	case MESSAGE_END_OTHERS:
		strbuf_addstr(out, "[others]");
		return;
	case MESSAGE_END_UNKNOWN:
		break;
	}
	strbuf_addstr(out, "[unknown]");
}

/* ---- mailboxes ------------------------------------------------------------------------------- */

static bool box_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct message_stats *)ctx)->boxes.data[id].epid == *(const uint64_t *)key;
}

/* The mailbox of a process, new with this length; NULL: unknown process, or too many mailboxes. */
static struct mailbox *find_box(struct message_stats *m, uint32_t process, uint64_t len)
{
	const struct name_process *p = names_process(m->stream->names, process);
	uint32_t hash, found;
	struct mailbox *b;

	if (!p)
		return NULL;
	hash = hash_mix(7, p->epid);
	found = idmap_find(&m->box_index, hash, box_equal, m, &p->epid);
	if (found == IDMAP_NONE && m->boxes.len >= m->max_boxes) {
		m->lost_boxes++;
		return NULL;
	}
	if (found == IDMAP_NONE) {
		found = (uint32_t)m->boxes.len;
		idmap_add(&m->box_index, hash, found);
		vec_push(&m->boxes,
			 ((struct mailbox){
				 .epid = p->epid, .first_len = len, .len = len, .max_len = len}));
	}
	b = &m->boxes.data[found];
	b->process = process;
	b->touched = true;
	return b;
}

static void set_len(struct mailbox *b, uint64_t len)
{
	b->len = len;
	b->max_len = MAX(b->max_len, len);
}

void mailbox_set(struct mailbox *b, bool gone, uint64_t len)
{
	b->gone = gone;
	set_len(b, gone ? 0 : len);
}

int64_t mailbox_growth(const struct mailbox *b)
{
	return (int64_t)(b->len - b->first_len);
}

uint64_t mailbox_full_in_ns(const struct mailbox *b, uint64_t span_ns)
{
	double growth = (double)mailbox_growth(b), room = (double)MAILBOX_FULL_MESSAGES, ns;
	uint64_t sized = b->queued.messages - b->queued.unsized;
	double bytes = sized ? 8.0 * (double)b->queued.words / (double)sized : 0;

	if (bytes > 0 && (double)MAILBOX_FULL_BYTES / bytes < room)
		room = (double)MAILBOX_FULL_BYTES / bytes;
	if (b->gone || growth <= 0 || !span_ns)
		return UINT64_MAX;
	if ((double)b->len >= room)
		return 0;
	ns = (room - (double)b->len) / growth * (double)span_ns;
	return ns <= (double)MAILBOX_FULL_SOON_NS ? (uint64_t)ns : UINT64_MAX;
}

bool mailbox_is_notable(const struct mailbox *b, uint64_t span_ns)
{
	if (b->gone)
		return false;
	if (b->len >= MAILBOX_LONG || mailbox_growth(b) >= MAILBOX_LONG)
		return true;
	return mailbox_growth(b) >= MAILBOX_GROWN && b->last_ns - b->first_ns > span_ns / 2;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_send(struct message_stats *m, const struct event *ev)
{
	uint32_t to = event_value_id(ev, AT(MESSAGE_SEND, TO));
	uint32_t name = event_value_id(ev, AT(MESSAGE_SEND, NAME));
	uint32_t node = event_value_id(ev, AT(MESSAGE_SEND, NODE));
	uint32_t end;

	m->sends = true;
	m->undecided.len = 0;
	if (node || name)
		end = find_end(m, name ? MESSAGE_END_NAME : MESSAGE_END_NODE, name, node);
	else
		end = end_of_process(m, to);
	if (node)
		add_node(m, node);
	add_message(m, end_of_process(m, ev->u.vm.process), end,
		    event_value(ev, AT(MESSAGE_SEND, SIZE)));
}

/* "<0.80.0>": a process of this node, whose message_send counts if it is watched. */
static bool is_local_pid(const char *text)
{
	return strncmp(text, "<0.", 3) == 0;
}

static void add_queued(struct message_stats *m, uint32_t from, uint32_t process, uint64_t words)
{
	bool known = names_string(m->stream->names, from) != NULL;

	add_message(m, find_end(m, known ? MESSAGE_END_SOURCE : MESSAGE_END_UNKNOWN, from, 0),
		    end_of_process(m, process), words);
}

void message_stats_settle(struct message_stats *m)
{
	for (size_t i = 0; i < m->undecided.len; i++) {
		const struct message_undecided *u = &m->undecided.data[i];

		add_queued(m, u->from, u->process, u->words);
	}
	/* These messages were queued without a message_send, so that kind is not watched. */
	m->queues |= m->undecided.len != 0;
	m->undecided.len = 0;
}

/* Counts a queued message from a process of this node if message_send is not watched.  One probe
 * reports both events, message_send first: messages wait in `undecided` until that is known. */
static void take_local(struct message_stats *m, uint32_t from, uint32_t process, uint64_t words)
{
	if (m->sends)
		return;
	if (m->queues) {
		add_queued(m, from, process, words);
		return;
	}
	vec_push(&m->undecided, ((struct message_undecided){from, process, words}));
	if (m->undecided.len >= MESSAGE_UNDECIDED_MAX)
		message_stats_settle(m);
}

static void take_queued(struct message_stats *m, const struct event *ev)
{
	uint64_t words = event_value(ev, AT(MESSAGE_QUEUED, SIZE));
	uint64_t len = event_value(ev, AT(MESSAGE_QUEUED, QUEUE_LEN));
	uint32_t from = event_value_id(ev, AT(MESSAGE_QUEUED, FROM));
	const char *text = names_string(m->stream->names, from);
	struct mailbox *b = find_box(m, ev->u.vm.process, len == EVENT_UNKNOWN ? 0 : len);

	if (b) {
		add_counts(&b->queued, words);
		b->first_ns = b->first_ns ? b->first_ns : ev->ts_ns;
		b->last_ns = MAX(b->last_ns, ev->ts_ns);
		if (len != EVENT_UNKNOWN)
			set_len(b, len + 1);
	}
	if (text && is_local_pid(text))
		take_local(m, from, ev->u.vm.process, words);
	else
		add_queued(m, from, ev->u.vm.process, words);
}

static void take_receive(struct message_stats *m, const struct event *ev)
{
	uint64_t len = event_value(ev, AT(MESSAGE_RECEIVE, QUEUE_LEN));
	struct mailbox *b = find_box(m, ev->u.vm.process, len == EVENT_UNKNOWN ? 0 : len);

	m->received++;
	if (!b)
		return;
	b->received++;
	if (len != EVENT_UNKNOWN && len)
		set_len(b, len - 1);
}

void message_stats_take(struct message_stats *m, enum event_kind kind, const struct event *ev)
{
	if (kind == EVENT_MESSAGE_SEND)
		take_send(m, ev);
	else if (kind == EVENT_MESSAGE_QUEUED)
		take_queued(m, ev);
	else if (kind == EVENT_MESSAGE_RECEIVE)
		take_receive(m, ev);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void begin_counts(struct message_stats *m)
{
	vec_push(&m->ends, ((struct message_end){.type = MESSAGE_END_OTHERS}));
	vec_push(&m->pairs, ((struct message_pair){0}));
	vec_push(&m->nodes, ((struct message_node){0}));
}

void message_stats_open(struct message_stats *m, struct event_stream *stream,
			enum process_group_by by, uint64_t kinds)
{
	memset(m, 0, sizeof(*m));
	m->stream = stream;
	m->kinds = kinds;
	m->queues = !(kinds >> EVENT_MESSAGE_SEND & 1);
	m->max_ends = MESSAGE_ENDS_MAX;
	m->max_pairs = MESSAGE_PAIRS_MAX;
	m->max_boxes = MESSAGE_MAILBOXES_MAX;
	process_groups_open(&m->groups, stream->names, by, 0);
	begin_counts(m);
}

static void drop_counts(struct message_stats *m)
{
	vec_free(&m->ends);
	vec_free(&m->pairs);
	vec_free(&m->nodes);
	idmap_free(&m->end_index);
	idmap_free(&m->pair_index);
}

void message_stats_close(struct message_stats *m)
{
	if (!m->stream)
		return;
	drop_counts(m);
	vec_free(&m->boxes);
	vec_free(&m->undecided);
	idmap_free(&m->box_index);
	process_groups_close(&m->groups);
}

/* Drops mailboxes of exited processes, and empty ones that had no messages in the interval. */
static void keep_boxes(struct message_stats *m)
{
	size_t nr = 0;

	idmap_free(&m->box_index);
	for (size_t i = 0; i < m->boxes.len; i++) {
		struct mailbox b = m->boxes.data[i];

		if (b.gone || (!b.len && !b.touched))
			continue;
		b.first_len = b.max_len = b.len;
		b.touched = false;
		b.first_ns = b.last_ns = 0;
		b.received = 0;
		b.queued = (struct message_counts){0};
		idmap_add(&m->box_index, hash_mix(7, b.epid), (uint32_t)nr);
		m->boxes.data[nr++] = b;
	}
	m->boxes.len = nr;
}

void message_stats_restart(struct message_stats *m)
{
	drop_counts(m);
	begin_counts(m);
	process_groups_restart(&m->groups);
	keep_boxes(m);
	m->undecided.len = 0;
	m->all = (struct message_counts){0};
	m->received = m->lost_boxes = m->lost_ends = m->lost_pairs = 0;
	memset(&m->sizes, 0, sizeof(m->sizes));
}
