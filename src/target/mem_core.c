/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a core file: the bytes of its segments.  Pages that the kernel did not dump (never
 * written, see coredump_filter in core(5)) are read from the mapped file, if its program headers
 * say that they are read-only.  Bytes that a truncated core lacks are never read from elsewhere.
 *
 * pread, not mmap: a core on a full or failing disk must give an error, not SIGBUS.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "target/core_internal.h"

struct mem_core {
	struct mem mem;
	struct core_file *core;
};

/* The segment that holds addr; NULL if none.  *next: start of the first segment above addr
 * (UINT64_MAX = none). */
static const struct core_segment *segment_at(const struct core_file *c, raddr addr, raddr *next)
{
	size_t at = COUNT_UP_TO(c->segments.len, i, c->segments.data[i].end, addr);

	if (at < c->segments.len && c->segments.data[at].start <= addr)
		return &c->segments.data[at];
	if (next)
		*next = at < c->segments.len ? c->segments.data[at].start : UINT64_MAX;
	return NULL;
}

const struct core_mapping *core_mapping_at(const struct core_file *c, raddr addr)
{
	size_t at = COUNT_UP_TO(c->mappings.len, i, c->mappings.data[i].end, addr);

	return at < c->mappings.len && c->mappings.data[at].start <= addr ? &c->mappings.data[at]
									  : NULL;
}

static int read_segment(const struct core_file *c, const struct core_segment *s, uint64_t skip,
			void *buf, size_t size)
{
	ssize_t n = core_file_read_at(c, s->offset + skip, buf, size);

	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EIO; /* the file has shrunk, or the disk fails */
}

int core_file_read_own(const struct core_file *c, raddr addr, void *buf, size_t size)
{
	while (size > 0) {
		const struct core_segment *s = segment_at(c, addr, NULL);
		uint64_t skip = s ? addr - s->start : 0;
		size_t part;
		int rc;

		if (!s || skip >= s->have_size)
			return -EFAULT;
		part = MIN(size, s->have_size - skip);
		rc = read_segment(c, s, skip, buf, part);
		if (rc)
			return rc;
		addr += part;
		buf = (char *)buf + part;
		size -= part;
	}
	return 0;
}

/* Reads from the mapped file; returns how many bytes from addr on, 0 if none are available. */
static size_t read_mapped(struct core_file *c, raddr addr, void *buf, size_t size)
{
	const struct core_mapping *m = core_mapping_at(c, addr);
	const struct elf_file *elf = m ? core_file_open_mapped(c, m->file) : NULL;

	if (!elf)
		return 0;
	return elf_file_read_constant(elf, m->offset + (addr - m->start), buf,
				      MIN(size, m->end - addr));
}

static int core_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct core_file *c = CONTAINER_OF(m, struct mem_core, mem)->core;

	if (addr + size < addr)
		return -EFAULT;
	while (size > 0) {
		raddr next;
		const struct core_segment *s = segment_at(c, addr, &next);
		uint64_t skip = s ? addr - s->start : 0;
		size_t part;
		int rc;

		if (s && skip < s->size) {
			if (skip >= s->have_size)
				return -EFAULT;
			part = MIN(size, s->have_size - skip);
			rc = read_segment(c, s, skip, buf, part);
			if (rc)
				return rc;
		} else {
			part = read_mapped(c, addr, buf, MIN(size, (s ? s->end : next) - addr));
			if (!part)
				return -EFAULT;
		}
		addr += part;
		buf = (char *)buf + part;
		size -= part;
	}
	return 0;
}

static void core_close(struct mem *m)
{
	free(CONTAINER_OF(m, struct mem_core, mem));
}

struct mem *mem_open_core(struct core_file *c)
{
	struct mem_core *m = xcalloc(1, sizeof(*m));

	m->mem = (struct mem){.read = core_read, .close = core_close};
	m->core = c;
	return &m->mem;
}
