/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the values of events are made of: terms with what they point to, sizes of heaps and
 * mailboxes, names of drivers.
 */
#ifndef EBEAM_BPF_EVENT_VALUES_H
#define EBEAM_BPF_EVENT_VALUES_H

#include "event.bpf.h"

/* ---- what values are made of ---------------------------------------------------------------- */

/* erl_term.h of OTP 24 to 29 */
#define HEADER_IS_TUPLE(h) (((h)&0x3f) == 0)
#define HEADER_ARITY(h)	   ((h) >> 6)

/* Like read_user(), where a failure loses nothing that was promised. */
INLINE bool try_read(uint64_t addr, void *to, uint32_t size)
{
	return bpf_probe_read_user(to, size, (const void *)addr) == 0;
}

/* An event with room for what its term points to. */
struct event_with_term {
	struct rec_raw_event rec;
	struct term_block blocks[EVENT_BLOCKS]; /* rec.blocks */
};

/*
 * Copies what a list or boxed term points to, if there is room.  Of a list more than one cell, as
 * most lists stand in one piece, whichever way they go.
 */
GLOBAL_FN int copy_block(struct event_with_term *e, uint64_t term)
{
	uint64_t words = EVENT_BLOCK_WORDS, cell[2], addr = TERM_PTR(term);
	struct term_block *b;
	uint32_t nr;

	if (!e || (!TERM_LIST(term) && !TERM_BOXED(term)))
		return 0;
	nr = e->rec.nr_blocks;
	if (nr >= EVENT_BLOCKS || !try_read(addr, cell, sizeof(cell)))
		return 0;
	b = &e->blocks[nr];
	__builtin_memset(b, 0, sizeof(*b));
	if (TERM_LIST(term) && TERM_LIST(cell[1]) && TERM_PTR(cell[1]) == addr - 16)
		addr -= sizeof(b->words) - sizeof(cell);
	else if (!TERM_LIST(term) && HEADER_IS_TUPLE(cell[0]) &&
		 HEADER_ARITY(cell[0]) + 1 < EVENT_BLOCK_WORDS)
		words = HEADER_ARITY(cell[0]) + 1;
	FORGET(words);
	if (words > EVENT_BLOCK_WORDS)
		return 0;
	if (!try_read(addr, b->words, words * 8)) {
		addr = TERM_PTR(term);
		if (!TERM_LIST(term) || !try_read(addr, b->words, sizeof(cell)))
			return 0;
	}
	b->addr = addr;
	b->term = term;
	e->rec.nr_blocks = nr + 1;
	return 1;
}

/* What the cells of a list point to, as far as they stand in its block. */
INLINE void copy_cells(struct event_with_term *e, struct term_block *b)
{
	uint64_t at = TERM_PTR(b->term) - b->addr, tail;

	for (int i = 0; i < EVENT_BLOCK_WORDS / 2; i++) {
		FORGET(at);
		if (at > sizeof(b->words) - 16 || (at & 15))
			return;
		copy_block(e, b->words[at / 8]);
		tail = b->words[at / 8 + 1];
		at = TERM_PTR(tail) - b->addr;
		if (!TERM_LIST(tail) || at > sizeof(b->words) - 16) {
			copy_block(e, tail);
			return;
		}
	}
}

/* What the words of one block point to; 0 = there is no such block. */
GLOBAL_FN int copy_below(struct event_with_term *e, uint32_t i)
{
	struct term_block *b;

	if (!e || i >= EVENT_BLOCKS || i >= e->rec.nr_blocks)
		return 0;
	b = &e->blocks[i];
	if (TERM_LIST(b->term)) {
		copy_cells(e, b);
		return 1;
	}
	/* Of what is no tuple (and may be a map) all words are tried: none of them can do harm. */
	for (uint32_t k = 1; k < EVENT_BLOCK_WORDS; k++)
		copy_block(e, b->words[k]);
	return 1;
}

/* The words below a term, breadth first. */
INLINE void copy_term(struct rec_raw_event *rec, uint64_t term)
{
	struct event_with_term *e = (struct event_with_term *)rec;

	copy_block(e, term);
	for (uint32_t i = 0; i < EVENT_BLOCKS; i++) {
		if (!copy_below(e, i))
			break;
	}
}

/* Elements of a proper list; more than a function may have arguments: -1. */
GLOBAL_FN int list_length(uint64_t list)
{
	for (int i = 0; i <= 255; i++) {
		if (!TERM_LIST(list))
			return list == TERM_NIL ? i : -1;
		if (!read_u64(TERM_PTR(list) + 8, &list))
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

/*
 * Messages in the mailbox.  Up to OTP 26 two counters, which count other signals that wait with
 * them; from 27 on what the signals that wait will still add is left out.
 */
INLINE uint64_t queue_len(uint64_t process)
{
	uint64_t inner = 0, outer = 0, offset = 0;

	if (config.layout.process_sig_qs_len >= 0) {
		if (!read_u64(process + config.layout.process_sig_qs_len, &inner) ||
		    !read_u64(process + config.layout.process_sig_inq_len, &outer))
			return EVENT_UNKNOWN;
	} else if (!read_u64(process + config.layout.process_sig_qs_mq_len, &inner) ||
		   !read_u64(process + config.layout.process_sig_qs_mlenoffs, &offset) ||
		   !read_u64(process + config.layout.process_sig_inq_mlenoffs, &outer)) {
		return EVENT_UNKNOWN;
	}
	return inner + outer + offset;
}

/* Driver of a port, into EVENT_TEXT_WORDS words. */
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
