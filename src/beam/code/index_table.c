/* SPDX-License-Identifier: BSD-2-Clause */
/* See index_table.h.  erts/emulator/beam/{index,hash}.[ch], OTP 25 to 29. */
#include "beam/code/index_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define SEGMENT_ENTRIES 1024	   /* INDEX_PAGE_SIZE */
#define ENTRIES_MAX	(1u << 26) /* limit of atoms; other tables have far fewer entries */
#define NAME_MAX_LEN	64
#define SHIFT_MIN	32
#define READ_CHUNK	1024
/* sizeof(Hash); the rest of an IndexTable follows it. */
#define HASH_SIZE(l) ((uint64_t)(l)->index_table_bucket + 8)

/* IndexSlot {HashBucket; int index} and a pointer: an entry of a table of staged code. */
#define STAGED_ENTRY_OBJECT 24

static int read_shift(uint32_t *shift, struct mem *mem, const struct beam_layout *l, raddr table)
{
	int rc = mem_read_u32(mem, table + (raddr)l->index_table_shift, shift);

	return rc ? rc : *shift < SHIFT_MIN || *shift > 63 ? -EBADMSG : 0;
}

int hash_table_bytes(uint64_t *bytes, struct mem *mem, const struct beam_layout *l, raddr table)
{
	char name[NAME_MAX_LEN];
	raddr name_at;
	uint32_t shift;
	int rc;

	rc = mem_read_u64(mem, table + (raddr)l->index_table_name, &name_at);
	rc = rc ? rc : read_shift(&shift, mem, l, table);
	rc = rc ? rc : mem_read_string(mem, name_at, name, sizeof(name));
	if (rc)
		return rc;
	/* 2^(64 - shift) buckets (hash_get_slots()). */
	*bytes = HASH_SIZE(l) + (8ull << (64 - shift)) + strlen(name) + 1;
	return 0;
}

int index_table_read(struct index_table *out, struct mem *mem, const struct beam_layout *l,
		     raddr table)
{
	uint32_t slots;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = hash_table_bytes(&out->bytes, mem, l, table);
	rc = rc ? rc : mem_read_u32(mem, table + (raddr)l->index_table_slots, &slots);
	rc = rc ? rc : mem_read_u32(mem, table + (raddr)l->index_table_entries, &out->entries);
	rc = rc ? rc : mem_read_u64(mem, table + (raddr)l->index_table_seg_table, &out->seg_table);
	if (rc)
		return rc;
	if (out->entries > ENTRIES_MAX || slots > ENTRIES_MAX)
		return -EBADMSG;
	out->bytes += (uint64_t)l->index_table_size - HASH_SIZE(l) + 8ull * slots;
	return 0;
}

int index_table_objects_from(struct index_objects *out, struct mem *mem,
			     const struct index_table *t, uint32_t first)
{
	uint32_t from = first / SEGMENT_ENTRIES, skip = first % SEGMENT_ENTRIES;
	uint32_t nr_segments;
	raddr *segments;
	bool *ok;
	int rc;

	memset(out, 0, sizeof(*out));
	if (first >= t->entries)
		return 0;
	nr_segments = (t->entries - 1) / SEGMENT_ENTRIES + 1 - from;
	segments = xcalloc(nr_segments, sizeof(*segments));
	rc = mem_read(mem, t->seg_table + from * sizeof(*segments), segments,
		      nr_segments * sizeof(*segments));
	if (rc) {
		free(segments);
		return rc;
	}
	vec_reserve(&out->v, (size_t)nr_segments * SEGMENT_ENTRIES);
	ok = xcalloc(nr_segments, sizeof(*ok));
	read_objects(mem, segments, nr_segments, 0, out->v.data, SEGMENT_ENTRIES * sizeof(raddr),
		     ok);
	for (uint32_t i = 0; i < nr_segments; i++)
		if (!ok[i])
			memset(out->v.data + (size_t)i * SEGMENT_ENTRIES, 0,
			       SEGMENT_ENTRIES * sizeof(raddr));
	out->v.len = t->entries - first;
	memmove(out->v.data, out->v.data + skip, out->v.len * sizeof(raddr));
	free(segments);
	free(ok);
	return 0;
}

