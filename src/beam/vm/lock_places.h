/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where locks of the VM lie in memory, so that the address of a lock tells what it protects: a
 * table, a port, an allocator, or the VM itself.  Locks of processes are in their structs, of which
 * there may be millions: who finds such a lock knows the process.
 *
 * erl_db_util.h, erl_db_hash.h, erl_port.h, erl_alloc_util.h, OTP 24 to 29.
 */
#ifndef EBEAM_BEAM_LOCK_PLACES_H
#define EBEAM_BEAM_LOCK_PLACES_H

#include "beam/node/node.h"
#include "beam/vm/ets.h"

enum lock_class {
	LOCK_CLASS_ETS,
	LOCK_CLASS_PROCESS,
	LOCK_CLASS_PORT,
	LOCK_CLASS_ALLOCATOR,
	LOCK_CLASS_VM,	  /* a variable of the emulator */
	LOCK_CLASS_OTHER, /* in memory that none of these is in */
};

/* Names are truncated. */
#define LOCK_NAME_SIZE 320
struct lock_place {
	raddr start, end;
	enum lock_class lock_class;
	char name[LOCK_NAME_SIZE]; /* "ets table routes", "port #Port<0.5> tcp_inet" */
};

/* The name of the places of a table's locks. */
void lock_place_of_table(const struct beam_node *n, const struct ets_table *t, char *buf,
			 size_t size);

struct lock_places;
struct lock_places *lock_places_open(struct beam_node *n); /* borrows it */
void lock_places_close(struct lock_places *l);		   /* NULL ok */

/* The place that holds the lock at addr; NULL = none that is known.  Reads them all again, but at
 * most every few seconds, as tables and ports come and go; valid until the next call. */
const struct lock_place *lock_places_find(struct lock_places *l, raddr addr);

#endif
