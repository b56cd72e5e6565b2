/* SPDX-License-Identifier: BSD-2-Clause */
/* See jitrec.h. */
#include "lib/jitrec.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* struct jit_code_entry: next, prev, record, size; the descriptor's first entry */
#define ENTRY_SIZE	 32
#define DESCRIPTOR_SIZE	 24
#define DESCRIPTOR_FIRST 16

static void add(struct jitrec *r, const void *bytes, size_t size)
{
	vec_reserve(&r->bytes, r->bytes.len + size);
	memcpy(r->bytes.data + r->bytes.len, bytes, size);
	r->bytes.len += size;
}

static void add_u16(struct jitrec *r, uint16_t v)
{
	add(r, &v, sizeof(v));
}

static void add_u32(struct jitrec *r, uint32_t v)
{
	add(r, &v, sizeof(v));
}

static void add_u64(struct jitrec *r, uint64_t v)
{
	add(r, &v, sizeof(v));
}

static void add_name(struct jitrec *r, const char *name, size_t padding)
{
	static const char zeros[8];
	size_t size = strlen(name) + 1;

	assert(size <= UINT16_MAX);
	add_u16(r, (uint16_t)size);
	add(r, name, size);
	add(r, zeros, padding);
}

static void bump(struct jitrec *r, size_t offset)
{
	uint32_t nr;

	memcpy(&nr, r->bytes.data + offset, sizeof(nr));
	nr++;
	memcpy(r->bytes.data + offset, &nr, sizeof(nr));
}

void jitrec_module(struct jitrec *r, const char *name, raddr start, uint32_t code_size)
{
	add_u32(r, 1);
	add_u32(r, 0);
	add_u64(r, start);
	add_u32(r, 0); /* ranges */
	add_u32(r, code_size);
	add_name(r, name, 6);
}

void jitrec_range(struct jitrec *r, const char *name, uint32_t start, uint32_t end)
{
	bump(r, 16);
	r->range = r->bytes.len;
	add_u32(r, start);
	add_u32(r, end);
	add_u32(r, 0); /* lines */
	add_name(r, name, 2);
}

void jitrec_line(struct jitrec *r, uint32_t start, uint32_t line, const char *file)
{
	bump(r, r->range + 8);
	add_u32(r, start);
	add_u32(r, line);
	add_name(r, file, 2);
}

void jitrec_emulator(struct jitrec *r, bool frame_pointers, raddr normal_exit)
{
	add_u32(r, 0);
	add_u32(r, 0);
	add_u64(r, frame_pointers);
	add_u64(r, normal_exit);
	add_u64(r, 0);
}

void jitrec_free(struct jitrec *r)
{
	vec_free(&r->bytes);
	r->range = 0;
}

raddr jitlist_open(struct image *im)
{
	raddr descriptor = image_alloc(im, DESCRIPTOR_SIZE);

	image_u32(im, descriptor, 1);
	return descriptor;
}

raddr jitlist_add(struct image *im, raddr descriptor, const struct jitrec *r)
{
	raddr entry = image_alloc(im, ENTRY_SIZE), record = image_alloc(im, r->bytes.len), first;

	mem_read_u64(image_mem(im), descriptor + DESCRIPTOR_FIRST, &first);
	image_put(im, record, r->bytes.data, r->bytes.len);
	image_u64(im, entry, first);
	image_u64(im, entry + 16, record);
	image_u64(im, entry + 24, r->bytes.len);
	if (first)
		image_u64(im, first + 8, entry);
	image_u64(im, descriptor + DESCRIPTOR_FIRST, entry);
	return entry;
}

raddr jitlist_record(struct image *im, raddr entry, uint64_t *size)
{
	raddr record;

	mem_read_u64(image_mem(im), entry + 16, &record);
	mem_read_u64(image_mem(im), entry + 24, size);
	return record;
}

void jitlist_add_code(struct image *im, raddr descriptor, raddr code, uint32_t size,
		      const char *const *names, uint32_t nr)
{
	struct jitrec emulator = {0}, m = {0};

	jitrec_emulator(&emulator, false, code + 0x10);
	jitlist_add(im, descriptor, &emulator);
	jitrec_module(&m, "m", code, size);
	for (uint32_t i = 0; i < nr; i++) {
		jitrec_range(&m, names[i], 0x100 * (i + 1), 0x100 * (i + 2));
		jitrec_line(&m, 0x100 * (i + 1), 10, "m.erl");
	}
	jitlist_add(im, descriptor, &m);
	jitrec_free(&emulator);
	jitrec_free(&m);
}
