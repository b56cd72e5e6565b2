/* SPDX-License-Identifier: BSD-2-Clause */
/* See leak_check.h. */
#include "cmd/record/leak_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/vm/allocators.h"
#include "beam/vm/resident.h"
#include "cmd/run/event_run.h"
#include "model/profile/leak_weights.h"
#include "probe/site/libc_sources.h"
#include "target/libc_memory.h"

#define CHECKED_AT_ONCE 512u /* two or three system calls each, every 50 ms */
#define NEW_AT_ONCE	2048u
#define MAPS_EVERY_NS	2000000000ull
#define MOST_CONTENTS	LEAK_MAX_BLOCKS

struct candidate {
	uint64_t address; /* the key; not 0 */
	uint64_t word;	  /* of libc_block_state() */
	uint64_t content; /* of the same, as first seen; 0 = not yet */
	uint64_t size;	  /* of a mapping, as far as it is still there */
	uint64_t ts_ns;	  /* when it was allocated */
	bool mapped;	  /* by mmap(): it is no block of malloc */
	bool known;	  /* its content needs no more checks */
	bool fresh;	  /* in `fresh` */
	bool queued;	  /* in `order` */
	bool freed;	  /* to be left out when its turn comes */
};

/* A content that was seen. */
struct content {
	uint64_t hash; /* the key */
};

struct leak_check {
	struct beam_node *node;
	struct live *live;
	bool glibc;
	struct keytab candidates, contents;
	VEC(uint64_t) fresh; /* addresses to be looked at as soon as possible */
	VEC(uint64_t) order; /* the addresses of all other candidates */
	size_t next;
	uint64_t start_ns, maps_ns;
	uint64_t end_ns;    /* later checks count as of then; 0 = not yet */
	uint64_t nr_mapped; /* mappings that were ever sampled */
	uint64_t resident;  /* malloc_resident() at start_ns */
};

#define UNKNOWN UINT64_MAX

/* Bytes of malloc's memory that are resident, as `mem` shows them; UNKNOWN. */
static uint64_t malloc_resident(struct beam_node *n)
{
	struct allocators a = {0};
	struct resident resident;
	struct error ignored;
	int rc = n->anchors.allocators ? allocators_read(&a, n, &ignored) : 0;

	rc = rc ? rc : resident_read(&resident, n, &a, &ignored);
	allocators_free(&a);
	return rc ? UNKNOWN : resident.part[RESIDENT_malloc];
}

/* The other witness, which no probe has part in. */
static void add_growth(struct leak_check *c)
{
	uint64_t now = malloc_resident(c->node), ns = clock_monotonic_ns() - c->start_ns;
	struct strbuf line = STRBUF_INIT;
	char sizes[2][32], time[32];

	if (c->resident == UNKNOWN || now == UNKNOWN || !ns)
		return;
	units_format_ns(ns, time, sizeof(time));
	if (now > c->resident) {
		units_format_bytes(now - c->resident, sizes[0], sizeof(sizes[0]));
		units_format_bytes((uint64_t)((double)(now - c->resident) / (double)ns * 1e9),
				   sizes[1], sizeof(sizes[1]));
		strbuf_addf(&line,
			    "resident memory of malloc grew by %s in %s, %s a second ('ebeam mem')",
			    sizes[0], time, sizes[1]);
	} else {
		strbuf_addf(&line, "resident memory of malloc did not grow in %s", time);
	}
	live_add_warning(c->live, line.buf);
	strbuf_free(&line);
}

struct leak_check *leak_check_open(struct beam_node *n, struct live *l)
{
	struct leak_check *c = xcalloc(1, sizeof(*c));

	c->node = n;
	c->live = l;
	c->glibc = libc_sources_is_glibc(n);
	c->start_ns = clock_monotonic_ns();
	c->resident = malloc_resident(n);
	c->candidates = (struct keytab)KEYTAB_INIT(struct candidate);
	c->contents = (struct keytab)KEYTAB_INIT(struct content);
	if (!c->glibc)
		live_add_warning(l, "the node's malloc is not that of glibc alone: what is freed "
				    "between sampling windows is not seen in memory either");
	return c;
}

void leak_check_close(struct leak_check *c)
{
	if (!c)
		return;
	keytab_free(&c->candidates);
	keytab_free(&c->contents);
	vec_free(&c->fresh);
	vec_free(&c->order);
	free(c);
}

