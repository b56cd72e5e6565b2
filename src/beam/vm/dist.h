/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other nodes that a node knows, and its connections to them, as in nodes/1 and
 * dist_get_stat/1.  All are in one hash table, whatever their state.
 *
 * erl_node_tables.h, dist.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_DIST_H
#define EBEAM_BEAM_DIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"

/* Limit of the entries of the table; a table with more is refused with -EBADMSG. */
#define DIST_ENTRIES_MAX (1u << 20)

/* Hash.shift, .nobjs and .bucket of a table; its buckets are 1 << (64 - shift) (hash.h). */
struct dist_hash {
	raddr buckets;
	uint64_t nr_buckets, nr_entries;
};
/* 0, -EBADMSG if the memory is no such table, or errno of the failed read. */
int dist_hash_read(struct mem *mem, const struct beam_layout *l, raddr table,
		   struct dist_hash *out);

enum dist_state { /* enum dist_entry_state */
		  DIST_IDLE,
		  DIST_PENDING,
		  DIST_CONNECTED,
		  DIST_EXITING,
};
enum dist_type {
	DIST_NONE, /* not connected now */
	DIST_THIS,
	DIST_VISIBLE,
	DIST_HIDDEN,
};
const char *dist_state_name(enum dist_state state); /* "idle", "pending", "up", "exiting" */
const char *dist_type_name(enum dist_type type);    /* "this", ...; NULL = none */

struct dist_facts {
	raddr addr;
	uint64_t name; /* atom */
	enum dist_type type;
	enum dist_state state;
	uint32_t creation, connection_id;
	uint64_t dflags;
	uint64_t controller; /* port or pid term; 0 = none */
	uint64_t in, out;    /* packets */
	uint64_t queue;	     /* bytes in the output queue of the connection */
	bool busy;	     /* senders are suspended */
	bool torn;
	size_t first_waiting, nr_waiting; /* range in dist_list.waiting: suspended senders */
};

struct dist_list {
	VEC(struct dist_facts) v; /* this node first, then connected ones; sorted by name */
	VEC(uint64_t) waiting;	  /* pid terms */
	char name[256];		  /* of this node */
	uint32_t creation;
	bool alive; /* distribution runs */
	uint64_t vanished, torn, cut;
};

int dist_read(struct beam_node *n, struct dist_list *out, struct error *err);
void dist_list_free(struct dist_list *l);

#endif
