/* SPDX-License-Identifier: BSD-2-Clause */
/* See mem_holders.h.  Blocks are found by addresses in them: of heaps, heap fragments, binaries,
 * and what ETS tables consist of. */
#include "cmd/inspect/mem_holders.h"

#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/strbuf.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/off_heap.h"
#include "beam/process/signals.h"
#include "beam/term/atoms.h"
#include "beam/vm/ets.h"
#include "beam/vm/ets_objects.h"
#include "cmd/inspect/process_source.h"
#include "names/names.h"

/* More objects of a table are not looked at. */
#define OBJECTS_MAX 5000000u
/* An allocator with less unused in its carriers is not worth a search: bytes. */
#define SEARCH_LEAST (1u << 20)
/* Processes that begin with this are distinguished by their current function. */
#define ANY_CALL "erlang:apply/2"

struct search {
	struct mem_holders *h;
	struct beam_node *n;
	struct process_source source;
	struct idmap row_of; /* of rows that are no `other` */
	VEC(struct sparse_sum) sums;
	VEC(uint64_t) last;   /* by row: the process or table that was counted last */
	VEC(uint32_t) others; /* rows of what nobody was found for */
	/* In which allocators holders are looked for: of heaps, binaries, tables, structs. */
	bool heaps, binaries, tables, structs;
	/* The holder that is being read: rows are made when it is found to have a block. */
	const struct process_facts *process;
	const struct ets_table *table;
	struct strbuf name; /* empty = not looked up yet */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static bool row_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct carriers_holder *r = (const struct carriers_holder *)ctx + id, *want = key;

	return r->allocator == want->allocator && r->kind == want->kind &&
	       strcmp(r->holder, want->holder) == 0;
}

static uint32_t add_row(struct search *s, const struct carriers_holder *row)
{
	vec_push(&s->h->rows, *row);
	vec_push(&s->sums, (struct sparse_sum){0});
	vec_push(&s->last, 0);
	return (uint32_t)s->h->rows.len - 1;
}

/* Those that have no name and began with a fun by what they do now. */
static void add_process_name(struct search *s)
{
	struct process_facts p = *s->process;
	struct process_strings *strings = &s->source.strings;
	struct process_row row;
	const char *name;

	p.label = 0; /* may be another one for each process */
	process_source_row(&s->source, &p, NULL, &row);
	name = process_row_name(&row) ? process_strings_get(strings, process_row_name(&row))->text
				      : "process";
	strbuf_addstr(&s->name, name);
	if (row.function && strcmp(name, ANY_CALL) == 0)
		strbuf_addf(&s->name, " in %s", process_strings_get(strings, row.function)->text);
}

static void add_table_name(struct search *s)
{
	const char *name;
	size_t len;

	name = beam_atom_text(s->n->atoms, s->table->name, &len);
	if (name && len)
		names_format_module(&s->name, name, len);
	else
		strbuf_addstr(&s->name, "table");
}

/* Row of the holder that is being read, for blocks of this allocator; IDMAP_NONE: too many. */
static uint32_t find_row(struct search *s, const struct allocator *owner)
{
	struct carriers_holder new = {.allocator = owner->type,
				      .kind = s->process ? "process" : "table"};
	uint32_t hash, row;

	if (!s->name.len && s->process)
		add_process_name(s);
	else if (!s->name.len)
		add_table_name(s);
	new.holder = s->name.buf;
	hash = hash_mix(hash_bytes(s->name.buf, s->name.len), (uintptr_t) new.allocator);
	hash = hash_mix(hash, new.kind[0]);
	row = idmap_find(&s->row_of, hash, row_equal, s->h->rows.data, &new);
	if (row != IDMAP_NONE || s->h->rows.len >= SPARSE_HOLDERS_MAX)
		return row;
	new.holder = arena_strndup(&s->h->texts, s->name.buf, s->name.len);
	row = add_row(s, &new);
	idmap_add(&s->row_of, hash, row);
	return row;
}

