/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/mem_faulty.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/xalloc.h"

struct mem_faulty {
	struct mem mem;
	struct mem *inner;
	raddr fault;
	size_t fault_size;
	uint64_t nth, nr_reads;
};

/* Written so that ranges at the very top of the address space need no wrapped sum. */
static bool overlaps(raddr a, size_t a_size, raddr b, size_t b_size)
{
	if (a_size == 0 || b_size == 0)
		return false;
	return a < b ? b - a < a_size : a - b < b_size;
}

static int faulty_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct mem_faulty *f = CONTAINER_OF(m, struct mem_faulty, mem);

	f->nr_reads++;
	if (f->nr_reads == f->nth || overlaps(addr, size, f->fault, f->fault_size))
		return -EFAULT;
	return mem_read(f->inner, addr, buf, size);
}

static void faulty_close(struct mem *m)
{
	free(CONTAINER_OF(m, struct mem_faulty, mem));
}

struct mem *mem_open_faulty(struct mem *inner, raddr fault, size_t fault_size, uint64_t nth)
{
	struct mem_faulty *f = xcalloc(1, sizeof(*f));

	f->mem = (struct mem){.read = faulty_read, .close = faulty_close};
	f->inner = inner;
	f->fault = fault;
	f->fault_size = fault_size;
	f->nth = nth;
	return &f->mem;
}