int index_table_objects(struct index_objects *out, struct mem *mem, const struct index_table *t)
{
	return index_table_objects_from(out, mem, t, 0);
}

int staged_table_objects(struct index_objects *out, struct mem *mem,
			 const struct index_table *table)
{
	struct index_objects entries;
	size_t from = out->v.len;
	bool *ok;
	int rc = index_table_objects(&entries, mem, table);

	if (rc)
		return rc;
	vec_reserve(&out->v, from + entries.v.len + 1);
	ok = xcalloc(entries.v.len + 1, sizeof(*ok));
	read_objects(mem, entries.v.data, entries.v.len, STAGED_ENTRY_OBJECT, out->v.data + from,
		     sizeof(raddr), ok);
	for (size_t i = 0; !rc && i < entries.v.len; i++)
		rc = ok[i] ? 0 : -EFAULT;
	out->v.len += entries.v.len;
	vec_free(&entries.v);
	free(ok);
	return rc;
}

/* Replaces addresses by those that their first word holds: of the next object of each chain. */
static void read_next(struct index_objects *chains, struct mem *mem)
{
	raddr *next = xcalloc(chains->v.len + 1, sizeof(*next));
	bool *ok = xcalloc(chains->v.len + 1, sizeof(*ok));
	size_t nr = 0;

	read_objects(mem, chains->v.data, chains->v.len, 0, next, sizeof(*next), ok);
	for (size_t i = 0; i < chains->v.len; i++)
		if (ok[i] && next[i])
			chains->v.data[nr++] = next[i];
	chains->v.len = nr;
	free(next);
	free(ok);
}

int hash_table_objects(struct index_objects *out, struct mem *mem, const struct beam_layout *l,
		       raddr table)
{
	struct index_objects chains = {0};
	uint32_t shift, nobjs;
	raddr buckets;
	size_t nr;
	int rc = read_shift(&shift, mem, l, table);

	*out = (struct index_objects){0};
	rc = rc ? rc : mem_read_u32(mem, table + (raddr)l->index_table_nobjs, &nobjs);
	rc = rc ? rc : mem_read_u64(mem, table + (raddr)l->index_table_bucket, &buckets);
	if (rc)
		return rc;
	nr = 1ull << (64 - shift);
	if (nr > ENTRIES_MAX || nobjs > ENTRIES_MAX)
		return -EBADMSG;
	vec_reserve(&chains.v, nr);
	rc = mem_read(mem, buckets, chains.v.data, nr * sizeof(raddr));
	for (size_t i = 0; !rc && i < nr; i++)
		if (chains.v.data[i])
			chains.v.data[chains.v.len++] = chains.v.data[i];
	/* Objects that are added meanwhile are not needed; a damaged chain has no end. */
	while (chains.v.len && out->v.len < nobjs) {
		for (size_t i = 0; i < chains.v.len && out->v.len < nobjs; i++)
			vec_push(&out->v, chains.v.data[i]);
		read_next(&chains, mem);
	}
	vec_free(&chains.v);
	return rc;
}

void read_objects(struct mem *mem, const raddr *addrs, size_t nr, raddr offset, void *out,
		  size_t size, bool *ok)
{
	struct mem_range ranges[READ_CHUNK];

	for (size_t from = 0; from < nr; from += READ_CHUNK) {
		size_t n = MIN(nr - from, READ_CHUNK);

		for (size_t i = 0; i < n; i++)
			ranges[i] = (struct mem_range){.addr = addrs[from + i] + offset,
						       .buf = (uint8_t *)out + (from + i) * size,
						       .size = size};
		mem_readv(mem, ranges, n);
		for (size_t i = 0; i < n; i++)
			ok[from + i] = addrs[from + i] && ranges[i].err == 0;
	}
}
