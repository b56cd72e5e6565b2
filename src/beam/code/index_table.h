/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM's IndexTable: numbered objects in segments, and a hash table over them. */
#ifndef EBEAM_BEAM_INDEX_TABLE_H
#define EBEAM_BEAM_INDEX_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/layout.h"
#include "base/vec.h"
#include "target/mem.h"

struct index_table {
	uint32_t entries; /* objects in use: numbers 0 to entries - 1 */
	uint64_t bytes;	  /* as index_table_sz() of index.c counts them: without objects */
	raddr seg_table;
};

struct index_objects {
	VEC(raddr) v; /* addresses; 0: could not be read */
};

/* 0; -EBADMSG if `table` is no IndexTable; or negative errno of the failed read. */
int index_table_read(struct index_table *out, struct mem *mem, const struct beam_layout *l,
		     raddr table);
/* Addresses of all objects, by number.  0 or negative errno. */
int index_table_objects(struct index_objects *out, struct mem *mem, const struct index_table *t);
/* Addresses of the objects from number `first` on; out->v.data[0] is number `first`. */
int index_table_objects_from(struct index_objects *out, struct mem *mem,
			     const struct index_table *t, uint32_t first);

/* Appends the objects of a table of staged code (erl_code_staged.h), whose entries point to them;
 * three tables, by code index, share them.  0 or negative errno. */
int staged_table_objects(struct index_objects *out, struct mem *mem,
			 const struct index_table *table);
/* Bytes of an entry of such a table. */
#define STAGED_ENTRY_SIZE 32

/* Addresses of all objects of a Hash, each with its HashBucket at its beginning, in no order.  0;
 * -EBADMSG if `table` is no Hash; or negative errno.  A chain that cannot be read on ends there. */
int hash_table_objects(struct index_objects *out, struct mem *mem, const struct beam_layout *l,
		       raddr table);
/* Bytes of a Hash with its buckets and name, without its objects (hash_table_sz() of hash.c). */
int hash_table_bytes(uint64_t *bytes, struct mem *mem, const struct beam_layout *l, raddr table);

/* Reads `size` bytes of each object, from addrs[i] + offset to out + i * size; ok[i] = they could
 * be read. */
void read_objects(struct mem *mem, const raddr *addrs, size_t nr, raddr offset, void *out,
		  size_t size, bool *ok);

#endif