/* What this file says of a block, and not the node. */
static bool is_own(const char *op)
{
	static const enum event_word own[] = {EVENT_WORD_GONE, EVENT_WORD_SHRUNK,
					      EVENT_WORD_CHANGED, EVENT_WORD_ALIKE};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strcmp(op, event_word_text(own[i])) == 0)
			return true;
	return false;
}

static void add_fresh(struct leak_check *c, struct candidate *b)
{
	if (!b->fresh)
		vec_push(&c->fresh, b->address);
	b->fresh = true;
}

/* cut: bytes of its start that are given back; EVENT_UNKNOWN = all. */
static void end_candidate(struct leak_check *c, struct candidate *b, uint64_t cut)
{
	struct candidate rest = *b;

	b->freed = true;
	if (cut == EVENT_UNKNOWN || cut >= b->size)
		return;
	rest.address += cut;
	rest.size -= cut;
	b = keytab_find(&c->candidates, rest.address);
	rest.queued = b && b->queued;
	rest.fresh = b && b->fresh;
	if (!b)
		b = keytab_add(&c->candidates, rest.address);
	*b = rest;
	add_fresh(c, b);
}

void leak_check_event(struct leak_check *c, const struct event *ev)
{
	uint64_t address = event_value(ev, EVENT_AT(LIBC_ALLOC, ADDRESS));
	struct candidate *b = address ? keytab_find(&c->candidates, address) : NULL;
	bool freed = event_value(ev, EVENT_AT(LIBC_ALLOC, STANDS_FOR)) == EVENT_UNKNOWN;
	const char *op;

	op = names_string(enrich_names(c->live->enrich),
			  event_value_id(ev, EVENT_AT(LIBC_ALLOC, OP)));
	if (freed) {
		if (b && op && !is_own(op))
			end_candidate(c, b, event_value(ev, EVENT_AT(LIBC_ALLOC, SIZE)));
		return;
	}
	if (!address || (!b && c->candidates.nr >= LEAK_MAX_BLOCKS))
		return;
	if (!b)
		b = keytab_add(&c->candidates, address);
	*b = (struct candidate){
		.address = address, .ts_ns = ev->ts_ns, .queued = b->queued, .fresh = b->fresh};
	add_fresh(c, b);
	b->mapped = op && strcmp(op, event_word_text(EVENT_WORD_MMAP)) == 0;
	b->size = event_value(ev, EVENT_AT(LIBC_ALLOC, SIZE));
	c->nr_mapped += b->mapped;
}

static void add_event(struct leak_check *c, enum event_word op, uint64_t address, uint64_t size)
{
	struct rec_raw_event ev = {
		.h = {.type = REC_RAW_EVENT,
		      .size = sizeof(ev),
		      .ts_ns = c->end_ns ? c->end_ns : clock_monotonic_ns()},
		.os_tid = (uint32_t)c->node->os_pid,
		.kind = EVENT_LIBC_ALLOC,
		.nr_values = 4,
		.values = {op, size, EVENT_UNKNOWN, address},
	};

	enrich_add_raw(c->live->enrich, &ev.h);
}

/* ---- mappings -------------------------------------------------------------------------------- */

