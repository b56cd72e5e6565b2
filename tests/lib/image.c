/* SPDX-License-Identifier: BSD-2-Clause */
/* See image.h. */
#include "lib/image.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "lib/mem_image.h"

#define ALLOC_START 0x7f0000000000ull
#define ALLOC_HOLE  64
#define MAX_FILE    (16u << 20)

struct region {
	raddr addr;
	size_t size;
	uint8_t *bytes;
};

struct image {
	struct mem mem;
	VEC(struct region) regions; /* by address */
	raddr next;
	uint64_t reads;
};

/* How many regions begin at addr or below it. */
static size_t regions_up_to(const struct image *im, raddr addr)
{
	size_t lo = 0, hi = im->regions.len;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (im->regions.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The region that holds all of [addr, addr + size), or NULL. */
static struct region *find_region(struct image *im, raddr addr, size_t size)
{
	size_t i = regions_up_to(im, addr);
	struct region *r = i ? &im->regions.data[i - 1] : NULL;

	return r && addr - r->addr <= r->size && size <= r->size - (addr - r->addr) ? r : NULL;
}

static int read_image(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct image *im = CONTAINER_OF(m, struct image, mem);
	const struct region *r = find_region(im, addr, size);

	im->reads++;
	if (!r)
		return -EFAULT;
	memcpy(buf, r->bytes + (addr - r->addr), size);
	return 0;
}

static void close_image(struct mem *m)
{
	image_close(CONTAINER_OF(m, struct image, mem));
}

struct image *image_open(void)
{
	struct image *im = xcalloc(1, sizeof(*im));

	im->mem = (struct mem){.read = read_image, .close = close_image};
	im->next = ALLOC_START;
	return im;
}

void image_close(struct image *im)
{
	for (size_t i = 0; i < im->regions.len; i++)
		free(im->regions.data[i].bytes);
	vec_free(&im->regions);
	free(im);
}

struct mem *image_mem(struct image *im)
{
	return &im->mem;
}

void image_map(struct image *im, raddr addr, size_t size)
{
	struct region r = {.addr = addr, .size = size, .bytes = xcalloc(1, size)};
	size_t i = regions_up_to(im, addr), after = im->regions.len - i;

	assert(i == 0 || im->regions.data[i - 1].addr + im->regions.data[i - 1].size <= addr);
	assert(after == 0 || addr + size <= im->regions.data[i].addr);
	vec_push(&im->regions, r);
	memmove(im->regions.data + i + 1, im->regions.data + i, after * sizeof(r));
	im->regions.data[i] = r;
}

raddr image_alloc(struct image *im, size_t size)
{
	raddr addr = im->next;

	image_map(im, addr, size);
	im->next += ((size + 15) & ~(size_t)15) + ALLOC_HOLE;
	return addr;
}

void image_unmap(struct image *im, raddr addr)
{
	for (size_t i = 0; i < im->regions.len; i++) {
		if (im->regions.data[i].addr != addr)
			continue;
		free(im->regions.data[i].bytes);
		im->regions.len--;
		memmove(im->regions.data + i, im->regions.data + i + 1,
			(im->regions.len - i) * sizeof(im->regions.data[0]));
		return;
	}
	assert(!"no region begins there");
}

void image_put(struct image *im, raddr addr, const void *bytes, size_t size)
{
	struct region *r = find_region(im, addr, size);

	assert(r);
	if (size)
		memcpy(r->bytes + (addr - r->addr), bytes, size);
}

void image_u16(struct image *im, raddr addr, uint16_t value)
{
	image_put(im, addr, &value, sizeof(value));
}

void image_u32(struct image *im, raddr addr, uint32_t value)
{
	image_put(im, addr, &value, sizeof(value));
}

void image_u64(struct image *im, raddr addr, uint64_t value)
{
	image_put(im, addr, &value, sizeof(value));
}

uint64_t image_reads(const struct image *im)
{
	return im->reads;
}

struct mem *image_load(const char *name)
{
	char *path = xasprintf("tests/data/images/%s", name), *bytes = xmalloc(MAX_FILE);
	gzFile file = gzopen(path, "rb"); /* or as it is */
	struct error err = {0};
	struct mem *m = NULL;
	int size = file ? gzread(file, bytes, MAX_FILE) : -1;

	assert(size >= 0 && gzclose(file) == Z_OK);
	if (mem_open_image(&m, bytes, (size_t)size, &err) != 0) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		abort();
	}
	free(bytes);
	free(path);
	return m;
}
