/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What hangs on processes: names, links, monitors, messages, dictionaries.  All processes of a
 * block are walked together: each step is one place to read, all steps of a level are read in
 * batches, and what they lead to is the next level.
 *
 * Trees and lists change while they are walked.  A node is taken only if it points back to where
 * the walk came from, so nothing is walked twice and no cycle holds it; what does not makes its
 * process PROCESS_BAD, which is read again.
 */
#include "beam/process_internal.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "beam/atoms.h"
#include "beam/process_message.h"

/* Bytes of one step. */
#define STEP_MAX 256u
/* Of all processes of a block together: so much hangs on a block of a million links each. */
#define LEVELS_MAX (1u << 22)
#define CHAIN_MAX  64 /* keys of one slot of a dictionary */

/* ErtsMonLnkNode, erl_monitor_link.h: type and flags are two fields up to OTP 27, later one. */
#define ML_TYPE_MASK	     0x1fu
#define ML_FLAGS_SHIFT	     7u
#define ML_FLG_TARGET	     (1u << 0)
#define ML_FLG_EXTENDED	     (1u << 4)
#define ML_FLG_SPAWN_PENDING (1u << 5)
#define ML_PARENT_FLAGS	     7ull

/* Types of monitors, the same file, OTP 25 to 29. */
enum {
	MON_PROC = 0,
	MON_PORT = 1,
	MON_TIME_OFFSET = 2,
	MON_DIST_PROC = 3,
	MON_DIST_PORT = 4,
	MON_RESOURCE = 5,
	MON_NODE = 6,
	MON_NODES = 7,
	MON_SUSPEND = 8,
	MON_ALIAS = 9,
};

/* ErtsMonitorData {origin, target, Eterm ref, u32 refc}, then what the kind of it takes. */
#define MONITOR_REF(m)	   (2u * (m))
#define MONITOR_REFC(m)	   (2u * (m) + 8)
#define MONITOR_DATA(m)	   (2u * (m) + 16)
#define MONITOR_HEAP_WORDS 4u  /* ErtsMonitorDataHeap: an internal reference of the largest kind */
#define MONITOR_SUSPEND	   16u /* ErtsMonitorSuspend: next, state */
#define MONITOR_EXTENDED   24u /* ErtsMonitorDataExtended: u, uptr, dist; then a heap */
/* ErtsELink {ErtsLink proc, dist; u32 refc; three words; Eterm heap[1]}. */
#define ELINK_REFC(l) (2u * (l))
#define ELINK_HEAP(l) (2u * (l) + 32)
#define ELINK_SIZE(l) (2u * (l) + 40)

/* ProcDict, erl_process_dict.h: u32 sizeMask, usedSlots, arraySize, splitPosition; Uint
 * numElements; Eterm data[]; at first there are 10 of those. */
#define DICTIONARY_DATA	   24u
#define DICTIONARY_INITIAL 10u
#define HEADER_TUPLE_2	   (2ull << 6)
#define HEADER_TUPLE_3	   (3ull << 6)
#define NIL		   0x3bull

/* ErtsPSD.data[]: erl_process.h; struct saved_calls {int len, n, cur; const Export *ct[1]}. */
#define PSD_SAVED_CALLS	 8u
#define SAVED_CALLS_SIZE 24u

enum step_kind {
	STEP_REGISTERED,
	STEP_LINK,
	STEP_MONITOR,
	STEP_LT_MONITOR,
	STEP_DICTIONARY,
	STEP_SLOT,
	STEP_PAIR, /* a {Key, Value} */
	STEP_CELL, /* a cons of those */
	STEP_CALL, /* a {Module, Function, Arity} */
	STEP_PSD,
	STEP_SAVED_CALLS,
	STEP_MESSAGE,
	STEP_FRAGMENT,
};

struct step {
	raddr addr;
	raddr from; /* what must point here; of a slot or pair: the key */
	uint32_t process;
	uint16_t kind;
	uint16_t depth; /* of a chain */
};

struct walk {
	struct process_reader *r;
	struct process_block *b;
	VEC(struct step) now, next;
};

