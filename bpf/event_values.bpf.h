/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that fill in values of events: terms with what they point to, sizes of heaps and
 * mailboxes, names of drivers. */
#ifndef EBEAM_BPF_EVENT_VALUES_H
#define EBEAM_BPF_EVENT_VALUES_H

#include "abi/vm.h"
#include "event.bpf.h"

/* ---- what values are made of ----------------------------------------------------------------- */

/* Record under construction on this thread; NULL only for the verifier. */
INLINE struct event_with_term *event_with_term(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);

	return t ? &t->event : 0;
}

/* Copies what a list or boxed term points to, if there is room.  Of a list several adjacent
 * cells, in either direction, as most lists are contiguous. */
GLOBAL_FN int copy_block(uint64_t term)
{
	uint64_t words = EVENT_BLOCK_WORDS, cell[2], addr = TERM_ADDR(term);
	struct event_with_term *e;
	struct term_block *b;
	uint32_t nr;

	if (!TERM_IS_LIST(term) && !TERM_IS_BOXED(term))
		return 0;
	e = event_with_term();
	if (!e)
		return 0;
	nr = e->rec.nr_blocks;
	if (nr >= EVENT_BLOCKS || !try_read(addr, cell, sizeof(cell)))
		return 0;
	/* Checked again: some kernels no longer know the bound if nr was spilled over a call. */
	FORGET(nr);
	if (nr >= EVENT_BLOCKS)
		return 0;
	b = &e->blocks[nr];
	__builtin_memset(b, 0, sizeof(*b));
	if (TERM_IS_LIST(term) && TERM_IS_LIST(cell[1]) && TERM_ADDR(cell[1]) == addr - 16)
		addr -= sizeof(b->words) - sizeof(cell);
	else if (!TERM_IS_LIST(term) && HEADER_IS_TUPLE(cell[0]) &&
		 HEADER_ARITY(cell[0]) + 1 < EVENT_BLOCK_WORDS)
		words = HEADER_ARITY(cell[0]) + 1;
	FORGET(words);
	if (words > EVENT_BLOCK_WORDS)
		return 0;
	if (!try_read(addr, b->words, words * 8)) {
		addr = TERM_ADDR(term);
		if (!TERM_IS_LIST(term) || !try_read(addr, b->words, sizeof(cell)))
			return 0;
	}
	b->addr = addr;
	b->term = term;
	e->rec.nr_blocks = nr + 1;
	return 1;
}

/* Copies what the cells of a list in a block point to. */
INLINE void copy_cells(struct term_block *b)
{
	uint64_t at = TERM_ADDR(b->term) - b->addr, tail;

	for (int i = 0; i < EVENT_BLOCK_WORDS / 2; i++) {
		FORGET(at);
		if (at > sizeof(b->words) - 16 || (at & 15))
			return;
		copy_block(b->words[at / 8]);
		tail = b->words[at / 8 + 1];
		at = TERM_ADDR(tail) - b->addr;
		if (!TERM_IS_LIST(tail) || at > sizeof(b->words) - 16) {
			copy_block(tail);
			return;
		}
	}
}

/* Copies what the words of one block point to; 0 = there is no such block. */
GLOBAL_FN int copy_below(uint32_t i)
{
	struct event_with_term *e = event_with_term();
	struct term_block *b;

	if (!e || i >= EVENT_BLOCKS || i >= e->rec.nr_blocks)
		return 0;
	b = &e->blocks[i];
	if (TERM_IS_LIST(b->term)) {
		copy_cells(b);
		return 1;
	}
	/* In other objects (which may be maps) each word is tried as a term: a wrong one does no
	 * harm. */
	for (uint32_t k = 1; k < EVENT_BLOCK_WORDS; k++)
		copy_block(b->words[k]);
	return 1;
}

/* Copies what is below a term of the record of this thread, breadth first. */
INLINE void copy_term(uint64_t term)
{
	if (config.unnamed)
		return;
	copy_block(term);
	for (uint32_t i = 0; i < EVENT_BLOCKS; i++) {
		if (!copy_below(i))
			break;
	}
}

INLINE bool has_words(uint64_t term)
{
	return TERM_IS_LIST(term) || TERM_IS_BOXED(term);
}

/* A record with room for the words of one term. */
struct event_with_block {
	struct rec_raw_event rec;
	struct term_block block;
};

/* Copies what a boxed term points to, one level only. */
INLINE void copy_only_block(struct event_with_block *e, uint64_t boxed)
{
	struct term_block *b = &e->block;

	if (config.unnamed)
		return;
	__builtin_memset(b, 0, sizeof(*b));
	if (!try_read(TERM_ADDR(boxed), b->words, sizeof(b->words)))
		return;
	b->addr = TERM_ADDR(boxed);
	b->term = boxed;
	e->rec.nr_blocks = 1;
}

