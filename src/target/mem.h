/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of one process as bytes: the seam through which everything that reads a node goes.
 * Back ends: a live process (process_vm_readv, falling back to /proc/PID/mem), a core file
 * (PT_LOAD segments), a recorded image (tests), an overlay that injects faults over another.
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
 * Recorded image: "EBEAMIMG", then u64 addr, u64 size, bytes... per range; written by
 * tools/memsnap.  mem_open_image copies; the buffer may go.
 */
#define MEM_IMAGE_MAGIC "EBEAMIMG"
int mem_open_image(struct mem **out, const void *image, size_t size, struct error *err);

/* Records every range that is read through it, for mem_recorder_image().  Borrows `inner`. */
int mem_open_recorder(struct mem **out, struct mem *inner);
/* The image of everything read so far, merged and sorted (of bytes that were read twice the later
 * value); caller frees.  NULL if more than 256 MiB were touched. */
void *mem_recorder_image(struct mem *recorder, size_t *size);

/* Fails reads that touch [fault, fault + fault_size) with -EFAULT, and the nth read (1..) if
 * nth > 0.  Borrows `inner`. */
int mem_open_faulty(struct mem **out, struct mem *inner, raddr fault, size_t fault_size,
		    uint64_t nth);

/*
 * Keeps pages of `inner` as they were when they were first read: for walks through many small
 * neighbours, one system call each 4 KiB instead of one each.  At most 64 MiB.  Borrows `inner`.
 * mem_cached_forget() before a walk that must see what changed since.
 */
int mem_open_cached(struct mem **out, struct mem *inner);
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
