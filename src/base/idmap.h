/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash index of items in an array of the caller: hash -> index.
 *
 * Why not uthash: it needs 56 bytes in every item and a separate allocation for each.  A recording
 * easily has a million stack nodes of 12 bytes; with 8 bytes a slot and two thirds full, this index
 * adds about 12 bytes to each, uthash would add 72, which is the whole memory budget.  Items can be
 * added and found, but not removed.
 */
#ifndef EBEAM_BASE_IDMAP_H
#define EBEAM_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX /* not found; not a valid id */

struct idmap_slot {
	uint32_t hash;
	uint32_t id; /* IDMAP_NONE = empty */
};

struct idmap {
	struct idmap_slot *slots;
	uint32_t nr;   /* slots in use */
	uint32_t size; /* a power of two, 0 = nothing allocated */
};

#define IDMAP_INIT                                                                                 \
	{                                                                                          \
		0                                                                                  \
	}

/* Whether the item `id` is the one that `key` describes.  `ctx` is the caller's container. */
typedef bool idmap_equal_fn(const void *ctx, uint32_t id, const void *key);

/* The id of the item that equals key, or IDMAP_NONE. */
uint32_t idmap_find(const struct idmap *m, uint32_t hash, idmap_equal_fn *equal, const void *ctx,
		    const void *key);
/* Add an id that idmap_find() did not find. */
void idmap_add(struct idmap *m, uint32_t hash, uint32_t id);
void idmap_free(struct idmap *m); /* leaves an empty one */

uint32_t hash_bytes(const void *data, size_t len);
/* FNV-1a of 64 bits: adds bytes to a hash, which begins with HASH64_BEGIN or any constant. */
#define HASH64_BEGIN 0xcbf29ce484222325ull
uint64_t hash64_add(uint64_t hash, const void *data, size_t len);
/* Mixes one more word into a hash; begin with any constant. */
uint32_t hash_mix(uint32_t hash, uint64_t word);

#endif
