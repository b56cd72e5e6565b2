/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mem_image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define MAGIC_SIZE  (sizeof(MEM_IMAGE_MAGIC) - 1)
#define HEADER_SIZE (2 * sizeof(uint64_t))

struct range {
	raddr addr;
	uint64_t size;
	const unsigned char *bytes;
};

struct mem_image {
	struct mem mem;
	unsigned char *copy;
	VEC(struct range) ranges; /* sorted by addr, none overlaps another */
};

/* The range that holds addr, or NULL. */
static const struct range *find_range(const struct mem_image *im, raddr addr)
{
	size_t low = 0, high = im->ranges.len;

	while (low < high) { /* ends with low = first range above addr */
		size_t mid = low + (high - low) / 2;

		if (im->ranges.data[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return NULL;
	return addr - im->ranges.data[low - 1].addr < im->ranges.data[low - 1].size
		       ? &im->ranges.data[low - 1]
		       : NULL;
}

/* Ranges that touch read as one. */
static int image_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	const struct mem_image *im = CONTAINER_OF(m, struct mem_image, mem);

	if (addr + size < addr)
		return -EFAULT;
	while (size > 0) {
		const struct range *r = find_range(im, addr);
		size_t n;

		if (!r)
			return -EFAULT;
		n = MIN(size, (size_t)(r->size - (addr - r->addr)));
		memcpy(buf, r->bytes + (addr - r->addr), n);
		buf = (char *)buf + n;
		addr += n;
		size -= n;
	}
	return 0;
}

static void image_close(struct mem *m)
{
	struct mem_image *im = CONTAINER_OF(m, struct mem_image, mem);

	vec_free(&im->ranges);
	free(im->copy);
	free(im);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Fills im->ranges from im->copy.  NULL, or what is wrong with the image. */
static const char *parse_image(struct mem_image *im, size_t size)
{
	size_t at = MAGIC_SIZE;

	if (size < MAGIC_SIZE || memcmp(im->copy, MEM_IMAGE_MAGIC, MAGIC_SIZE) != 0)
		return "it does not start with " MEM_IMAGE_MAGIC;
	while (at < size) {
		struct range r;

		if (size - at < HEADER_SIZE)
			return "it ends inside a range";
		memcpy(&r.addr, im->copy + at, sizeof(r.addr));
		memcpy(&r.size, im->copy + at + sizeof(r.addr), sizeof(r.size));
		at += HEADER_SIZE;
		if (r.size > size - at)
			return "it ends inside a range";
		if (r.addr + r.size < r.addr)
			return "a range wraps around";
		r.bytes = im->copy + at;
		at += (size_t)r.size;
		if (r.size > 0)
			vec_push(&im->ranges, r);
	}
	if (im->ranges.len == 0)
		return NULL;
	qsort(im->ranges.data, im->ranges.len, sizeof(*im->ranges.data), compare_ranges);
	for (size_t i = 1; i < im->ranges.len; i++) {
		const struct range *previous = &im->ranges.data[i - 1];

		if (previous->addr + previous->size > im->ranges.data[i].addr)
			return "two ranges overlap";
	}
	return NULL;
}

int mem_open_image(struct mem **out, const void *image, size_t size, struct error *err)
{
	struct mem_image *im = xcalloc(1, sizeof(*im));
	const char *wrong;

	im->mem = (struct mem){.read = image_read, .close = image_close};
	im->copy = xmalloc(size);
	if (size > 0)
		memcpy(im->copy, image, size);
	wrong = parse_image(im, size);
	if (wrong) {
		image_close(&im->mem);
		return error_set(err, ERROR_KIND_FAILED, -EINVAL, "not a memory image: %s", wrong);
	}
	*out = &im->mem;
	return 0;
}

/* ---- recorder ----------------------------------------------------------------------------- */

#define PAGE_SIZE 4096u

/* 256 MiB: far more than all tables of a node that are worth a test. */
#define MAX_PAGES 65536

struct page {
	raddr addr; /* multiple of PAGE_SIZE */
	UT_hash_handle hh;
	unsigned char known[PAGE_SIZE / 8]; /* one bit a byte */
	unsigned char bytes[PAGE_SIZE];
};

struct mem_recorder {
	struct mem mem;
	struct mem *inner;
	struct page *pages;
	bool overflow;
};

static struct page *take_page(struct mem_recorder *rec, raddr addr)
{
	struct page *p;

	HASH_FIND(hh, rec->pages, &addr, sizeof(addr), p);
	if (p)
		return p;
	if (HASH_COUNT(rec->pages) >= MAX_PAGES) {
		rec->overflow = true;
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->addr = addr;
	HASH_ADD(hh, rec->pages, addr, sizeof(p->addr), p);
	return p;
}

/* Bytes that are read again replace the older ones: callers read again to get them consistent. */
static void record(struct mem_recorder *rec, raddr addr, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		size_t at = (size_t)(addr % PAGE_SIZE), n = MIN(size, PAGE_SIZE - at);
		struct page *p = take_page(rec, addr - at);

		if (!p)
			return;
		memcpy(p->bytes + at, bytes, n);
		for (size_t i = at; i < at + n; i++)
			p->known[i / 8] |= (unsigned char)(1u << i % 8);
		addr += n;
		bytes += n;
		size -= n;
	}
}

static int recorder_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct mem_recorder *rec = CONTAINER_OF(m, struct mem_recorder, mem);
	int code = mem_read(rec->inner, addr, buf, size);

	if (!code)
		record(rec, addr, buf, size);
	return code;
}

static size_t recorder_readv(struct mem *m, struct mem_range *ranges, size_t nr)
{
	struct mem_recorder *rec = CONTAINER_OF(m, struct mem_recorder, mem);
	size_t nr_ok = mem_readv(rec->inner, ranges, nr);

	for (size_t i = 0; i < nr; i++)
		if (!ranges[i].err)
			record(rec, ranges[i].addr, ranges[i].buf, ranges[i].size);
	return nr_ok;
}

static void recorder_close(struct mem *m)
{
	struct mem_recorder *rec = CONTAINER_OF(m, struct mem_recorder, mem);
	struct page *p, *next;

	HASH_ITER (hh, rec->pages, p, next) {
		HASH_DEL(rec->pages, p);
		free(p);
	}
	free(rec);
}

struct mem *mem_open_recorder(struct mem *inner)
{
	struct mem_recorder *rec = xcalloc(1, sizeof(*rec));

	rec->mem = (struct mem){
		.read = recorder_read, .readv = recorder_readv, .close = recorder_close};
	rec->inner = inner;
	return &rec->mem;
}

static int compare_pages(const struct page *x, const struct page *y)
{
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The image while it is written: the header of the last range is filled in at its end. */
struct writer {
	struct strbuf text;
	size_t header; /* offset of the open range's header */
	uint64_t addr, size;
};

static void end_range(struct writer *w)
{
	if (w->size == 0)
		return;
	memcpy(w->text.buf + w->header, &w->addr, sizeof(w->addr));
	memcpy(w->text.buf + w->header + sizeof(w->addr), &w->size, sizeof(w->size));
	w->size = 0;
}

static void write_run(struct writer *w, raddr addr, const unsigned char *bytes, size_t size)
{
	static const char blank[HEADER_SIZE];

	if (w->size == 0 || w->addr + w->size != addr) {
		end_range(w);
		w->header = w->text.len;
		w->addr = addr;
		strbuf_add(&w->text, blank, sizeof(blank));
	}
	strbuf_add(&w->text, bytes, size);
	w->size += size;
}

void *mem_recorder_image(struct mem *recorder, size_t *size)
{
	struct mem_recorder *rec = CONTAINER_OF(recorder, struct mem_recorder, mem);
	struct writer w = {.text = STRBUF_INIT};
	struct page *p, *next;

	if (rec->overflow)
		return NULL;
	HASH_SORT(rec->pages, compare_pages);
	strbuf_add(&w.text, MEM_IMAGE_MAGIC, MAGIC_SIZE);
	HASH_ITER (hh, rec->pages, p, next) {
		for (size_t i = 0, from; i < PAGE_SIZE;) {
			for (from = i; i < PAGE_SIZE && p->known[i / 8] >> i % 8 & 1; i++)
				;
			if (i > from)
				write_run(&w, p->addr + from, p->bytes + from, i - from);
			else
				i++;
		}
	}
	end_range(&w);
	return strbuf_detach(&w.text, size);
}
