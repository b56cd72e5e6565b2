/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of one process as bytes; all reads of a node go through this interface.  Back ends: a
 * live process (process_vm_readv, falling back to /proc/PID/mem), a core file (PT_LOAD segments);
 * in tests recorded images, and an overlay that injects faults.
 *
 * Memory is only read.  Addresses are raddr, never pointers.
 */
#ifndef EBEAM_TARGET_MEM_H
#define EBEAM_TARGET_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef uint64_t raddr; /* an address in the target; 0 = none */

struct mem_range {
	raddr addr;
	void *buf;
	size_t size;
	int err; /* filled by mem_readv: 0 or negative errno; a range is read whole or not at all */
};

struct mem {
	/* Reads all `size` bytes or fails: 0 or -errno (-EFAULT unmapped, -ESRCH exited). */
	int (*read)(struct mem *m, raddr addr, void *buf, size_t size);
	/* Reads many ranges and sets the err of each.  Returns how many were read.  May be NULL:
	 * mem_readv() then calls read() for each. */
	size_t (*readv)(struct mem *m, struct mem_range *ranges, size_t nr);
	void (*close)(struct mem *m);
};

int mem_open_live(struct mem **out, int os_pid, struct error *err);

/*
 * Keeps pages of `inner` as they were when first read, at most 64 MiB: a walk over many small
 * structs that share pages needs one system call for 4 KiB.  Borrows `inner`.  Call
 * mem_cached_forget() before a walk that must see changes.
 */
struct mem *mem_open_cached(struct mem *inner);
void mem_cached_forget(struct mem *cached);

void mem_close(struct mem *m); /* NULL ok */

static inline int mem_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	return m->read(m, addr, buf, size);
}

size_t mem_readv(struct mem *m, struct mem_range *ranges, size_t nr);
/* Reads an object whose length is not known: `size` bytes; if the next page is unmapped, only the
 * bytes up to it (at least `least`), and sets the rest of buf to 0.  0 or negative errno. */
int mem_read_edge(struct mem *m, raddr addr, void *buf, size_t size, size_t least);
int mem_read_u32(struct mem *m, raddr addr, uint32_t *value);
int mem_read_u64(struct mem *m, raddr addr, uint64_t *value);
/* Reads a string, truncated to size - 1 bytes, and ends it with NUL.  0 or negative errno. */
int mem_read_string(struct mem *m, raddr addr, char *buf, size_t size);

#endif