static void push(struct walk *w, enum step_kind kind, uint32_t process, raddr addr, raddr from,
		 unsigned int depth)
{
	struct step s = {addr, from, process, (uint16_t)kind, (uint16_t)depth};

	vec_push(&w->next, s);
}

static void bad(struct walk *w, const struct step *s)
{
	w->b->pending[s->process].found = PROCESS_BAD;
}

/* ---- links and monitors ------------------------------------------------------------------- */

static uint64_t thing_words(const struct walk *w, uint64_t term)
{
	uint64_t header;

	if ((term & 3) != 2 || mem_read_u64(w->r->mem, term & ~7ull, &header) != 0 ||
	    (header & 3) != 0)
		return 0;
	return (header >> 6 & 0xff) + 1; /* none is larger than a reference */
}

static void push_children(struct walk *w, const struct step *s, const uint8_t *node, int32_t parent,
			  int32_t left, int32_t right)
{
	raddr l = process_u64(node, left), r = process_u64(node, right);

	if ((process_u64(node, parent) & ~ML_PARENT_FLAGS) != s->from) {
		bad(w, s);
		return;
	}
	if (l)
		push(w, s->kind, s->process, l, s->addr, 0);
	if (r)
		push(w, s->kind, s->process, r, s->addr, 0);
}

static void type_and_flags(const uint8_t *node, int32_t type_at, int32_t flags_at, uint32_t *type,
			   uint32_t *flags)
{
	if (type_at != LAYOUT_ABSENT) {
		*type = process_u16(node, type_at);
		*flags = process_u16(node, flags_at);
		return;
	}
	*type = process_u32(node, flags_at) & ML_TYPE_MASK;
	*flags = process_u32(node, flags_at) >> ML_FLAGS_SHIFT;
}

/* erts_link_size() of a link to another node: half of what both its ends share. */
static uint64_t extended_link_bytes(const struct walk *w, const struct step *s, uint16_t offset)
{
	uint32_t size = (uint32_t)w->r->l->link_size, refc;
	uint8_t bytes[STEP_MAX];

	if (mem_read(w->r->mem, s->addr - offset, bytes, ELINK_SIZE(size)) != 0)
		return 0;
	refc = process_u32(bytes, (int32_t)ELINK_REFC(size));
	return (ELINK_SIZE(size) +
		8 * (process_u64(bytes, (int32_t)ELINK_HEAP(size)) >> 6 & 0xff)) /
	       (refc == 2 ? 2 : 1);
}

/* collect_one_link() of erl_bif_info.c: links that are being taken down do not count, but take
 * their memory (ErtsILink {ErtsLink link; Uint64 unlinking}). */
static void take_link(struct walk *w, const struct step *s, const uint8_t *node)
{
	const struct beam_layout *l = w->r->l;
	struct process_facts *p = &w->b->facts[s->process];
	uint32_t type, flags;

	type_and_flags(node, l->link_type, l->link_flags, &type, &flags);
	if (flags & ML_FLG_EXTENDED) {
		p->nr_links++;
		p->memory += extended_link_bytes(w, s, process_u16(node, l->link_offset));
	} else {
		p->nr_links += process_u64(node, l->link_size) == 0;
		p->memory += (uint64_t)l->link_size;
	}
	push_children(w, s, node, l->link_parent, l->link_left, l->link_right);
}

/* erts_monitor_size(), erl_monitor_link.c of OTP 25 to 29: `data` is an ErtsMonitorData. */
static uint64_t monitor_bytes(const struct walk *w, const uint8_t *data, uint32_t type,
			      uint32_t flags)
{
	const struct beam_layout *l = w->r->l;
	uint32_t m = (uint32_t)l->monitor_size, refc = process_u32(data, (int32_t)MONITOR_REFC(m));
	uint64_t size = MONITOR_DATA(m), words = 0;

	if (type == MON_SUSPEND) {
		size += MONITOR_SUSPEND;
	} else if (type != MON_ALIAS && !(flags & ML_FLG_EXTENDED)) {
		size += 8 * MONITOR_HEAP_WORDS;
	} else if (type != MON_ALIAS) {
		if (type != MON_NODE && type != MON_NODES)
			words = thing_words(w, process_u64(data, (int32_t)MONITOR_REF(m)));
		if (type == MON_DIST_PROC || type == MON_DIST_PORT)
			words += thing_words(w, process_u64(data, l->monitor_item)) +
				 thing_words(w, process_u64(data + m, l->monitor_item));
		size += MONITOR_EXTENDED + 8 * words;
	}
	return size / (refc == 2 ? 2 : 1);
}