/* Index of the first mapping that ends behind the address. */
static size_t map_behind(const struct proc_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bytes of the mapping that are still there; a part of it may have been unmapped. */
static uint64_t bytes_left(const struct proc_maps *maps, const struct candidate *b)
{
	uint64_t end = b->address + b->size, left = 0;

	for (size_t i = map_behind(maps, b->address); i < maps->len && maps->data[i].start < end;
	     i++)
		left += MIN(end, maps->data[i].end) - MAX(b->address, maps->data[i].start);
	return left;
}

static bool mapping_is_gone(struct leak_check *c, struct candidate *b, const struct proc_maps *maps)
{
	uint64_t left = maps ? bytes_left(maps, b) : b->size;

	if (left && left < b->size) {
		b->size = left;
		add_event(c, EVENT_WORD_SHRUNK, b->address, left);
	}
	return left == 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool seen_before(struct leak_check *c, uint64_t content)
{
	if (keytab_find(&c->contents, content) || c->contents.nr >= MOST_CONTENTS)
		return true; /* or not known, which is no proof of a leak */
	keytab_add(&c->contents, content);
	return false;
}

static void compare_content(struct leak_check *c, struct candidate *b, uint64_t content)
{
	bool first = !b->content;

	if (first)
		b->content = content;
	/* If it comes late, it may be the next owner's. */
	if (first && clock_monotonic_ns() - b->ts_ns <= LEAK_YOUNG_NS && !seen_before(c, content))
		return;
	if (!first && b->content == content)
		return;
	b->known = !first;
	add_event(c, first ? EVENT_WORD_ALIKE : EVENT_WORD_CHANGED, b->address, EVENT_UNKNOWN);
}

/* maps: of the process now, or NULL: mappings are not checked. */
static bool is_gone(struct leak_check *c, struct candidate *b, const struct proc_maps *maps)
{
	uint64_t content = 0;

	if ((b->mapped || !c->glibc) && !b->content)
		compare_content(c, b, 1); /* nothing distinguishes it */
	if (b->mapped)
		return mapping_is_gone(c, b, maps);
	if (!c->glibc)
		return false;
	if (libc_block_state(c->node->mem, b->address, &b->word, &content) != LIBC_BLOCK_USED)
		return true;
	if (!b->known && content)
		compare_content(c, b, content);
	return false;
}

/* Returns whether it is still to be followed. */
static bool check(struct leak_check *c, struct candidate *b, const struct proc_maps *maps)
{
	if (b->freed)
		return false;
	if (!is_gone(c, b, maps))
		return true;
	b->freed = true;
	session_libc_forget(c->live->session, b->address);
	add_event(c, EVENT_WORD_GONE, b->address, EVENT_UNKNOWN);
	return false;
}

/* Soon after they were allocated, so that what is in them is their first owner's. */
static void check_fresh(struct leak_check *c, size_t most)
{
	size_t nr = MIN(c->fresh.len, most);

	for (size_t i = 0; i < nr; i++) {
		struct candidate *b = keytab_find(&c->candidates, c->fresh.data[i]);
		bool stays = b && check(c, b, NULL);

		if (b)
			b->fresh = false;
		if (!b || b->queued)
			continue;
		if (stays) {
			b->queued = true;
			vec_push(&c->order, b->address);
		} else {
			keytab_remove(&c->candidates, b);
		}
	}
	c->fresh.len -= nr;
	memmove(c->fresh.data, c->fresh.data + nr, c->fresh.len * sizeof(*c->fresh.data));
}

/* Checks the block whose turn it is. */
static void check_next(struct leak_check *c, const struct proc_maps *maps)
{
	uint64_t address = c->order.data[c->next];
	struct candidate *b = keytab_find(&c->candidates, address);

	if (check(c, b, maps)) {
		c->next++;
		return;
	}
	c->order.data[c->next] = c->order.data[--c->order.len];
	keytab_remove(&c->candidates, b);
}

static void check_mappings(struct leak_check *c)
{
	struct proc_maps maps = {0};
	struct error ignored;

	c->maps_ns = clock_monotonic_ns();
	if (proc_maps_read(&maps, c->node->os_pid, &ignored) == 0 && maps.len) {
		struct candidate *b = NULL;

		while ((b = keytab_next(&c->candidates, b)))
			if (b->mapped)
				check(c, b, &maps);
	}
	proc_maps_free(&maps);
}

void leak_check_some(struct leak_check *c)
{
	check_fresh(c, NEW_AT_ONCE);
	for (size_t nr = MIN(c->order.len, CHECKED_AT_ONCE); nr > 0 && c->order.len; nr--) {
		if (c->next >= c->order.len)
			c->next = 0;
		check_next(c, NULL);
	}
	if (c->nr_mapped && clock_monotonic_ns() - c->maps_ns > MAPS_EVERY_NS)
		check_mappings(c);
}

size_t leak_check_nr(const struct leak_check *c)
{
	return c->candidates.nr;
}

void leak_check_stop(struct leak_check *c)
{
	c->end_ns = clock_monotonic_ns();
}

void leak_check_all(struct leak_check *c)
{
	struct proc_maps maps = {0};
	struct error ignored;
	bool read = proc_maps_read(&maps, c->node->os_pid, &ignored) == 0;

	/* If the node has exited there is nothing to check, and its blocks are as they were. */
	read = read && maps.len;
	if (read)
		check_fresh(c, SIZE_MAX);
	for (c->next = 0; read && c->next < c->order.len;)
		check_next(c, &maps);
	proc_maps_free(&maps);
	if (read)
		add_growth(c);
}
