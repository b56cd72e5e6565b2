/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that all back ends of struct mem share: closing, mem_readv() for those without readv, typed
 * reads and strings.
 */
#include "target/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/compiler.h"

/* Strings are read in pieces that end at multiples of STRING_CHUNK: no piece crosses a page border,
 * and for a short name little more than the name is read. */
#define STRING_CHUNK  256
#define SMALLEST_PAGE 4096u

void mem_close(struct mem *m)
{
	if (m)
		m->close(m);
}

size_t mem_readv(struct mem *m, struct mem_range *ranges, size_t nr)
{
	size_t nr_ok = 0;

	if (m->readv)
		return m->readv(m, ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		ranges[i].err = mem_read(m, ranges[i].addr, ranges[i].buf, ranges[i].size);
		nr_ok += ranges[i].err == 0;
	}
	return nr_ok;
}

int mem_read_u32(struct mem *m, raddr addr, uint32_t *value)
{
	return mem_read(m, addr, value, sizeof(*value));
}

int mem_read_u64(struct mem *m, raddr addr, uint64_t *value)
{
	return mem_read(m, addr, value, sizeof(*value));
}

/* Reads byte by byte up to a NUL, at most `size` bytes: memory behind the string may be unmapped.
 * Returns how many were read (with the NUL), or negative errno. */
static ssize_t read_bytes(struct mem *m, raddr addr, char *buf, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		int err = mem_read(m, addr + i, buf + i, 1);

		if (err)
			return err;
		if (!buf[i])
			return (ssize_t)i + 1;
	}
	return (ssize_t)size;
}

int mem_read_edge(struct mem *m, raddr addr, void *buf, size_t size, size_t least)
{
	size_t left = SMALLEST_PAGE - (size_t)(addr % SMALLEST_PAGE);
	int rc = mem_read(m, addr, buf, size);

	if (rc != -EFAULT || left >= size || left < least)
		return rc;
	memset((char *)buf + left, 0, size - left);
	return mem_read(m, addr, buf, left);
}

int mem_read_string(struct mem *m, raddr addr, char *buf, size_t size)
{
	size_t done = 0;

	if (size == 0)
		return -EINVAL;
	buf[0] = '\0';
	while (done < size - 1) {
		raddr at = addr + done;
		size_t want = MIN(size - 1 - done, STRING_CHUNK - (size_t)(at % STRING_CHUNK));
		ssize_t got = (ssize_t)want;

		if (at < addr)
			return -EFAULT;
		if (mem_read(m, at, buf + done, want) != 0)
			got = read_bytes(m, at, buf + done, want);
		if (got < 0) {
			buf[0] = '\0';
			return (int)got;
		}
		if (memchr(buf + done, '\0', (size_t)got))
			return 0;
		done += (size_t)got;
	}
	buf[done] = '\0';
	return 0;
}