/* collect_one_origin_monitor() and collect_one_target_monitor() of erl_bif_info.c. */
static void count_monitor(struct process_facts *p, uint32_t type, uint32_t flags)
{
	bool target = flags & ML_FLG_TARGET;

	switch (type) {
	case MON_PROC:
	case MON_PORT:
	case MON_DIST_PROC:
	case MON_TIME_OFFSET:
		if (!target)
			p->nr_monitors += !(flags & ML_FLG_SPAWN_PENDING);
		else if (type != MON_TIME_OFFSET)
			p->nr_monitored_by++;
		break;
	case MON_RESOURCE:
		p->nr_monitored_by += target;
		break;
	default:
		break;
	}
}

/* `around` holds the monitor with what stands one monitor before it and the rest behind it. */
static void take_monitor(struct walk *w, const struct step *s, const uint8_t *around)
{
	const struct beam_layout *l = w->r->l;
	const uint8_t *node = around + l->monitor_size;
	struct process_facts *p = &w->b->facts[s->process];
	uint16_t offset = process_u16(node, l->monitor_offset);
	uint32_t type, flags;
	raddr next;

	type_and_flags(node, l->monitor_type, l->monitor_flags, &type, &flags);
	if ((offset != 0 && offset != l->monitor_size) || type > MON_ALIAS) {
		bad(w, s);
		return;
	}
	count_monitor(p, type, flags);
	if (w->r->what & PROCESS_READ_MEMORY)
		p->memory += monitor_bytes(w, node - offset, type, flags);
	if (s->kind == STEP_MONITOR) {
		push_children(w, s, node, l->monitor_parent, l->monitor_left, l->monitor_right);
		return;
	}
	/* A ring: {next, prev}. */
	next = process_u64(node, l->monitor_list_next);
	if (s->from && process_u64(node, l->monitor_list_next + 8) != s->from)
		bad(w, s);
	else if (next != p->lt_monitors)
		push(w, STEP_LT_MONITOR, s->process, next, s->addr, 0);
}

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
	if (key == w->r->key_initial_call && (value & 3) == 2)
		push(w, STEP_CALL, s->process, value & ~7ull, 0, 0);
}

/* The arity is a small integer there (proc_lib.erl). */
static void take_call(struct process_facts *p, const uint8_t *tuple)
{
	uint64_t arity = process_u64(tuple, 24);

	if (process_u64(tuple, 0) != HEADER_TUPLE_3 || !TERM_IS_ATOM(process_u64(tuple, 8)) ||
	    !TERM_IS_ATOM(process_u64(tuple, 16)) || (arity & 0xf) != 0xf || arity >> 4 > 255)
		return;
	p->proc_lib_call[0] = process_u64(tuple, 8);
	p->proc_lib_call[1] = process_u64(tuple, 16);
	p->proc_lib_call[2] = arity >> 4;
}

/* nil, a {Key, Value}, or a list of those */
static void push_chain(struct walk *w, const struct step *s, uint64_t term, uint64_t key,
		       unsigned int depth)
{
	if (term == NIL)
		return;
	if ((term & 3) == 2)
		push(w, STEP_PAIR, s->process, term & ~7ull, key, depth);
	else if ((term & 3) == 1 && depth < CHAIN_MAX)
		push(w, STEP_CELL, s->process, term & ~7ull, key, depth);
	else
		bad(w, s);
}

