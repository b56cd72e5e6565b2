/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads data that processes point to: names, links, monitors, messages, dictionaries.  All
 * processes of a block are walked together: each step reads one address, all steps of a level are
 * read in batches, and the pointers found there are the steps of the next level.
 *
 * Trees and lists change while they are walked.  A node is accepted only if it points back to the
 * one before it, so that no node is visited twice and cycles end; otherwise its process becomes
 * PROCESS_BAD, and is read again.
 */
#include "abi/vm.h"
#include "beam/process/process_internal.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "beam/process/process_message.h"
#include "beam/process/process_walk.h"
#include "beam/term/atoms.h"

/* Limit of levels, enough for a block of processes with a million links each. */
#define LEVELS_MAX (1u << 22)
#define CHAIN_MAX  64 /* limit of the keys in one slot of a dictionary */

/* ProcDict, erl_process_dict.h: u32 sizeMask, usedSlots, arraySize, splitPosition; Uint
 * numElements; Eterm data[]; a new one has 8 elements, or the number of +hpds (a power of 2).  The
 * first 8 are read with the head; a dictionary may have fewer. */
#define DICTIONARY_DATA	   24u
#define DICTIONARY_INITIAL 8u

/* ErtsPSD.data[]: erl_process.h; struct saved_calls {int len, n, cur; const Export *ct[1]}. */
#define PSD_SAVED_CALLS	 8u
#define SAVED_CALLS_SIZE 24u

/* ---- dictionary --------------------------------------------------------------------------- */

static void take_value(struct walk *w, const struct step *s, uint64_t key, uint64_t value)
{
	struct process_facts *p = &w->b->facts[s->process];

	if (key == w->r->key_label)
		p->label = value;
	else if (key == w->r->key_ancestors)
		p->ancestors = value;
	else
		p->initial_call = value;
	if (key == w->r->key_initial_call && TERM_IS_BOXED(value))
		walk_push(w, STEP_CALL, s->process, value & ~7ull, 0, 0);
}

/* $initial_call: the arity is a small integer (proc_lib.erl). */
static void take_call(struct walk *w, const struct step *s, const uint8_t *tuple)
{
	struct process_facts *p = &w->b->facts[s->process];
	uint64_t arity = bytes_u64(tuple, 24);

	if (bytes_u64(tuple, 0) != HEADER_TUPLE(3) || !TERM_IS_ATOM(bytes_u64(tuple, 8)) ||
	    !TERM_IS_ATOM(bytes_u64(tuple, 16)) || (arity & 0xf) != 0xf || arity >> 4 > 255) {
		w->b->pending[s->process].doubtful = true;
		return;
	}
	p->proc_lib_call[0] = bytes_u64(tuple, 8);
	p->proc_lib_call[1] = bytes_u64(tuple, 16);
	p->proc_lib_call[2] = arity >> 4;
}

/* Follows a slot: nil, a {Key, Value}, or a list of {Key, Value}. */
static void push_chain(struct walk *w, const struct step *s, uint64_t term, uint64_t key,
		       unsigned int depth)
{
	if (term == TERM_NIL)
		return;
	if (TERM_IS_BOXED(term))
		walk_push(w, STEP_PAIR, s->process, term & ~7ull, key, depth);
	else if (TERM_IS_LIST(term) && depth < CHAIN_MAX)
		walk_push(w, STEP_CELL, s->process, term & ~7ull, key, depth);
	else
		walk_bad(w, s);
}

/* Finds the slot of a key like pd_hash_get(): an atom's hash is its index. */
static void look_up(struct walk *w, const struct step *s, const uint8_t *dictionary, uint64_t key)
{
	uint32_t mask = bytes_u32(dictionary, 0), used = bytes_u32(dictionary, 4), i;

	if (!key)
		return;
	i = (uint32_t)(key >> 6) & mask;
	if (i >= used)
		i &= mask >> 1;
	if (i < DICTIONARY_INITIAL)
		push_chain(w, s, bytes_u64(dictionary, (int32_t)(DICTIONARY_DATA + 8 * i)), key, 0);
	else
		walk_push(w, STEP_SLOT, s->process, s->addr + DICTIONARY_DATA + 8 * (raddr)i, key,
			  0);
}

static void take_dictionary(struct walk *w, const struct step *s, const uint8_t *bytes)
{
	uint32_t mask = bytes_u32(bytes, 0), used = bytes_u32(bytes, 4), size = bytes_u32(bytes, 8);

	if ((mask & (mask + 1)) != 0 || used > size || size > 1u << 31) {
		walk_bad(w, s);
		return;
	}
	/* erts_dicts_mem_size() */
	w->b->facts[s->process].memory += DICTIONARY_DATA + 8ull * size;
	if (!(w->r->what & PROCESS_READ_DICTIONARY))
		return;
	look_up(w, s, bytes, w->r->key_label);
	look_up(w, s, bytes, w->r->key_initial_call);
	look_up(w, s, bytes, w->r->key_ancestors);
}