/* Length of a proper list; -1 if it is longer than a list of arguments may be. */
GLOBAL_FN int list_length(uint64_t list)
{
	for (int i = 0; i <= 255; i++) {
		if (!TERM_IS_LIST(list))
			return list == TERM_NIL ? i : -1;
		if (!read_u64(TERM_ADDR(list) + 8, &list))
			return -1;
	}
	return -1;
}

INLINE uint64_t heap_words(uint64_t process)
{
	uint64_t words;

	return read_u64(process + config.layout.process_heap_sz, &words) ? words : EVENT_UNKNOWN;
}

INLINE uint64_t old_heap_words(uint64_t process)
{
	uint64_t start, end;

	if (!read_u64(process + config.layout.process_old_heap, &start) ||
	    !read_u64(process + config.layout.process_old_hend, &end))
		return EVENT_UNKNOWN;
	return start && end >= start ? (end - start) / 8 : 0;
}

/* ErlHeapFragment {next, off_heap (2 words), alloc_size, used_size, ...}, erl_message.h of OTP 25
 * to 29; ERTS_MSG_COMBINED_HFRAG: the fragment is part of the message. */
#define HFRAG_USED_SIZE 32
#define COMBINED_HFRAG	1

/* ErtsMessage {next, data, m[]}, erl_message.h of OTP 25 to 29.  m[0] is the term of a message; in
 * a signal that is no message it has the header tag of an external pid, and in a message from
 * another node that is not decoded yet it is THE_NON_VALUE. */
#define SIGNAL_MASK	  0x3f
#define SIGNAL_NO_MESSAGE 0x30
#define MESSAGE_UNDECODED 0

/* Used words in a chain of heap fragments; EVENT_UNKNOWN if it cannot be read, or is too long. */
#define HFRAGS_MAX 64
GLOBAL_FN uint64_t fragment_words(uint64_t fragment)
{
	uint64_t words = 0, size;

	for (int i = 0; i < HFRAGS_MAX; i++) {
		if (!fragment)
			return words;
		if (!read_u64(fragment + HFRAG_USED_SIZE, &size) || !read_u64(fragment, &fragment))
			return EVENT_UNKNOWN;
		words += size;
	}
	return EVENT_UNKNOWN;
}

/* Adds up the words of the next MESSAGES_AT_ONCE messages of a queue: 1 = there are more messages,
 * 0 = the queue ended, -1 = a message cannot be read. */
#define MESSAGES_AT_ONCE 128
GLOBAL_FN int message_walk(void)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct event_thread *t = bpf_map_lookup_elem(&event_threads, &tid);
	struct message_walk *w;
	struct {
		uint64_t next, data, tag;
	} m;
	uint64_t size;

	if (!t)
		return -1;
	w = &t->messages;
	for (int i = 0; i < MESSAGES_AT_ONCE; i++) {
		if (!w->message)
			return 0;
		if (!read_user(w->message, &m, sizeof(m)))
			return -1;
		w->last = w->message;
		w->message = m.next;
		if ((m.tag & SIGNAL_MASK) == SIGNAL_NO_MESSAGE || !m.data ||
		    m.data == COMBINED_HFRAG)
			continue;
		size = m.tag == MESSAGE_UNDECODED ? EVENT_UNKNOWN : fragment_words(m.data);
		if (size == EVENT_UNKNOWN)
			return -1;
		w->words += size;
	}
	return 1;
}

/* *last of words_of_messages() if messages are kept off heap, so that none is moved. */
#define MESSAGES_STAY 1

/*
 * Words of messages that a collection will move to the heap: messages of the inner queues and of
 * the outer one, which it fetches first (erts_garbage_collect_nobump() and others), in fragments of
 * their own, counted as by young_gen_usage() of erl_gc.c of OTP 25 to 29.  *last: the last message.
 * EVENT_UNKNOWN if there are too many messages to read.
 */
#define MESSAGE_WALKS 32 /* 4096 messages; with many more the verifier takes seconds */
INLINE uint64_t words_of_messages(uint64_t process, struct message_walk *w, uint64_t *last)
{
	uint64_t cont = 0, outer = 0;
	uint32_t flags = 0;
	int more;

	*last = MESSAGES_STAY;
	if (config.layout.message_next != 0 || config.layout.message_data != 8 ||
	    config.layout.message_m != 16 ||
	    !read_u32(process + config.layout.process_sig_qs_flags, &flags))
		return EVENT_UNKNOWN;
	if (!(flags & FS_ON_HEAP_MSGQ))
		return 0;
	w->words = w->last = 0;
	if (!read_u64(process + config.layout.process_sig_qs_first, &w->message) ||
	    !read_u64(process + config.layout.process_sig_qs_cont, &cont) ||
	    !read_u64(process + config.layout.process_sig_inq_first, &outer))
		return EVENT_UNKNOWN;
	for (int i = 0; i < MESSAGE_WALKS; i++) {
		more = message_walk();
		if (more == 0) {
			*last = w->last;
			if (!cont && !outer)
				return w->words;
			w->message = cont ? cont : outer;
			if (!cont)
				outer = 0;
			cont = 0;
		} else if (more != 1) {
			break;
		}
	}
	return EVENT_UNKNOWN;
}