/* As pd_hash_get() finds it: an atom hashes to its index. */
static void look_up(struct walk *w, const struct step *s, const uint8_t *dictionary, uint64_t key)
{
	uint32_t mask = process_u32(dictionary, 0), used = process_u32(dictionary, 4), i;

	if (!key)
		return;
	i = (uint32_t)(key >> 6) & mask;
	if (i >= used)
		i &= mask >> 1;
	if (i < DICTIONARY_INITIAL)
		push_chain(w, s, process_u64(dictionary, (int32_t)(DICTIONARY_DATA + 8 * i)), key,
			   0);
	else
		push(w, STEP_SLOT, s->process, s->addr + DICTIONARY_DATA + 8 * (raddr)i, key, 0);
}

static void take_dictionary(struct walk *w, const struct step *s, const uint8_t *bytes)
{
	uint32_t mask = process_u32(bytes, 0), used = process_u32(bytes, 4),
		 size = process_u32(bytes, 8);

	if ((mask & (mask + 1)) != 0 || used > size || size > 1u << 31) {
		bad(w, s);
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
	if (process_u64(tuple, 0) != HEADER_TUPLE_2)
		bad(w, s);
	else if (process_u64(tuple, 8) == s->from)
		take_value(w, s, s->from, process_u64(tuple, 16));
}

static void take_cell(struct walk *w, const struct step *s, const uint8_t *cell)
{
	uint64_t head = process_u64(cell, 0);

	if ((head & 3) != 2) {
		bad(w, s);
		return;
	}
	push(w, STEP_PAIR, s->process, head & ~7ull, s->from, s->depth);
	push_chain(w, s, process_u64(cell, 8), s->from, s->depth + 1u);
}

/* ---- the steps ---------------------------------------------------------------------------- */

/* Bytes of a step; *before are those that stand before its address. */
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
		return *before + MONITOR_DATA((size_t)l->monitor_size);
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
	}
	return 8;
}

static void take_message(struct walk *w, const struct step *s, const uint8_t *message)
{
	struct process_pending *q = &w->b->pending[s->process];
	raddr next = process_u64(message, w->r->l->message_next), fragment;

	fragment = process_take_message(w->r, &w->b->facts[s->process], q, message);
	if (fragment)
		push(w, STEP_FRAGMENT, s->process, fragment, 0, 0);
	if (next && s->depth < UINT16_MAX)
		push(w, STEP_MESSAGE, s->process, next, 0, s->depth + 1u);
	else if (next)
		bad(w, s);
}

static void take_fragment(struct walk *w, const struct step *s, const uint8_t *fragment)
{
	raddr next = process_u64(fragment, w->r->l->heap_frag_next);

	w->b->pending[s->process].message_words +=
		process_u64(fragment, w->r->l->heap_frag_used_size);
	if (next && s->depth < UINT16_MAX)
		push(w, STEP_FRAGMENT, s->process, next, 0, s->depth + 1u);
}

static void take_step(struct walk *w, const struct step *s, const uint8_t *bytes)
{
	const struct beam_layout *l = w->r->l;
	struct process_facts *p = &w->b->facts[s->process];
	uint64_t name;

	switch ((enum step_kind)s->kind) {
	case STEP_REGISTERED:
		name = process_u64(bytes, l->regproc_name);
		if (process_u64(bytes, l->regproc_p) == p->addr && TERM_IS_ATOM(name))
			p->registered = name;
		else
			bad(w, s);
		break;
	case STEP_LINK:
		take_link(w, s, bytes);
		break;
	case STEP_MONITOR:
	case STEP_LT_MONITOR:
		take_monitor(w, s, bytes);
		break;
	case STEP_DICTIONARY:
		take_dictionary(w, s, bytes);
		break;
	case STEP_SLOT:
		push_chain(w, s, process_u64(bytes, 0), s->from, 0);
		break;
	case STEP_PAIR:
		take_pair(w, s, bytes);
		break;
	case STEP_CELL:
		take_cell(w, s, bytes);
		break;
	case STEP_CALL:
		take_call(p, bytes);
		break;
	case STEP_PSD:
		if (process_u64(bytes, PSD_SAVED_CALLS))
			push(w, STEP_SAVED_CALLS, s->process, process_u64(bytes, PSD_SAVED_CALLS),
			     0, 0);
		break;
	case STEP_SAVED_CALLS:
		p->memory += SAVED_CALLS_SIZE + 8ull * (process_u32(bytes, 0) & 0xffffff) - 8;
		break;
	case STEP_MESSAGE:
		take_message(w, s, bytes);
		break;
	case STEP_FRAGMENT:
		take_fragment(w, s, bytes);
		break;
	}
}

