/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structs of a block of processes.  They are allocated side by side, so what follows each other
 * in memory is read as one run: a range costs the kernel more than the bytes of several structs.
 */
#include "beam/process_internal.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/xalloc.h"

/* Bytes between two structs that are read along; too few for a page of their own. */
#define GAP_MAX 256u

struct place {
	raddr addr;
	uint32_t index; /* in the block */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* How many of the places from the first on make one run of at most max bytes; its bytes. */
static size_t take_run(const struct place *places, size_t nr, size_t size, size_t max,
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

/* A run that holds one that is gone is read one by one. */
static void take_places(struct process_reader *r, struct process_block *b,
			const struct place *places, size_t nr, const struct mem_range *run)
{
	size_t size = (size_t)r->l->process_size;
	uint8_t *alone = run->err && nr > 1 ? xmalloc(size) : NULL;

	for (size_t i = 0; i < nr; i++) {
		uint32_t k = places[i].index;
		const uint8_t *bytes = NULL;

		if (!run->err)
			bytes = (const uint8_t *)run->buf + (places[i].addr - run->addr);
		else if (alone && mem_read(r->mem, places[i].addr, alone, size) == 0)
			bytes = alone;
		process_take(r, &b->facts[k], &b->pending[k], bytes);
	}
	free(alone);
}

void process_read_structs(struct process_reader *r, struct process_block *b)
{
	size_t size = (size_t)r->l->process_size, max = PROCESS_BATCH * size;
	struct place *places = xmalloc(MAX(b->nr, 1u) * sizeof(*places));
	uint32_t starts[PROCESS_BATCH + 1];

	for (size_t i = 0; i < b->nr; i++)
		places[i] = (struct place){b->facts[i].addr, (uint32_t)i};
	qsort(places, b->nr, sizeof(*places), compare_places);
	for (size_t done = 0; done < b->nr;) {
		size_t nr = 0, used = 0, at = done, bytes;

		while (at < b->nr && nr < PROCESS_BATCH && used + size <= max) {
			starts[nr] = (uint32_t)at;
			at += take_run(places + at, b->nr - at, size, max - used, &bytes);
			r->ranges[nr] = (struct mem_range){.addr = places[starts[nr]].addr,
							   .buf = r->bytes + used,
							   .size = bytes};
			used += bytes;
			nr++;
		}
		starts[nr] = (uint32_t)at;
		mem_readv(r->mem, r->ranges, nr);
		for (size_t i = 0; i < nr; i++)
			take_places(r, b, places + starts[i], starts[i + 1] - starts[i],
				    &r->ranges[i]);
		done = at;
	}
	free(places);
}
