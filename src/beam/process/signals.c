/* SPDX-License-Identifier: BSD-2-Clause */
/* See signals.h. */
#include "beam/process/signals.h"

#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "beam/term/term_read.h"

/* ErtsMessage.m: the term, the trace token, the sender (erl_message.h). */
#define M_TERM 0
#define M_FROM 2

/* data.attached of a message that includes its fragment (erl_message.h, OTP 25 to 29). */
#define COMBINED_FRAGMENT 1

/* A signal has its tag where a message has its term: a header with a subtag that no term has, and
 * the operation in the first 8 bits of the arity (ERTS_PROC_SIG_MAKE_TAG). */
#define TAG_IS_SIGNAL(t) (((t)&3) == 0 && (t) != 0)
#define TAG_OP(t)	 (((t) >> 6) & 0xff)
/* ERTS_SIG_Q_OP_ALIAS_MSG of OTP 25 to 27, ERTS_SIG_Q_OP_ALTACT_MSG of 28 and 29; its sender is a
 * tuple {From, Message, ...} unless it came from another node. */
#define OP_ALIAS_MESSAGE 15

#define MAX_FRAGMENTS	  4096 /* of one message */
#define MAX_MESSAGE_SIZE  128
#define MAX_HEAP_FRAGMENT 64

struct queue_heads {
	uint64_t inner, middle, outer, buffers;
};

struct walk {
	struct beam_node *n;
	struct mem *mem;
	int (*visit)(void *arg, const struct signal_message *m);
	void *arg;
	struct signal_counts *counts;
	struct queue_heads heads; /* heads of the queues at the start of the walk */
	bool passed_middle, passed_outer;
	bool stop;
};

static int read_heads(struct beam_node *n, raddr process, struct queue_heads *h)
{
	const struct beam_layout *l = &n->layout;
	struct mem_range ranges[4] = {
		{process + (raddr)l->process_sig_qs_first, &h->inner, 8, 0},
		{process + (raddr)l->process_sig_qs_cont, &h->middle, 8, 0},
		{process + (raddr)l->process_sig_inq_first, &h->outer, 8, 0},
		{process + (raddr)l->process_sig_inq_buffers, &h->buffers, 8, 0},
	};
	int nr = l->process_sig_inq_buffers >= 0 ? 4 : 3; /* OTP 24 has none */

	h->buffers = 0;
	mem_readv(n->mem, ranges, (size_t)nr);
	for (int i = 0; i < nr; i++) {
		if (ranges[i].err)
			return ranges[i].err;
	}
	return 0;
}

/* Sum of the words in a chain of fragments; `bytes` is the first fragment. */
static uint64_t fragment_words(struct walk *w, const uint8_t *bytes)
{
	const struct beam_layout *l = &w->n->layout;
	uint8_t next[MAX_HEAP_FRAGMENT];
	uint64_t words = 0;

	for (int i = 0; i < MAX_FRAGMENTS; i++) {
		raddr addr = bytes_u64(bytes, l->heap_frag_next);

		words += bytes_u64(bytes, l->heap_frag_used_size);
		if (!addr || mem_read(w->mem, addr, next, (size_t)l->heap_frag_size) != 0)
			break;
		bytes = next;
	}
	return words;
}

static void read_fragment(struct walk *w, const uint8_t *bytes, struct signal_message *m)
{
	const struct beam_layout *l = &w->n->layout;
	uint64_t data = bytes_u64(bytes, l->message_data);
	uint8_t fragment[MAX_HEAP_FRAGMENT];

	if (data == COMBINED_FRAGMENT) {
		m->fragment = m->addr + (raddr)l->message_hfrag;
		m->words = fragment_words(w, bytes + l->message_hfrag);
	} else if (data && mem_read(w->mem, data, fragment, (size_t)l->heap_frag_size) == 0) {
		m->fragment = data;
		m->words = fragment_words(w, fragment);
	}
}

/* Reads the message in a signal that was sent to an alias. */
static void read_alias_message(struct walk *w, struct signal_message *m)
{
	uint64_t tuple[3];

	m->alias = true;
	m->term = 0;
	if (!TERM_IS_BOXED(m->from) ||
	    mem_read(w->mem, TERM_ADDR(m->from), tuple, sizeof(tuple)) != 0)
		return;
	if (!HEADER_IS_TUPLE(tuple[0]) || HEADER_ARITY(tuple[0]) < 2 || HEADER_ARITY(tuple[0]) > 6)
		return;
	m->from = tuple[1];
	m->term = tuple[2];
}

