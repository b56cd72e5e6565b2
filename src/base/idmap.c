/* SPDX-License-Identifier: BSD-2-Clause */
/* See idmap.h: open addressing with linear probing.  Slots keep the hash, so that the table can
 * grow without reading the items, and equal() is called only for items with the same hash. */
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define IDMAP_MIN_SIZE 64u

static void idmap_put(struct idmap *m, struct idmap_slot slot)
{
	uint32_t at = slot.hash & (m->size - 1);

	while (m->slots[at].id != IDMAP_NONE)
		at = (at + 1) & (m->size - 1);
	m->slots[at] = slot;
}

static void idmap_grow(struct idmap *m)
{
	struct idmap_slot *old = m->slots;
	uint32_t old_size = m->size;

	m->size = old_size ? 2 * old_size : IDMAP_MIN_SIZE;
	m->slots = xmalloc((size_t)m->size * sizeof(*m->slots));
	memset(m->slots, 0xff, (size_t)m->size * sizeof(*m->slots));
	for (uint32_t i = 0; i < old_size; i++) {
		if (old[i].id != IDMAP_NONE)
			idmap_put(m, old[i]);
	}
	free(old);
}

uint32_t idmap_find(const struct idmap *m, uint32_t hash, idmap_equal_fn *equal, const void *ctx,
		    const void *key)
{
	if (!m->size)
		return IDMAP_NONE;
	/* Terminates, as at least a quarter of the slots is empty. */
	for (uint32_t at = hash & (m->size - 1);; at = (at + 1) & (m->size - 1)) {
		const struct idmap_slot *slot = &m->slots[at];

		if (slot->id == IDMAP_NONE)
			return IDMAP_NONE;
		if (slot->hash == hash && equal(ctx, slot->id, key))
			return slot->id;
	}
}

void idmap_add(struct idmap *m, uint32_t hash, uint32_t id)
{
	if (m->nr >= m->size - m->size / 4)
		idmap_grow(m);
	idmap_put(m, (struct idmap_slot){.hash = hash, .id = id});
	m->nr++;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

uint32_t hash_mix(uint32_t hash, uint64_t word)
{
	/* The hash is multiplied before the XOR: an equal word and hash would otherwise give 0. */
	uint64_t h = (word ^ (hash + 1ull) * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return (uint32_t)(h ^ (h >> 32));
}

uint64_t hash64_add(uint64_t hash, const void *data, size_t len)
{
	for (const uint8_t *at = data; len; at++, len--)
		hash = (hash ^ *at) * 0x100000001b3ull;
	return hash;
}

uint32_t hash_bytes(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t hash = (uint32_t)len;
	uint64_t word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return len ? hash_mix(hash, word) : hash;
}