static void take_pair(struct walk *w, const struct step *s, const uint8_t *tuple)
{
	if (bytes_u64(tuple, 0) != HEADER_TUPLE(2))
		walk_bad(w, s);
	else if (bytes_u64(tuple, 8) == s->from)
		take_value(w, s, s->from, bytes_u64(tuple, 16));
	else
		w->b->pending[s->process].doubtful = true;
}

static void take_cell(struct walk *w, const struct step *s, const uint8_t *cell)
{
	uint64_t head = bytes_u64(cell, 0);

	if ((head & 3) != 2) {
		walk_bad(w, s);
		return;
	}
	walk_push(w, STEP_PAIR, s->process, head & ~7ull, s->from, s->depth);
	push_chain(w, s, bytes_u64(cell, 8), s->from, s->depth + 1u);
}

/* ---- the steps ---------------------------------------------------------------------------- */

/* Number of bytes to read for a step; *before: how many of them are before its address. */
static size_t step_size(const struct walk *w, const struct step *s, size_t *before)
{
	const struct beam_layout *l = w->r->l;

	*before = 0;
	switch ((enum step_kind)s->kind) {
	case STEP_REGISTERED:
		return (size_t)l->regproc_name + 8;
	case STEP_LINK:
		return (size_t)l->link_size + 8;
	case STEP_MONITOR:
	case STEP_LT_MONITOR:
		*before = (size_t)l->monitor_size;
		return *before + PROCESS_MONITOR_DATA((size_t)l->monitor_size);
	case STEP_DICTIONARY:
		return DICTIONARY_DATA + 8 * DICTIONARY_INITIAL;
	case STEP_SLOT:
		return 8;
	case STEP_PAIR:
		return 24;
	case STEP_CELL:
	case STEP_PSD:
		return 16;
	case STEP_CALL:
		return 32;
	case STEP_SAVED_CALLS:
		return 4;
	case STEP_MESSAGE:
		return (size_t)l->message_size;
	case STEP_FRAGMENT:
		return (size_t)l->heap_frag_size;
	case STEP_STILL: /* may exceed WALK_STEP_MAX: see run_batch() */
		return (size_t)l->process_size;
	}
	return 8;
}

static void take_message(struct walk *w, const struct step *s, const uint8_t *message)
{
	struct process_pending *q = &w->b->pending[s->process];
	raddr next = bytes_u64(message, w->r->l->message_next), fragment;

	if (process_take_message(w->r, &w->b->facts[s->process], q, message, &fragment) != 0)
		walk_bad(w, s);
	else if (fragment)
		walk_push(w, STEP_FRAGMENT, s->process, fragment, 0, 0);
	if (next && s->depth < UINT16_MAX)
		walk_push(w, STEP_MESSAGE, s->process, next, 0, s->depth + 1u);
	else if (next)
		walk_bad(w, s);
}

static void take_fragment(struct walk *w, const struct step *s, const uint8_t *fragment)
{
	raddr next = bytes_u64(fragment, w->r->l->heap_frag_next);

	if (process_take_fragment(w->r, &w->b->pending[s->process], fragment) != 0)
		walk_bad(w, s);
	else if (next && s->depth < UINT16_MAX)
		walk_push(w, STEP_FRAGMENT, s->process, next, 0, s->depth + 1u);
}

/* Are the queues unchanged but for new messages?  Else a message may have been received and freed
 * during the walk, so that its memory had other data. */
static bool queues_still(const struct process_facts *p, const struct process_pending *q,
			 const struct beam_layout *l, const uint8_t *bytes)
{
	int64_t more = process_raw_length(l, bytes) - q->raw_len;

	return bytes_u64(bytes, l->process_sig_qs_first) == q->queues[0] &&
	       bytes_u64(bytes, l->process_sig_qs_cont) == q->queues[1] &&
	       bytes_u64(bytes, l->process_sig_inq_first) == q->queues[2] && more >= 0 &&
	       q->nr_messages >= (uint64_t)p->message_queue_len &&
	       q->nr_messages <= (uint64_t)(p->message_queue_len + more);
}

/* True if no GC has moved the terms of the dictionary meanwhile. */
static bool heap_still(const struct process_facts *p, const struct beam_layout *l,
		       const uint8_t *bytes)
{
	return bytes_u64(bytes, l->process_heap) == p->heap &&
	       bytes_u16(bytes, l->process_gen_gcs) == p->gen_gcs &&
	       !(bytes_u32(bytes, l->process_state) & PSFLG_GC);
}

