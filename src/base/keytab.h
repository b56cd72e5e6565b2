/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table that contains its items, each with a 64-bit key as its first member; items can be
 * removed.  (For items that are never removed, or have other keys than numbers: base/idmap.h.)
 *
 *   struct spell { uint64_t epid; ... };
 *   struct keytab t = KEYTAB_INIT(struct spell);
 *   struct spell *s = keytab_find(&t, epid);
 *   if (!s)
 *           s = keytab_add(&t, epid);
 *
 * Items move: a pointer to one is valid until the next keytab_add() or keytab_remove().  The table
 * has no limit: a caller that adds data of a node or file must have one.
 */
#ifndef EBEAM_BASE_KEYTAB_H
#define EBEAM_BASE_KEYTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keytab {
	char *slots; /* items; a slot with key 0 is empty */
	size_t item_size;
	uint32_t nr;   /* slots in use */
	uint32_t size; /* a power of two, 0 = nothing allocated */
};

#define KEYTAB_INIT(type)                                                                          \
	{                                                                                          \
		.item_size = sizeof(type)                                                          \
	}

/* NULL: no item has the key.  Keys are not 0. */
void *keytab_find(const struct keytab *t, uint64_t key);
/* Adds an item, zero but for its key, which must be new and not 0. */
void *keytab_add(struct keytab *t, uint64_t key);
void keytab_remove(struct keytab *t, void *item);
/* Removes items for which keep() returns false; keep() may be called twice for an item. */
typedef bool keytab_keep_fn(const void *ctx, const void *item);
void keytab_keep(struct keytab *t, keytab_keep_fn *keep, const void *ctx);
/* Iterates, in no order: NULL gives the first item; NULL after the last. */
void *keytab_next(const struct keytab *t, const void *item);
/* Leaves an empty table for items of the same type. */
void keytab_free(struct keytab *t);

#endif
