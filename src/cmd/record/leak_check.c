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

struct candidate {
	uint64_t address; /* the key; not 0 */
	uint64_t word;	  /* of libc_block_state() */
	bool mapped;	  /* by mmap(): it is no block of malloc */
	bool freed;	  /* to be left out when its turn comes */
};

struct leak_check {
	struct beam_node *node;
	struct live *live;
	bool glibc;
	struct keytab candidates;
	VEC(uint64_t) order; /* the addresses of all candidates */
	size_t next;
	uint64_t start_ns;
	uint64_t resident; /* malloc_resident() at start_ns */
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
	vec_free(&c->order);
	free(c);
}

void leak_check_event(struct leak_check *c, const struct event *ev)
{
	uint64_t address = event_value(ev, EVENT_AT(LIBC_ALLOC, ADDRESS));
	struct candidate *b = address ? keytab_find(&c->candidates, address) : NULL;
	bool freed = event_value(ev, EVENT_AT(LIBC_ALLOC, STANDS_FOR)) == EVENT_UNKNOWN;
	const char *op;

	if (b)
		b->freed = true;
	if (!address || freed || (!b && c->candidates.nr >= LEAK_MAX_BLOCKS))
		return;
	op = names_string(enrich_names(c->live->enrich),
			  event_value_id(ev, EVENT_AT(LIBC_ALLOC, OP)));
	if (!b) {
		b = keytab_add(&c->candidates, address);
		vec_push(&c->order, address);
	}
	b->word = 0;
	b->mapped = op && strcmp(op, event_word_text(EVENT_WORD_MMAP)) == 0;
	b->freed = false;
}

static void add_gone(struct leak_check *c, uint64_t address)
{
	struct rec_raw_event ev = {
		.h = {.type = REC_RAW_EVENT, .size = sizeof(ev), .ts_ns = clock_monotonic_ns()},
		.os_tid = (uint32_t)c->node->os_pid,
		.kind = EVENT_LIBC_ALLOC,
		.nr_values = 4,
		.values = {EVENT_WORD_GONE, EVENT_UNKNOWN, EVENT_UNKNOWN, address},
	};

	enrich_add_raw(c->live->enrich, &ev.h);
}

/* maps: of the process now, or NULL: mappings are not checked. */
static bool is_gone(struct leak_check *c, struct candidate *b, const struct proc_maps *maps)
{
	if (b->mapped)
		return maps && !proc_maps_find(maps, b->address);
	return c->glibc && libc_block_state(c->node->mem, b->address, &b->word) != LIBC_BLOCK_USED;
}

/* Checks the block whose turn it is. */
static void check_next(struct leak_check *c, const struct proc_maps *maps)
{
	uint64_t address = c->order.data[c->next];
	struct candidate *b = keytab_find(&c->candidates, address);

	if (!b->freed && !is_gone(c, b, maps)) {
		c->next++;
		return;
	}
	c->order.data[c->next] = c->order.data[--c->order.len];
	if (!b->freed) {
		session_libc_forget(c->live->session, address);
		add_gone(c, address);
	}
	keytab_remove(&c->candidates, b);
}

void leak_check_some(struct leak_check *c)
{
	for (size_t nr = MIN(c->order.len, CHECKED_AT_ONCE); nr > 0 && c->order.len; nr--) {
		if (c->next >= c->order.len)
			c->next = 0;
		check_next(c, NULL);
	}
}

void leak_check_all(struct leak_check *c)
{
	struct proc_maps maps = {0};
	struct error ignored;
	bool read = proc_maps_read(&maps, c->node->os_pid, &ignored) == 0;

	/* If the node has exited there is nothing to check, and its blocks are as they were. */
	read = read && maps.len;
	for (c->next = 0; read && c->next < c->order.len;)
		check_next(c, &maps);
	proc_maps_free(&maps);
	if (read)
		add_growth(c);
}