static void check_still(struct walk *w, const struct step *s, const uint8_t *bytes)
{
	const struct beam_layout *l = w->r->l;
	const struct process_facts *p = &w->b->facts[s->process];
	const struct process_pending *q = &w->b->pending[s->process];

	if (bytes_u64(bytes, l->process_id) != p->epid ||
	    (bytes_u32(bytes, l->process_state) & (PSFLG_FREE | PSFLG_EXITING)) ||
	    (q->nr_messages && !queues_still(p, q, l, bytes)) ||
	    (q->doubtful && !heap_still(p, l, bytes)))
		walk_bad(w, s);
}

static void take_step(struct walk *w, const struct step *s, const uint8_t *bytes)
{
	const struct beam_layout *l = w->r->l;
	struct process_facts *p = &w->b->facts[s->process];
	uint64_t name;

	switch ((enum step_kind)s->kind) {
	case STEP_REGISTERED:
		name = bytes_u64(bytes, l->regproc_name);
		if (bytes_u64(bytes, l->regproc_p) == p->addr && TERM_IS_ATOM(name))
			p->registered = name;
		else
			walk_bad(w, s);
		break;
	case STEP_LINK:
		walk_take_link(w, s, bytes);
		break;
	case STEP_MONITOR:
	case STEP_LT_MONITOR:
		walk_take_monitor(w, s, bytes);
		break;
	case STEP_DICTIONARY:
		take_dictionary(w, s, bytes);
		break;
	case STEP_SLOT:
		push_chain(w, s, bytes_u64(bytes, 0), s->from, 0);
		break;
	case STEP_PAIR:
		take_pair(w, s, bytes);
		break;
	case STEP_CELL:
		take_cell(w, s, bytes);
		break;
	case STEP_CALL:
		take_call(w, s, bytes);
		break;
	case STEP_PSD:
		if (bytes_u64(bytes, PSD_SAVED_CALLS))
			walk_push(w, STEP_SAVED_CALLS, s->process,
				  bytes_u64(bytes, PSD_SAVED_CALLS), 0, 0);
		break;
	case STEP_SAVED_CALLS:
		p->memory += SAVED_CALLS_SIZE + 8ull * (bytes_u32(bytes, 0) & 0xffffff) - 8;
		break;
	case STEP_MESSAGE:
		take_message(w, s, bytes);
		break;
	case STEP_FRAGMENT:
		take_fragment(w, s, bytes);
		break;
	case STEP_STILL:
		check_still(w, s, bytes);
		break;
	}
}

/* Retries the failed read of a monitor: without the bytes around its ErtsMonitorData, which may be
 * beyond the end of a mapping. */
static bool read_alone(struct walk *w, const struct step *s, uint8_t *bytes, size_t before,
		       size_t size)
{
	uint16_t offset;
	size_t m = (size_t)w->r->l->monitor_size;

	if (!before || mem_read(w->r->mem, s->addr, bytes + before, m) != 0)
		return false;
	memset(bytes, 0, before);
	memset(bytes + before + m, 0, size - before - m);
	offset = bytes_u16(bytes + before, w->r->l->monitor_offset);
	if (offset != 0 && offset != m)
		return false;
	return mem_read(w->r->mem, s->addr - offset, bytes + before - offset,
			PROCESS_MONITOR_DATA(m)) == 0;
}

/* Retries a failed read of data that can be shorter than the bytes that are read. */
static bool read_rest(struct walk *w, const struct step *s, uint8_t *bytes, size_t before,
		      size_t size)
{
	if (s->kind == STEP_MESSAGE)
		return mem_read_edge(w->r->mem, s->addr, bytes, size,
				     process_message_least(w->r->l)) == 0;
	if (s->kind == STEP_FRAGMENT)
		return mem_read_edge(w->r->mem, s->addr, bytes, size, size - 8) == 0;
	if (s->kind == STEP_DICTIONARY)
		return mem_read_edge(w->r->mem, s->addr, bytes, size, DICTIONARY_DATA + 8) == 0;
	return read_alone(w, s, bytes, before, size);
}

/* True if the process, or its queues, are already known to be inconsistent. */
static bool is_over(const struct walk *w, const struct step *s)
{
	const struct process_pending *q = &w->b->pending[s->process];

	return q->found != PROCESS_FOUND || (q->queues_bad && walk_is_of_queue(s));
}

