/* SPDX-License-Identifier: BSD-2-Clause */
/* See keytab.h: open addressing with linear probing, at most half full; removal leaves no
 * tombstones: items behind the removed one move up. */
#include "base/keytab.h"

#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/xalloc.h"

#define KEYTAB_MIN_SIZE 64u

static void *slot_at(const struct keytab *t, uint32_t at)
{
	return t->slots + (size_t)at * t->item_size;
}

static uint64_t key_at(const struct keytab *t, uint32_t at)
{
	uint64_t key;

	memcpy(&key, slot_at(t, at), sizeof(key));
	return key;
}

static uint32_t home_of(const struct keytab *t, uint64_t key)
{
	return hash_mix(1, key) & (t->size - 1);
}

/* The slot of the key, or the empty slot in which it would be. */
static uint32_t slot_of(const struct keytab *t, uint64_t key)
{
	uint32_t at = home_of(t, key);
	uint64_t there;

	while ((there = key_at(t, at)) && there != key)
		at = (at + 1) & (t->size - 1);
	return at;
}

void *keytab_find(const struct keytab *t, uint64_t key)
{
	uint32_t at;

	if (!t->nr || !key)
		return NULL;
	at = slot_of(t, key);
	return key_at(t, at) ? slot_at(t, at) : NULL;
}

static void grow(struct keytab *t)
{
	const struct keytab old = *t;

	t->size = old.size ? 2 * old.size : KEYTAB_MIN_SIZE;
	t->slots = xcalloc(t->size, t->item_size);
	for (uint32_t i = 0; i < old.size; i++) {
		if (key_at(&old, i))
			memcpy(slot_at(t, slot_of(t, key_at(&old, i))), slot_at(&old, i),
			       t->item_size);
	}
	free(old.slots);
}

void *keytab_add(struct keytab *t, uint64_t key)
{
	void *item;

	if (t->nr >= t->size / 2)
		grow(t);
	item = slot_at(t, slot_of(t, key));
	memset(item, 0, t->item_size);
	memcpy(item, &key, sizeof(key));
	t->nr++;
	return item;
}

void keytab_remove(struct keytab *t, void *item)
{
	uint32_t hole = (uint32_t)((size_t)((char *)item - t->slots) / t->item_size);
	uint32_t mask = t->size - 1, at = (hole + 1) & mask;
	uint64_t key;

	for (; (key = key_at(t, at)); at = (at + 1) & mask) {
		/* An item cannot move to a slot before the one that its key hashes to. */
		if (((at - home_of(t, key)) & mask) < ((at - hole) & mask))
			continue;
		memcpy(slot_at(t, hole), slot_at(t, at), t->item_size);
		hole = at;
	}
	memset(slot_at(t, hole), 0, t->item_size);
	t->nr--;
}

void keytab_keep(struct keytab *t, keytab_keep_fn *keep, const void *ctx)
{
	for (uint32_t i = 0; i < t->size; i++) {
		/* The item that has moved into the slot is tested, too. */
		while (key_at(t, i) && !keep(ctx, slot_at(t, i)))
			keytab_remove(t, slot_at(t, i));
	}
}

void *keytab_next(const struct keytab *t, const void *item)
{
	uint32_t at = 0;

	if (item)
		at = (uint32_t)((size_t)((const char *)item - t->slots) / t->item_size) + 1;
	while (at < t->size && !key_at(t, at))
		at++;
	return at < t->size ? slot_at(t, at) : NULL;
}

void keytab_free(struct keytab *t)
{
	free(t->slots);
	t->slots = NULL;
	t->nr = t->size = 0;
}