/* True if no other process has added a message between reading the queues and the collection. */
INLINE bool is_last_message(uint64_t process, uint64_t last)
{
	uint64_t cont = 0, end = 0, start = process + config.layout.process_sig_qs_first;

	if (last == MESSAGES_STAY)
		return true;
	if (!read_u64(process + config.layout.process_sig_qs_cont, &cont) ||
	    !read_u64(process + (cont ? config.layout.process_sig_qs_cont_last
				      : config.layout.process_sig_qs_last),
		      &end))
		return false;
	return end == (last ? last : start);
}

/* Words in use on the heaps of a process, with heap fragments but without messages.  A heap that
 * was abandoned, as its collection was delayed, counts too: with all its words, or with the number
 * in its last word if F_ABANDONED_HEAP_USE is set (young_gen_usage() of erl_gc.c). */
INLINE uint64_t words_used(uint64_t process)
{
	uint64_t heap, htop, old_heap, old_htop, mbuf, abandoned, size, words;
	uint32_t flags;

	if (!read_u64(process + config.layout.process_heap, &heap) ||
	    !read_u64(process + config.layout.process_htop, &htop) ||
	    !read_u64(process + config.layout.process_old_heap, &old_heap) ||
	    !read_u64(process + config.layout.process_old_htop, &old_htop) ||
	    !read_u64(process + config.layout.process_mbuf_sz, &mbuf) ||
	    !read_u64(process + config.layout.process_abandoned_heap, &abandoned))
		return EVENT_UNKNOWN;
	words = (htop - heap) / 8 + (old_htop - old_heap) / 8 + mbuf;
	if (abandoned) {
		if (!read_u64(process + config.layout.process_heap_sz, &size) ||
		    !read_u32(process + config.layout.process_flags, &flags))
			return EVENT_UNKNOWN;
		if ((flags & F_ABANDONED_HEAP_USE) && !read_u64(abandoned + 8 * (size - 1), &size))
			return EVENT_UNKNOWN;
		words += size;
	}
	return words;
}

/* Messages in the mailbox; EVENT_UNKNOWN if it cannot be read.  Up to OTP 26 the sum of two
 * counters, which include other signals in the queues; since OTP 27 messages that are sent as
 * signals, as to an alias, are missing until the signal is handled. */
INLINE uint64_t queue_len(uint64_t process)
{
	uint64_t words[EBEAM_QUEUES / 8], inner = 0, outer = 0, offset = 0;
	struct part p;

	if (config.layout.process_sig_qs_len >= 0) {
		if (!read_u64(process + config.layout.process_sig_qs_len, &inner) ||
		    !read_u64(process + config.layout.process_sig_inq_len, &outer))
			return EVENT_UNKNOWN;
		return inner + outer;
	}
	p = part_of(process, config.layout.process_sig_qs_mq_len,
		    config.layout.process_sig_qs_mlenoffs, words, sizeof(words));
	if (!part_read(&p) || !part_u64(&p, config.layout.process_sig_qs_mq_len, &inner) ||
	    !part_u64(&p, config.layout.process_sig_qs_mlenoffs, &offset) ||
	    !read_u64(process + config.layout.process_sig_inq_mlenoffs, &outer))
		return EVENT_UNKNOWN;
	return inner + outer + offset;
}

/* Element of a table for an identifier of this node (erl_ptab.h): up to OTP 25 the slot is in the
 * upper half of the term, else in the lowest bits of its data; 0 = none. */
INLINE uint64_t table_entry(const volatile struct id_table *t, uint64_t term)
{
	uint64_t slot = t->whole_word ? term >> 4 & t->pix_mask : term >> 32, entry = 0;

	if (!term || !t->slots || slot > t->pix_mask ||
	    !try_read(t->slots + 8 * slot, &entry, sizeof(entry)))
		return 0;
	return entry;
}

/* Address of the process with that pid, 0 = none. */
INLINE uint64_t process_with(uint64_t epid)
{
	uint64_t process = table_entry(&config.processes, epid), id = 0;

	if (!process || !try_read(process + config.layout.process_id, &id, sizeof(id)) ||
	    id != epid)
		return 0;
	return process;
}

/* Copies the name of a port's driver into EVENT_TEXT_WORDS words. */
INLINE void driver_name(uint64_t port, uint64_t *text)
{
	uint64_t driver, name;

	if (port && read_u64(port + config.layout.port_drv_ptr, &driver) && driver &&
	    read_u64(driver + config.layout.driver_name, &name) && name)
		bpf_probe_read_user_str(text, 8 * EVENT_TEXT_WORDS, (const void *)name);
}

INLINE uint64_t port_term(uint64_t port)
{
	uint64_t id = 0;

	if (port)
		read_u64(port + config.layout.port_id, &id);
	return id;
}

#endif
