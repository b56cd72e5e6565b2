/* SPDX-License-Identifier: BSD-2-Clause */
/* See memimage.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "lib/memimage.h"
#include "target/proc.h"

#define IMAGE_MAX_SIZE ((size_t)16 << 20)

void memimage_region(struct memimage *im, raddr addr, size_t size)
{
	assert_true(im->nr < MEMIMAGE_REGIONS);
	im->regions[im->nr].addr = addr;
	im->regions[im->nr].size = size;
	im->regions[im->nr].bytes = xcalloc(1, size);
	im->nr++;
}

uint8_t *memimage_at(struct memimage *im, raddr addr, size_t size)
{
	for (size_t i = 0; i < im->nr; i++)
		if (addr >= im->regions[i].addr &&
		    addr - im->regions[i].addr + size <= im->regions[i].size)
			return im->regions[i].bytes + (addr - im->regions[i].addr);
	fail_msg("the image has nothing at 0x%llx", (unsigned long long)addr);
	return NULL;
}

void memimage_write(struct memimage *im, raddr addr, const void *bytes, size_t size)
{
	memcpy(memimage_at(im, addr, size), bytes, size);
}

void memimage_u16(struct memimage *im, raddr addr, uint16_t value)
{
	memimage_write(im, addr, &value, sizeof(value));
}

void memimage_u32(struct memimage *im, raddr addr, uint32_t value)
{
	memimage_write(im, addr, &value, sizeof(value));
}

void memimage_u64(struct memimage *im, raddr addr, uint64_t value)
{
	memimage_write(im, addr, &value, sizeof(value));
}

struct mem *memimage_open(const struct memimage *im)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = {0};
	struct mem *m = NULL;

	strbuf_add(&sb, MEM_IMAGE_MAGIC, strlen(MEM_IMAGE_MAGIC));
	for (size_t i = 0; i < im->nr; i++) {
		uint64_t head[2] = {im->regions[i].addr, im->regions[i].size};

		strbuf_add(&sb, head, sizeof(head));
		strbuf_add(&sb, im->regions[i].bytes, im->regions[i].size);
	}
	if (mem_open_image(&m, sb.buf, sb.len, &err) != 0)
		fail_msg("%s", err.msg);
	strbuf_free(&sb);
	return m;
}

void memimage_free(struct memimage *im)
{
	for (size_t i = 0; i < im->nr; i++)
		free(im->regions[i].bytes);
	im->nr = 0;
}

struct mem *memimage_load(const char *name)
{
	char *path = xasprintf("tests/data/images/%s", name), *bytes;
	struct error err = {0};
	struct mem *m = NULL;
	size_t size;

	bytes = proc_read_file(path, IMAGE_MAX_SIZE, &size);
	if (!bytes)
		fail_msg("cannot read %s", path);
	if (mem_open_image(&m, bytes, size, &err) != 0)
		fail_msg("%s: %s", path, err.msg);
	free(bytes);
	free(path);
	return m;
}
