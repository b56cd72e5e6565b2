/* SPDX-License-Identifier: BSD-2-Clause */
/* See lock_places.h. */
#include "beam/vm/lock_places.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/term/atoms.h"
#include "beam/vm/allocators.h"
#include "beam/vm/ets.h"
#include "beam/vm/ports.h"

/* Least pause between two readings of all places, and how many times longer than a reading. */
#define REREAD_NS   2000000000ull
#define REREAD_REST 20u
/* sizeof(erts_rwmtx_t), sizeof(erts_mtx_t), and the slot of a lock of a hash table
 * (DbTableHashFineLockSlot, two cache lines).  Builds that count locks have a reference to the
 * counters at the end of the first two. */
#define RWMTX_SIZE   80u
#define MTX_SIZE     40u
#define SLOT_SIZE    128u
#define COUNTER_SIZE 8u
#define MAX_LOCKS    65536u /* of a table; the VM allows 32768 */

struct lock_places {
	struct beam_node *n;
	VEC(struct lock_place) v; /* by start; none lies in another */
	uint64_t read_ns;	  /* when; 0 = not yet */
	uint64_t took_ns;
	struct lock_place variable; /* of the emulator, that was asked for last */
};

struct lock_places *lock_places_open(struct beam_node *n)
{
	struct lock_places *l = xcalloc(1, sizeof(*l));

	l->n = n;
	return l;
}

void lock_places_close(struct lock_places *l)
{
	if (!l)
		return;
	vec_free(&l->v);
	free(l);
}

static uint64_t lock_size(const struct lock_places *l, uint64_t size)
{
	return size + (l->n->identity.lock_counting ? COUNTER_SIZE : 0);
}