/* What could not be read with what stands around it may stand at the edge of a mapping. */
static bool read_alone(struct walk *w, const struct step *s, uint8_t *bytes, size_t before,
		       size_t size)
{
	uint16_t offset;
	size_t m = (size_t)w->r->l->monitor_size;

	if (!before || mem_read(w->r->mem, s->addr, bytes + before, m) != 0)
		return false;
	memset(bytes, 0, before);
	memset(bytes + before + m, 0, size - before - m);
	offset = process_u16(bytes + before, w->r->l->monitor_offset);
	if (offset != 0 && offset != m)
		return false;
	return mem_read(w->r->mem, s->addr - offset, bytes + before - offset, MONITOR_DATA(m)) == 0;
}

static void run_batch(struct walk *w, const struct step *steps, size_t nr)
{
	struct process_reader *r = w->r;
	size_t befores[PROCESS_BATCH];

	for (size_t i = 0; i < nr; i++) {
		size_t size = step_size(w, &steps[i], &befores[i]);

		r->ranges[i] = (struct mem_range){.addr = steps[i].addr - befores[i],
						  .buf = r->bytes + i * STEP_MAX,
						  .size = size};
	}
	mem_readv(r->mem, r->ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct mem_range *range = &r->ranges[i];

		if (w->b->pending[steps[i].process].found != PROCESS_FOUND)
			continue;
		if (range->err && !read_alone(w, &steps[i], range->buf, befores[i], range->size))
			bad(w, &steps[i]);
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
		bad(w, &w->next.data[i]);
}

/* What is asked for of one process: the first level. */
static void begin(struct walk *w, uint32_t i)
{
	const struct process_facts *p = &w->b->facts[i];
	struct process_pending *q = &w->b->pending[i];
	unsigned int what = w->r->what;

	/* Up to the last moment of an exit its parts are taken down one by one. */
	if (p->state & PROCESS_STATE_EXITING)
		return;
	if (q->reg)
		push(w, STEP_REGISTERED, i, q->reg, 0, 0);
	if (what & (PROCESS_READ_COUNTS | PROCESS_READ_MEMORY)) {
		if (p->links)
			push(w, STEP_LINK, i, p->links, 0, 0);
		if (p->monitors)
			push(w, STEP_MONITOR, i, p->monitors, 0, 0);
		if (p->lt_monitors)
			push(w, STEP_LT_MONITOR, i, p->lt_monitors, 0, 0);
	}
	if ((what & (PROCESS_READ_DICTIONARY | PROCESS_READ_MEMORY)) && p->dictionary)
		push(w, STEP_DICTIONARY, i, p->dictionary, 0, 0);
	if (!(what & PROCESS_READ_MEMORY))
		return;
	if (p->psd)
		push(w, STEP_PSD, i, p->psd, 0, 0);
	if (p->message_queue_len > PROCESS_LONG_QUEUE) {
		if (process_read_messages(w->r, &w->b->facts[i], q) != 0)
			q->found = PROCESS_BAD;
		return;
	}
	for (size_t k = 0; k < ARRAY_SIZE(q->queues); k++)
		if (q->queues[k])
			push(w, STEP_MESSAGE, i, q->queues[k], 0, 0);
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
	for (size_t i = 0; i < b->nr; i++)
		if (b->pending[i].found != PROCESS_VANISHED)
			finish(&w, &b->facts[i], &b->pending[i]);
	vec_free(&w.now);
	vec_free(&w.next);
}