static void take(void *arg, raddr at)
{
	struct search *s = arg;
	uint64_t who = s->process ? s->process->epid : s->table->addr;
	struct sparse_place place;
	uint32_t row;

	if (!at || !sparse_find(&s->h->carriers, at, &place))
		return;
	row = find_row(s, place.carrier->owner);
	if (row == IDMAP_NONE)
		return;
	sparse_hold(&s->h->carriers, &place, row, &s->sums.data[row]);
	s->h->rows.data[row].holders += s->last.data[row] != who;
	s->last.data[row] = who;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void take_fragments(struct search *s, raddr first)
{
	struct heap_fragments f = heap_fragments_of(s->n, process_source_cache(&s->source), first);

	while (heap_fragments_next(&f))
		take(s, f.start);
	s->h->cut |= f.cut;
	s->h->unreadable += f.unreadable;
}

static int take_message(void *arg, const struct signal_message *m)
{
	struct search *s = arg;

	take(s, m->addr);
	if (m->fragment)
		take_fragments(s, m->fragment);
	return 0;
}

static void take_received(struct search *s)
{
	struct signal_counts counts = {0};

	if (signals_walk_received(s->n, process_source_cache(&s->source), s->process->msg_frag,
				  take_message, s, &counts) != 0 ||
	    counts.unreadable)
		s->h->unreadable++;
	s->h->cut |= counts.cut;
}

static void take_memory(struct search *s)
{
	const struct process_facts *p = s->process;
	struct signal_counts counts = {0};

	take(s, p->addr);
	take(s, p->heap);
	take(s, p->old_heap);
	take(s, p->abandoned_heap);
	take_fragments(s, p->mbuf);
	if (p->msg_frag)
		take_received(s);
	if (p->message_queue_len == 0)
		return;
	if (signals_walk(s->n, process_source_cache(&s->source), p->addr, take_message, s,
			 &counts) != 0 ||
	    counts.moved || counts.unreadable)
		s->h->unreadable++;
	s->h->cut |= counts.cut;
}

static void take_binaries(struct search *s, struct off_heap *o)
{
	for (size_t i = 0; i < o->binaries.len; i++)
		take(s, o->binaries.data[i].addr);
	for (size_t i = 0; i < o->magic.len; i++)
		take(s, o->magic.data[i]);
	s->h->unreadable += o->unreadable;
	s->h->cut |= o->cut;
	off_heap_free(o);
}

static int take_processes(void *arg, struct process_facts *block, size_t nr)
{
	struct search *s = arg;

	for (size_t i = 0; i < nr; i++) {
		struct off_heap o = {.keep_places = true};

		s->process = &block[i];
		strbuf_reset(&s->name);
		if (s->heaps || s->structs)
			take_memory(s);
		if (!s->binaries)
			continue;
		off_heap_add_all(s->n, process_source_cache(&s->source), s->process, &o);
		take_binaries(s, &o);
	}
	s->process = NULL;
	return 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct listing {
	struct search *s;
	struct off_heap binaries;
};

static void add_list(void *arg, raddr first, const uint64_t *words, size_t nr)
{
	struct listing *l = arg;

	UNUSED(words);
	UNUSED(nr);
	off_heap_add(l->s->n, l->s->n->mem, first, false, &l->binaries);
}

static int take_table(struct search *s, const struct ets_table *t)
{
	struct listing l = {.s = s, .binaries = {.keep_places = true, .unaligned = t->compressed}};
	int rc = 0;

	s->table = t;
	strbuf_reset(&s->name);
	if (s->tables)
		rc = ets_memory_walk(s->n, t, OBJECTS_MAX, take, s, &s->h->unreadable, &s->h->cut);
	if (rc || !s->binaries)
		return rc;
	rc = ets_off_heap_walk(s->n, t, add_list, &l, &s->h->unreadable);
	take_binaries(s, &l.binaries);
	return rc;
}

static int take_tables(struct search *s, struct error *err)
{
	struct ets_list list = {0};
	int rc;

	if (!s->n->anchors.sched || !(s->tables || s->binaries))
		return 0;
	rc = ets_read(s->n, &list, err);
	for (size_t i = 0; !rc && i < list.len; i++)
		/* What was read of a table that is gone is what can be known of it. */
		s->h->unreadable += take_table(s, &list.data[i]) != 0;
	ets_list_free(&list);
	return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What nobody was found for, a row for each allocator. */
static void add_rest(struct search *s)
{
	for (size_t i = 0; i < s->h->carriers.v.len; i++) {
		struct sparse_carrier *c = &s->h->carriers.v.data[i];
		const struct carriers_holder new = {.allocator = c->owner->type, .kind = "other"};
		size_t k = 0;
		uint32_t row;

		if (c->held == c->nr)
			continue;
		while (k < s->others.len &&
		       s->h->rows.data[s->others.data[k]].allocator != new.allocator)
			k++;
		if (k == s->others.len)
			vec_push(&s->others, add_row(s, &new));
		row = s->others.data[k];
		sparse_rest(&s->h->carriers, c, row, &s->sums.data[row]);
	}
}

static bool is_worth(const struct search *s, const char *type)
{
	uint64_t unused = 0;

	for (size_t i = 0; i < s->h->carriers.v.len; i++) {
		const struct sparse_carrier *c = &s->h->carriers.v.data[i];

		if (strcmp(c->owner->type, type) == 0)
			unused += c->size - c->blocks_size;
	}
	return unused >= SEARCH_LEAST;
}

static int scan_processes(struct search *s, struct error *err)
{
	struct process_totals totals;
	char warning[256];
	int rc;

	if (!s->heaps && !s->binaries && !s->structs)
		return 0;
	rc = process_source_open(&s->source, s->n,
				 PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL | PROCESS_NEEDS_INITIAL |
					 PROCESS_NEEDS_FUNCTION,
				 warning, sizeof(warning), err);
	if (rc)
		return rc;
	rc = process_source_scan(&s->source, take_processes, s, &totals, err);
	process_source_close(&s->source);
	return rc;
}

static void sum_up(struct search *s)
{
	add_rest(s);
	if (s->sums.len)
		sparse_sums(&s->h->carriers, s->sums.data, s->sums.len);
	for (size_t i = 0; i < s->sums.len; i++) {
		const struct sparse_sum *sum = &s->sums.data[i];
		struct carriers_holder *r = &s->h->rows.data[i];

		r->in = (struct carriers_sum){sum->carriers, sum->size, sum->unused};
		r->alone = sum->alone;
		r->blocks = sum->blocks;
		r->blocks_size = sum->blocks_size;
	}
}

void mem_holders_find(struct mem_holders *h, struct beam_node *n)
{
	struct search s = {.h = h, .n = n, .name = STRBUF_INIT};
	struct error err = {.msg = ""};

	s.heaps = is_worth(&s, "eheap_alloc");
	s.binaries = is_worth(&s, "binary_alloc");
	s.tables = is_worth(&s, "ets_alloc");
	s.structs = is_worth(&s, "fix_alloc");
	if (scan_processes(&s, &err) != 0)
		snprintf(h->why, sizeof(h->why), "%.150s", err.msg);
	if (take_tables(&s, &err) != 0)
		snprintf(h->why, sizeof(h->why), "%.150s", err.msg);
	sum_up(&s);
	idmap_free(&s.row_of);
	vec_free(&s.sums);
	vec_free(&s.last);
	vec_free(&s.others);
	strbuf_free(&s.name);
}

void mem_holders_free(struct mem_holders *h)
{
	sparse_free(&h->carriers);
	vec_free(&h->rows);
	arena_free(&h->texts);
}
