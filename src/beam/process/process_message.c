/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See process_message.h.  A process has three lists of signals: the outer queue, to which senders
 * append, the middle and the inner queue.  process_info() first fetches the outer queue; here the
 * three are added.
 *
 * erl_message.h, erl_proc_sig_queue.c, OTP 25 to 29.
 */
#include "beam/process/process_message.h"

#include <errno.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"

/* Limit of the signals of one process other than messages. */
#define NMSIGS_MAX (1u << 20)

/* ErtsNonMsgSignal {next, specific.next, tag, mlenoffs}; mlenoffs since OTP 27. */
#define NMSIG_NEXT     8
#define NMSIG_MLENOFFS 24
#define NMSIG_SIZE     32

/* ErtsMessage.data: the fragment is part of the message. */
#define COMBINED_FRAGMENT 1ull

/* Limit of the words of a heap fragment: 512 GiB. */
#define FRAGMENT_MAX (1ull << 36)

/* Bytes around a message that are read at once, as most other messages are close to it. */
#define WINDOW_SIZE 16384u
#define PAGE_SIZE   4096u

/* Up to OTP 26 the queues' lengths include all messages; since 27 each signal that is no message
 * has the number of messages before it, which is added.  An exiting process frees signals one by
 * one: they are not read. */
int process_count_messages(struct process_reader *r, struct process_facts *p,
			   struct process_pending *q)
{
	uint8_t bytes[NMSIG_SIZE];
	raddr signal;

	if (p->state & PSFLG_EXITING) {
		p->message_queue_len = MAX(p->message_queue_len, 0);
		return p->message_queue_len > PROCESS_MESSAGES_MAX ? -EAGAIN : 0;
	}
	for (size_t k = 0; process_has_mlenoffs(r->l) && k < ARRAY_SIZE(q->nmsigs); k++) {
		raddr at = q->nmsigs[k];

		for (unsigned int i = 0; at; i++) {
			if (i == NMSIGS_MAX || mem_read_u64(r->mem, at, &signal) != 0 || !signal ||
			    mem_read(r->mem, signal, bytes, sizeof(bytes)) != 0)
				return -EAGAIN;
			p->message_queue_len += (int64_t)bytes_u64(bytes, NMSIG_MLENOFFS);
			at = bytes_u64(bytes, NMSIG_NEXT);
		}
	}
	return p->message_queue_len < 0 || p->message_queue_len > PROCESS_MESSAGES_MAX ? -EAGAIN
										       : 0;
}

/* Is this entry of a signal queue a message?  Its `m` is then a term, or 0 if it came from another
 * node and is not decoded yet; other signals have a header word there. */
static bool is_message(const struct process_reader *r, const uint8_t *message)
{
	uint64_t term = bytes_u64(message, r->l->message_m);

	return (term & 3) != 0 || term == 0;
}

int process_take_fragment(const struct process_reader *r, struct process_pending *q,
			  const uint8_t *fragment)
{
	uint64_t used = bytes_u64(fragment, r->l->heap_frag_used_size);

	if (used > bytes_u64(fragment, r->l->heap_frag_alloc_size) || used > FRAGMENT_MAX)
		return -EAGAIN;
	q->message_words += used;
	return 0;
}

int process_take_message(const struct process_reader *r, struct process_facts *p,
			 struct process_pending *q, const uint8_t *message, raddr *fragment)
{
	const struct beam_layout *l = r->l;
	uint64_t data = bytes_u64(message, l->message_data);

	*fragment = 0;
	if (!is_message(r, message))
		return 0;
	q->nr_messages++;
	if (bytes_u64(message, l->message_m) == 0) {
		p->nr_undecoded++;
		return 0;
	}
	if (data != COMBINED_FRAGMENT) {
		*fragment = data;
		return data & 7 ? -EAGAIN : 0;
	}
	*fragment = bytes_u64(message + l->message_hfrag, l->heap_frag_next);
	return process_take_fragment(r, q, message + l->message_hfrag);
}

struct window {
	struct mem *mem;
	raddr addr;
	size_t size;
	uint8_t bytes[WINDOW_SIZE];
};

/* Reads `size` bytes (at least `least`, see mem.h) at addr, if possible from the window. */
static int window_read(struct window *w, raddr addr, void *buf, size_t size, size_t least)
{
	static const uint32_t sizes[] = {WINDOW_SIZE, PAGE_SIZE};

	for (size_t i = 0; i <= ARRAY_SIZE(sizes); i++) {
		if (w->size >= size && addr >= w->addr && addr - w->addr <= w->size - size) {
			memcpy(buf, w->bytes + (addr - w->addr), size);
			return 0;
		}
		if (i == ARRAY_SIZE(sizes))
			break;
		w->addr = addr & ~(raddr)(sizes[i] - 1);
		w->size = sizes[i];
		if (mem_read(w->mem, w->addr, w->bytes, w->size) != 0)
			w->size = 0;
	}
	return mem_read_edge(w->mem, addr, buf, size, least);
}

static int read_fragments(struct process_reader *r, struct window *w, struct process_pending *q,
			  raddr fragment)
{
	uint8_t bytes[64];

	for (unsigned int i = 0; fragment; i++) {
		size_t size = (size_t)r->l->heap_frag_size;

		if (i > 65536 || window_read(w, fragment, bytes, size, size - 8) != 0)
			return -EAGAIN;
		if (process_take_fragment(r, q, bytes) != 0)
			return -EAGAIN;
		fragment = bytes_u64(bytes, r->l->heap_frag_next);
	}
	return 0;
}

int process_read_messages(struct process_reader *r, struct process_facts *p,
			  struct process_pending *q)
{
	/* Ends a cycle: no queue has so many signals, even if more messages arrive meanwhile. */
	uint64_t left = 2 * (uint64_t)p->message_queue_len + NMSIGS_MAX;
	/* One for messages, one for their fragments, which are elsewhere in memory. */
	struct window *w = xmalloc(2 * sizeof(*w));
	uint8_t bytes[256];
	raddr fragment;
	int rc = 0;

	w[0].mem = w[1].mem = r->mem;
	w[0].size = w[1].size = 0;
	for (size_t k = 0; k < ARRAY_SIZE(q->queues); k++) {
		raddr at = q->queues[k];

		while (rc == 0 && at) {
			rc = left-- ? window_read(&w[0], at, bytes, (size_t)r->l->message_size,
						  process_message_least(r->l))
				    : -EAGAIN;
			if (rc)
				break;
			rc = process_take_message(r, p, q, bytes, &fragment);
			rc = rc ? rc : read_fragments(r, &w[1], q, fragment);
			at = bytes_u64(bytes, r->l->message_next);
		}
	}
	free(w);
	return rc ? -EAGAIN : 0;
}
