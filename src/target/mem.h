/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of one process as bytes: the seam through which everything that reads a node goes.
 * Back ends: a live process (process_vm_readv, falling back to /proc/PID/mem), a core file
 * (PT_LOAD segments); of tests recorded images and an overlay that injects faults.
 *
 * Only ever reads.  Addresses are raddr, never pointers.
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
	int err; /* filled by mem_readv: 0 or negative errno, this range read whole or not at all */
};

struct mem {
	/* Read all `size` bytes or fail: 0 or negative errno (-EFAULT unmapped, -ESRCH gone). */
	int (*read)(struct mem *m, raddr addr, void *buf, size_t size);
	/* Many ranges at once; every range gets its own err.  Returns how many succeeded.
	 * May be NULL: mem_readv() then reads one by one. */
	size_t (*readv)(struct mem *m, struct mem_range *ranges, size_t nr);
	void (*close)(struct mem *m);
};

int mem_open_live(struct mem **out, int os_pid, struct error *err);

/*
 * Keeps pages of `inner` as they were when they were first read: for walks through many small
 * neighbours, one system call each 4 KiB instead of one each.  At most 64 MiB.  Borrows `inner`.
 * mem_cached_forget() before a walk that must see what changed since.
 */
struct mem *mem_open_cached(struct mem *inner);
void mem_cached_forget(struct mem *cached);

void mem_close(struct mem *m); /* NULL ok */

static inline int mem_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	return m->read(m, addr, buf, size);
}

size_t mem_readv(struct mem *m, struct mem_range *ranges, size_t nr);
/* Of a thing of unknown length: size bytes, or, where what follows its page is not mapped, up to
 * there, if that is `least` bytes or more; what is missing is 0. */
int mem_read_edge(struct mem *m, raddr addr, void *buf, size_t size, size_t least);
int mem_read_u32(struct mem *m, raddr addr, uint32_t *value);
int mem_read_u64(struct mem *m, raddr addr, uint64_t *value);
/* A NUL terminated string of at most size - 1 bytes; longer ones are cut.  0 or negative errno. */
int mem_read_string(struct mem *m, raddr addr, char *buf, size_t size);

#endif