static void run_batch(struct walk *w, const struct step *steps, size_t nr)
{
	struct process_reader *r = w->r;
	size_t befores[PROCESS_BATCH];
	/* Each step of a batch has the same number of bytes in r->bytes; a STEP_STILL needs those
	 * of a struct process, and is never in a batch with other steps. */
	size_t stride = steps[0].kind == STEP_STILL ? (size_t)r->l->process_size : WALK_STEP_MAX;

	for (size_t i = 0; i < nr; i++) {
		size_t size = step_size(w, &steps[i], &befores[i]);

		r->ranges[i] = (struct mem_range){.addr = steps[i].addr - befores[i],
						  .buf = r->bytes + i * stride,
						  .size = size};
	}
	mem_readv(r->mem, r->ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct mem_range *range = &r->ranges[i];

		if (is_over(w, &steps[i]))
			continue;
		if (range->err && !read_rest(w, &steps[i], range->buf, befores[i], range->size))
			walk_bad(w, &steps[i]);
		else
			take_step(w, &steps[i], range->buf);
	}
}

static void run(struct walk *w)
{
	for (unsigned int level = 0; w->next.len && level < LEVELS_MAX; level++) {
		struct step *steps = w->next.data;
		size_t nr = w->next.len, cap = w->next.cap;

		w->next.data = w->now.data;
		w->next.cap = w->now.cap;
		w->next.len = 0;
		w->now.data = steps;
		w->now.cap = cap;
		for (size_t i = 0; i < nr; i += PROCESS_BATCH)
			run_batch(w, steps + i, MIN(nr - i, (size_t)PROCESS_BATCH));
	}
	for (size_t i = 0; i < w->next.len; i++)
		walk_bad(w, &w->next.data[i]);
	w->next.len = 0;
}

/* Adds the steps of the first level for one process. */
static void begin(struct walk *w, uint32_t i)
{
	const struct process_facts *p = &w->b->facts[i];
	struct process_pending *q = &w->b->pending[i];
	unsigned int what = w->r->what;

	/* An exiting process frees its parts one by one. */
	if (p->state & PSFLG_EXITING)
		return;
	if (q->reg)
		walk_push(w, STEP_REGISTERED, i, q->reg, 0, 0);
	if (what & (PROCESS_READ_COUNTS | PROCESS_READ_MEMORY)) {
		if (p->links)
			walk_push(w, STEP_LINK, i, p->links, 0, 0);
		if (p->monitors)
			walk_push(w, STEP_MONITOR, i, p->monitors, 0, 0);
		if (p->lt_monitors)
			walk_push(w, STEP_LT_MONITOR, i, p->lt_monitors, 0, 0);
	}
	if ((what & (PROCESS_READ_DICTIONARY | PROCESS_READ_MEMORY)) && p->dictionary)
		walk_push(w, STEP_DICTIONARY, i, p->dictionary, 0, 0);
	if (!(what & PROCESS_READ_MEMORY))
		return;
	if (p->psd)
		walk_push(w, STEP_PSD, i, p->psd, 0, 0);
	if (p->message_queue_len > PROCESS_LONG_QUEUE) {
		if (process_read_messages(w->r, &w->b->facts[i], q) != 0)
			q->queues_bad = true;
		return;
	}
	for (size_t k = 0; k < ARRAY_SIZE(q->queues); k++)
		if (q->queues[k])
			walk_push(w, STEP_MESSAGE, i, q->queues[k], 0, 0);
}

static void finish(const struct walk *w, struct process_facts *p, const struct process_pending *q)
{
	if (!(w->r->what & PROCESS_READ_MEMORY))
		return;
	p->memory += q->nr_messages * (uint64_t)w->r->l->message_size + 8 * q->message_words;
	if (q->on_heap_messages)
		p->total_heap_size += q->message_words;
}

void process_walk(struct process_reader *r, struct process_block *b)
{
	struct walk w = {.r = r, .b = b};

	for (uint32_t i = 0; i < b->nr; i++) {
		if (b->pending[i].found != PROCESS_FOUND)
			continue;
		if (process_count_messages(r, &b->facts[i], &b->pending[i]) == 0)
			begin(&w, i);
		else
			b->pending[i].found = PROCESS_BAD;
	}
	run(&w);
	for (uint32_t i = 0; i < b->nr; i++)
		if (b->pending[i].found == PROCESS_FOUND && !b->pending[i].queues_bad &&
		    (b->pending[i].nr_messages || b->pending[i].doubtful))
			walk_push(&w, STEP_STILL, i, b->facts[i].addr, 0, 0);
	run(&w);
	for (size_t i = 0; i < b->nr; i++)
		if (b->pending[i].found != PROCESS_VANISHED) {
			finish(&w, &b->facts[i], &b->pending[i]);
			if (b->pending[i].queues_bad)
				b->pending[i].found = PROCESS_BAD;
		}
	vec_free(&w.now);
	vec_free(&w.next);
}
