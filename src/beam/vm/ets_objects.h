/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first objects of an ETS table: of a hash by bucket, of an ordered set by key.  The table may
 * change meanwhile: objects may be missing or be read twice, but each was an object of this table
 * when it was copied.
 *
 * erl_db_hash.c, erl_db_tree.c, erl_db_catree.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_ETS_OBJECTS_H
#define EBEAM_BEAM_ETS_OBJECTS_H

#include "base/vec.h"
#include "beam/vm/ets.h"

struct ets_object {
	raddr addr; /* address of the tuple's header */
	/* Words from there on, followed by the heap data that the tuple refers to.  The tuple is
	 * always complete; other data is limited for each object (8 MiB) and for all (256 MiB). */
	uint64_t *words;
	uint32_t nr_words; /* at least arity + 1 */
	uint32_t arity;
};

struct ets_objects {
	VEC(struct ets_object) v;
	uint64_t torn; /* number of addresses whose data was no object of the table */
};

/* Reads at most `max` objects.  0, or negative errno (-ESRCH: the node has exited). */
int ets_objects_read(struct beam_node *n, const struct ets_table *t, size_t max,
		     struct ets_objects *out);
/* Calls visit() with addresses in all blocks of memory of the table that are found: itself, its
 * buckets or inner nodes, locks and counters that it has for writers at the same time, and at most
 * `max` objects.  *torn and result as above; *cut: there are
 * more objects. */
int ets_memory_walk(struct beam_node *n, const struct ets_table *t, size_t max,
		    void (*visit)(void *arg, raddr at), void *arg, uint64_t *torn, bool *cut);

void ets_objects_free(struct ets_objects *o);

/* Calls visit() for each object that refers to data outside of the table, as to binaries: `first`
 * is its off-heap list (beam/process/off_heap.h); words[] are the object's, NULL of a compressed
 * one, or of one of more than 8 MiB.  *torn as above.  0, or negative errno. */
int ets_off_heap_walk(struct beam_node *n, const struct ets_table *t,
		      void (*visit)(void *arg, raddr first, const uint64_t *words, size_t nr),
		      void *arg, uint64_t *torn);

#endif
