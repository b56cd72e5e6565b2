/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the structs of a block of processes.  Structs that are close in memory are read as one
 * range, a run: the kernel needs more time for each range than for the bytes of several structs.
 */
#include "beam/process/process_internal.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/xalloc.h"

/* Largest gap between two structs of a run; less than a page. */
#define GAP_MAX 256u

static int compare_places(const void *a, const void *b)
{
	const struct process_address *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Number of structs from places[0] on that fit in a run of at most max bytes; *bytes is its
 * size. */
static size_t take_run(const struct process_address *places, size_t nr, size_t size, size_t max,
		       size_t *bytes)
{
	size_t i = 1;

	*bytes = size;
	while (i < nr && places[i].addr - places[i - 1].addr <= size + GAP_MAX &&
	       places[i].addr - places[0].addr + size <= max) {
		*bytes = places[i].addr - places[0].addr + size;
		i++;
	}
	return i;
}

/* Passes the structs of a run; if it could not be read as a whole, reads each by itself. */
static void take_run_of(struct process_reader *r, const struct process_address *places, size_t nr,
			const struct mem_range *run, process_struct_fn *take, void *arg)
{
	size_t size = (size_t)r->l->process_size;
	uint8_t *alone = run->err && nr > 1 ? xmalloc(size) : NULL;

	for (size_t i = 0; i < nr; i++) {
		const uint8_t *bytes = NULL;

		if (!run->err)
			bytes = (const uint8_t *)run->buf + (places[i].addr - run->addr);
		else if (alone && mem_read(r->mem, places[i].addr, alone, size) == 0)
			bytes = alone;
		take(arg, places[i].index, bytes);
	}
	free(alone);
}

void process_addresses_sort(struct process_address *places, size_t nr)
{
	if (nr)
		qsort(places, nr, sizeof(*places), compare_places);
}

void process_structs_each(struct process_reader *r, const struct process_address *places, size_t nr,
			  process_struct_fn *take, void *arg)
{
	size_t size = (size_t)r->l->process_size, max = PROCESS_BATCH * size;
	uint32_t starts[PROCESS_BATCH + 1];

	for (size_t done = 0; done < nr;) {
		size_t runs = 0, used = 0, at = done, bytes;

		while (at < nr && runs < PROCESS_BATCH && used + size <= max) {
			starts[runs] = (uint32_t)at;
			at += take_run(places + at, nr - at, size, max - used, &bytes);
			r->ranges[runs] = (struct mem_range){.addr = places[starts[runs]].addr,
							     .buf = r->bytes + used,
							     .size = bytes};
			used += bytes;
			runs++;
		}
		starts[runs] = (uint32_t)at;
		mem_readv(r->mem, r->ranges, runs);
		for (size_t i = 0; i < runs; i++)
			take_run_of(r, places + starts[i], starts[i + 1] - starts[i], &r->ranges[i],
				    take, arg);
		done = at;
	}
}

struct reading {
	const struct process_reader *r;
	struct process_block *b;
};

static void take_of_block(void *arg, uint32_t index, const uint8_t *bytes)
{
	const struct reading *x = arg;

	process_take(x->r, &x->b->facts[index], &x->b->pending[index], bytes);
}

void process_read_structs(struct process_reader *r, struct process_block *b)
{
	struct process_address *places = xmalloc(MAX(b->nr, 1u) * sizeof(*places));
	struct reading reading = {r, b};

	for (size_t i = 0; i < b->nr; i++)
		places[i] = (struct process_address){b->facts[i].addr, (uint32_t)i};
	process_addresses_sort(places, b->nr);
	process_structs_each(r, places, b->nr, take_of_block, &reading);
	free(places);
}
