/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ETS tables of a node, as in ets:info/1,2.  Every scheduler has a circular list of the tables that
 * were created on it; only the schedulers are needed to find all tables.
 *
 * Reading races with the node.  A table is accepted only if its identifier, the magic reference,
 * refers to it, as it does until the table is deleted.  Deleted ones are left out and counted.
 *
 * erl_db.c, erl_db_util.h, erl_flxctr.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_ETS_H
#define EBEAM_BEAM_ETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

enum ets_type { ETS_SET, ETS_BAG, ETS_DUPLICATE_BAG, ETS_ORDERED_SET };
enum ets_protection { ETS_PUBLIC, ETS_PROTECTED, ETS_PRIVATE };
enum ets_write_concurrency {
	ETS_WRITE_FALSE,
	ETS_WRITE_TRUE,
	ETS_WRITE_AUTO,
	ETS_WRITE_LOCKS, /* {debug_hash_fixed_number_of_locks, N} */
};
/* Data structure of a table; a set with write_concurrency is a hash, too. */
enum ets_store { ETS_STORE_HASH, ETS_STORE_TREE, ETS_STORE_CATREE };

const char *ets_type_name(enum ets_type type);
const char *ets_protection_name(enum ets_protection protection);

struct ets_table {
	raddr addr;
	uint32_t ref[3];      /* numbers of its reference: #Ref<0.[2].[1].[0]> */
	uint64_t name, owner; /* terms */
	uint64_t heir;	      /* pid; 0 = none */
	uint64_t size;	      /* objects */
	uint64_t memory;      /* words */
	enum ets_type type;
	enum ets_protection protection;
	enum ets_write_concurrency write_concurrency;
	enum ets_store store;
	uint32_t keypos, nr_locks; /* nr_locks: of a hash; 0 = none */
	bool named, compressed, read_concurrency, decentralized, fixed, torn;
	/* Where its objects are. */
	uint64_t nr_buckets, bucket_mask; /* hash: buckets in use, and the larger of two masks */
	raddr root;			  /* tree, catree: first node; hash: array of segments */
	/* To check that the table was not replaced. */
	raddr btid, counters;
};

struct ets_list {
	struct ets_table *data; /* by scheduler, oldest first */
	size_t len;
	uint64_t counted;	  /* sum of the schedulers' numbers of tables, read with their
				   * lists */
	uint64_t vanished;	  /* tables of a list that were deleted when they were read */
	uint64_t torn;		  /* tables whose numbers changed in all attempts */
	uint64_t lists_truncated; /* lists that were not read to their end */
};

int ets_read(struct beam_node *n, struct ets_list *out, struct error *err);
void ets_list_free(struct ets_list *l);

/* Reads the table at the address `table` again; -ESRCH: it was deleted. */
int ets_table_read(struct beam_node *n, raddr table, struct ets_table *out);

/* Processes that have fixed a table (ets:safe_fixtable/2, or a select that has yielded), at most
 * `max`: objects that are deleted from a hash stay in memory until it is not fixed any more.  0, or
 * negative errno if not all could be read, -ENOSPC: there are more; *nr were read in any case. */
struct ets_fixation {
	uint64_t pid, count;
};
int ets_fixations(struct beam_node *n, const struct ets_table *t, struct ets_fixation *out,
		  size_t max, size_t *nr);

/* "#Ref<0.1.2.3>"; returns buf. */
char *ets_id_format(const struct ets_table *t, char *buf, size_t size);

#endif