static void take(struct walk *w, raddr addr, const uint8_t *bytes, enum signal_queue queue)
{
	const struct beam_layout *l = &w->n->layout;
	struct signal_message m = {.addr = addr, .queue = queue};

	m.term = bytes_u64(bytes, l->message_m + 8 * M_TERM);
	m.from = bytes_u64(bytes, l->message_m + 8 * M_FROM);
	for (int i = 0; i < SIGNAL_REFS_MAX && l->message_m + 8 * i < l->message_hfrag; i++)
		m.refs[i] = bytes_u64(bytes, (size_t)l->message_m + 8ul * (size_t)i);
	if (queue != SIGNAL_RECEIVED && TAG_IS_SIGNAL(m.term)) {
		if (TAG_OP(m.term) != OP_ALIAS_MESSAGE) {
			w->counts->others++;
			return;
		}
		read_alias_message(w, &m);
		w->counts->alias++;
	}
	w->counts->messages++;
	w->counts->undecoded += m.term == 0;
	read_fragment(w, bytes, &m);
	w->stop |= w->visit(w->arg, &m) != 0;
}

/* Walks one queue.  Brent's cycle detection: compares with the signal at the last power of two. */
static void walk_queue(struct walk *w, raddr first, enum signal_queue queue)
{
	const struct beam_layout *l = &w->n->layout;
	size_t size = (size_t)l->message_size;
	uint8_t bytes[MAX_MESSAGE_SIZE];
	uint64_t steps = 0, power = 1;
	raddr mark = 0;

	for (raddr at = first; at && !w->stop; steps++) {
		/* If this queue has the first signal of another one, the process has appended that
		 * other queue meanwhile. */
		w->passed_middle |= at == w->heads.middle;
		w->passed_outer |= at == w->heads.outer;
		if (w->counts->messages + w->counts->others >= SIGNALS_MAX) {
			w->counts->cut = true;
			return;
		}
		/* Other signals, and messages on the heap, are shorter: read to the end of the
		 * mapping. */
		if (at == mark || at % 8 != 0 ||
		    mem_read_edge(w->mem, at, bytes, size, (size_t)l->message_m + 8) != 0) {
			w->counts->unreadable++;
			return;
		}
		if (steps == power) {
			mark = at;
			power *= 2;
		}
		take(w, at, bytes, queue);
		at = bytes_u64(bytes, l->message_next);
	}
}

static bool is_usable(const struct beam_layout *l)
{
	return (size_t)l->message_size <= MAX_MESSAGE_SIZE &&
	       (size_t)l->heap_frag_size <= MAX_HEAP_FRAGMENT;
}

int signals_walk(struct beam_node *n, struct mem *mem, raddr process,
		 int (*visit)(void *arg, const struct signal_message *m), void *arg,
		 struct signal_counts *counts)
{
	struct walk w = {.n = n, .mem = mem, .visit = visit, .arg = arg, .counts = counts};
	struct queue_heads *before = &w.heads, after;
	int rc;

	memset(counts, 0, sizeof(*counts));
	if (!is_usable(&n->layout))
		return -EINVAL;
	rc = read_heads(n, process, before);
	if (rc)
		return rc;
	walk_queue(&w, before->inner, SIGNAL_QUEUE_INNER);
	if (!w.passed_middle)
		walk_queue(&w, before->middle, SIGNAL_QUEUE_MIDDLE);
	if (!w.passed_outer)
		walk_queue(&w, before->outer, SIGNAL_QUEUE_OUTER);
	counts->buffers = before->buffers != 0;
	/* Appending changes no head; receiving changes the inner head, fetching the other two. */
	rc = read_heads(n, process, &after);
	counts->moved = rc != 0 || before->inner != after.inner || before->middle != after.middle ||
			(before->outer && before->outer != after.outer);
	return 0;
}

int signals_walk_received(struct beam_node *n, struct mem *mem, raddr first,
			  int (*visit)(void *arg, const struct signal_message *m), void *arg,
			  struct signal_counts *counts)
{
	struct walk w = {.n = n, .mem = mem, .visit = visit, .arg = arg, .counts = counts};

	memset(counts, 0, sizeof(*counts));
	if (!is_usable(&n->layout))
		return -EINVAL;
	walk_queue(&w, first, SIGNAL_RECEIVED);
	return 0;
}
