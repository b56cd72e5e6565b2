/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table of items that live in it, each under a 64-bit key that is its first member, with
 * removal.  (What is only ever added, and found by more than a number: base/idmap.h.)
 *
 *   struct spell { uint64_t epid; ... };
 *   struct keytab t = KEYTAB_INIT(struct spell);
 *   struct spell *s = keytab_find(&t, epid);
 *   if (!s)
 *           s = keytab_add(&t, epid);
 *
 * Items move: a pointer to one is good until the next keytab_add() or keytab_remove().  There is no
 * limit here: who adds what a node or a file says has one.
 */
#ifndef EBEAM_BASE_KEYTAB_H
#define EBEAM_BASE_KEYTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keytab {
	char *slots; /* their key is 0 if they are empty */
	size_t item_size;
	uint32_t nr;   /* in use */
	uint32_t size; /* a power of two, 0 = nothing allocated */
};

#define KEYTAB_INIT(type)                                                                          \
	{                                                                                          \
		.item_size = sizeof(type)                                                          \
	}

/* NULL: there is none.  No item has the key 0. */
void *keytab_find(const struct keytab *t, uint64_t key);
/* A new item, zero but for its key, which is not 0 and which keytab_find() did not find. */
void *keytab_add(struct keytab *t, uint64_t key);
void keytab_remove(struct keytab *t, void *item);
/* Removes the items of which keep() says no; it may see one twice. */
typedef bool keytab_keep_fn(const void *ctx, const void *item);
void keytab_keep(struct keytab *t, keytab_keep_fn *keep, const void *ctx);
/* Each item, in no order: NULL gives the first one, the last one gives NULL. */
void *keytab_next(const struct keytab *t, const void *item);
/* Leaves an empty table of the same items. */
void keytab_free(struct keytab *t);

#endif