static void add(struct lock_places *l, raddr start, uint64_t size, enum lock_class lock_class,
		const char *name)
{
	struct lock_place p = {.start = start, .end = start + size, .lock_class = lock_class};

	if (!start || p.end < start)
		return;
	snprintf(p.name, sizeof(p.name), "%s", name);
	vec_push(&l->v, p);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void lock_place_of_table(const struct beam_node *n, const struct ets_table *t, char *buf,
			 size_t size)
{
	size_t len = 0;
	const char *name = beam_atom_text(n->atoms, t->name, &len);
	char id[64];

	/* Only a named table is told by its name. */
	snprintf(buf, size, "ets table %s%s%s", name ? name : "", t->named ? "" : " ",
		 t->named ? "" : ets_id_format(t, id, sizeof(id)));
}

static void add_tables(struct lock_places *l)
{
	const struct beam_layout *o = &l->n->layout;
	struct ets_list list;
	struct error why;
	char name[LOCK_NAME_SIZE];

	if (o->ets_rwlock < 0 || o->ets_fixlock < 0 || ets_read(l->n, &list, &why)) {
		log_debug("locks of ETS tables have no names");
		return;
	}
	for (size_t i = 0; i < list.len; i++) {
		const struct ets_table *t = &list.data[i];
		uint64_t locks = 0;

		lock_place_of_table(l->n, t, name, sizeof(name));
		add(l, t->addr + (raddr)o->ets_rwlock, lock_size(l, RWMTX_SIZE), LOCK_CLASS_ETS,
		    name);
		add(l, t->addr + (raddr)o->ets_fixlock, lock_size(l, MTX_SIZE), LOCK_CLASS_ETS,
		    name);
		if (t->store == ETS_STORE_HASH && t->nr_locks && t->nr_locks <= MAX_LOCKS &&
		    o->ets_hash_locks >= 0 &&
		    mem_read_u64(l->n->mem, t->addr + (raddr)o->ets_hash_locks, &locks) == 0)
			add(l, locks, (uint64_t)t->nr_locks * SLOT_SIZE, LOCK_CLASS_ETS, name);
	}
	ets_list_free(&list);
}

/* ---- ports, allocators, variables ------------------------------------------------------------ */

static void add_ports(struct lock_places *l)
{
	int32_t at = l->n->layout.port_lock;
	struct port_list list;
	struct error why;
	char name[LOCK_NAME_SIZE];

	if (at < 0 || ports_read(l->n, &list, &why)) {
		log_debug("locks of ports have no names");
		return;
	}
	for (size_t i = 0; i < list.len; i++) {
		const struct port_facts *p = &list.data[i];
		uint64_t lock = 0;

		/* Without a lock of its own a port has that of its driver. */
		if (mem_read_u64(l->n->mem, p->addr + (raddr)at, &lock))
			continue;
		if (p->state & PORT_STATE_PORT_SPECIFIC_LOCK)
			snprintf(name, sizeof(name), "port #Port<0.%" PRIu64 "> %s", p->number,
				 p->driver);
		else
			snprintf(name, sizeof(name), "driver %s", p->driver);
		add(l, lock, lock_size(l, MTX_SIZE), LOCK_CLASS_PORT, name);
	}
	port_list_free(&list);
}

static void add_allocators(struct lock_places *l)
{
	int32_t at = l->n->layout.allctr_mutex;
	struct allocators all = {0};
	struct error why;
	char name[LOCK_NAME_SIZE];

	if (at < 0 || allocators_read(&all, l->n, &why)) {
		log_debug("locks of allocators have no names");
		return;
	}
	for (size_t i = 0; i < all.v.len; i++) {
		const struct allocator *a = &all.v.data[i];

		snprintf(name, sizeof(name), "%s %" PRIu32, a->type, a->instance);
		add(l, a->address + (raddr)at, lock_size(l, MTX_SIZE), LOCK_CLASS_ALLOCATOR, name);
	}
	allocators_free(&all);
}

/* Is it a variable of the emulator?  Locks of tables, ports and allocators may be in there, too. */
static bool is_in_section(const struct lock_places *l, const char *section, raddr addr)
{
	const struct elf_section *s = l->n->elf ? elf_file_section(l->n->elf, section) : NULL;

	return s && addr - (l->n->bias + s->addr) < s->size;
}

/* ---- look-up --------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct lock_place *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void read_all(struct lock_places *l)
{
	uint64_t began_ns = clock_monotonic_ns();

	l->v.len = 0;
	add_tables(l);
	add_ports(l);
	add_allocators(l);
	if (l->v.len)
		qsort(l->v.data, l->v.len, sizeof(*l->v.data), by_start);
	l->read_ns = clock_monotonic_ns();
	l->took_ns = l->read_ns - began_ns;
}

static struct lock_place *find(struct lock_places *l, raddr addr)
{
	size_t low = 0, high = l->v.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->v.data[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < l->v.data[low - 1].end ? &l->v.data[low - 1] : NULL;
}

static bool may_read_again(const struct lock_places *l)
{
	uint64_t pause_ns = MAX(REREAD_NS, REREAD_REST * l->took_ns);

	return !l->read_ns || clock_monotonic_ns() - l->read_ns >= pause_ns;
}

/* Where a table or a port was there may be another by now; allocators stay. */
const struct lock_place *lock_places_find(struct lock_places *l, raddr addr)
{
	struct lock_place *p = find(l, addr);

	if (!p && (is_in_section(l, ".data", addr) || is_in_section(l, ".bss", addr))) {
		if (!l->read_ns)
			read_all(l);
		p = find(l, addr);
		if (p)
			return p;
		p = &l->variable;
		p->start = addr;
		p->end = addr + 1;
		p->lock_class = LOCK_CLASS_VM;
		snprintf(p->name, sizeof(p->name), "beam.smp+0x%" PRIx64, addr - l->n->bias);
		return p;
	}
	if ((!p || p->lock_class != LOCK_CLASS_ALLOCATOR) && may_read_again(l)) {
		read_all(l);
		p = find(l, addr);
	}
	return p;
}
