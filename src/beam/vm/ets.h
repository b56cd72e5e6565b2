/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ETS tables of a node, as ets:info/1,2 says of them.  Every scheduler keeps a circular list of the
 * tables that were made on it; nothing but the schedulers is needed to find them.
 *
 * Reading races with the node.  A table is taken for one only if its identifier, the magic
 * reference, leads back to it: that ends when it is deleted.  Those that are gone by then are left
 * out and counted.
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
/* How objects are kept; a set with write_concurrency is a hash as any other. */
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
	uint32_t keypos, nr_locks; /* of a hash; 0 = none */
	bool named, compressed, read_concurrency, decentralized, fixed, torn;
	/* Where its objects are. */
	uint64_t nr_buckets, bucket_mask; /* hash: slots in use, and the larger mask of two */
	raddr root;			  /* tree, catree: first node; hash: segments */
	/* For checks that it still stands as it was read. */
	raddr btid, counters;
};

struct ets_list {
	struct ets_table *data; /* scheduler by scheduler, oldest first */
	size_t len;
	uint64_t counted;	  /* by the schedulers themselves, when their lists were read */
	uint64_t vanished;	  /* were in a list, and deleted when they were looked at */
	uint64_t torn;		  /* tables with numbers that kept changing */
	uint64_t lists_truncated; /* lists that could not be read to their end */
};

int ets_read(struct beam_node *n, struct ets_list *out, struct error *err);
void ets_list_free(struct ets_list *l);

/* The same table again; -ESRCH: it is gone. */
int ets_table_read(struct beam_node *n, raddr table, struct ets_table *out);

/* Processes that hold a table fixed (ets:safe_fixtable/2, or a select that has yielded), at most
 * `max`: in a hash what is deleted stays in memory until they let go.  0, or negative errno if they
 * could not all be read, -ENOSPC: there are more; *nr were read all the same. */
struct ets_fixation {
	uint64_t pid, count;
};
int ets_fixations(struct beam_node *n, const struct ets_table *t, struct ets_fixation *out,
		  size_t max, size_t *nr);

/* "#Ref<0.1.2.3>"; returns buf. */
char *ets_id_format(const struct ets_table *t, char *buf, size_t size);

#endif
