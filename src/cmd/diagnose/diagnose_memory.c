/* SPDX-License-Identifier: BSD-2-Clause */
/* diagnose: samples of memory, by type, by allocator, and of the RSS. */
#include "cmd/diagnose/diagnose.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/memory.h"
#include "beam/vm/resident.h"

/* If reading what the RSS consists of takes so long, the pause after it is so many times longer:
 * meanwhile the kernel lets the node map nothing. */
#define RESIDENT_LONG_NS 100000000u
#define RESIDENT_REST	 20u

static const struct {
	const char *type;
	size_t offset;
} memory_types[] = {
	{"total", offsetof(struct memory, total)},
	{"processes", offsetof(struct memory, processes)},
	{"binary", offsetof(struct memory, binary)},
	{"ets", offsetof(struct memory, ets)},
	{"code", offsetof(struct memory, code)},
	{"atom", offsetof(struct memory, atom)},
};

static struct diagnosed_allocator *allocator_of(struct diagnose *g, const char *type)
{
	struct diagnosed_allocator new = {.type = NULL};

	for (size_t i = 0; i < g->d.allocators.len; i++)
		if (strcmp(g->d.allocators.data[i].type, type) == 0)
			return &g->d.allocators.data[i];
	new.type = diagnose_text(g, type);
	vec_push(&g->d.allocators, new);
	return &g->d.allocators.data[g->d.allocators.len - 1];
}

static void sample_allocators(struct diagnose *g, const struct allocators *all)
{
	for (size_t i = 0; i < g->d.allocators.len; i++)
		g->d.allocators.data[i].blocks_size = g->d.allocators.data[i].carriers_size = 0;
	for (size_t i = 0; i < all->v.len; i++) {
		struct diagnosed_allocator *a = allocator_of(g, all->v.data[i].type);

		a->blocks_size += all->v.data[i].blocks_size;
		a->carriers_size += all->v.data[i].carriers_size;
	}
	for (size_t i = 0; i < g->d.allocators.len; i++)
		series_add(&g->d.allocators.data[i].blocks,
			   (double)allocators_blocks_size(all, g->d.allocators.data[i].type));
}

/* The kernel walks all memory of the node for this. */
static void sample_malloc(struct diagnose *g, const struct allocators *all)
{
	uint64_t began = clock_monotonic_ns(), now;
	struct resident resident;
	struct error ignored;

	/* With allocators that are disabled, memory of the VM is malloc's. */
	if (g->n->core || all->disabled || began < g->resident_ns ||
	    resident_read(&resident, g->n, all, &ignored) != 0)
		return;
	series_add(&g->d.malloc, (double)resident.part[RESIDENT_malloc]);
	now = clock_monotonic_ns();
	if (now - began < RESIDENT_LONG_NS)
		return;
	g->resident_ns = now + RESIDENT_REST * (now - began);
	g->d.malloc_is_uneven = true;
}

void diagnose_memory_sample(struct diagnose *g)
{
	struct diagnosis *d = &g->d;
	struct allocators allocators = {0};
	struct memory memory = {0};
	struct error ignored;

	if (!g->n->anchors.allocators || allocators_read(&allocators, g->n, &ignored) != 0)
		return;
	if (memory_read(&memory, g->n, &allocators, &ignored) == 0) {
		for (size_t i = 0; i < ARRAY_SIZE(memory_types); i++) {
			const struct diagnosed_memory new = {.type = memory_types[i].type};
			uint64_t value;

			memcpy(&value, (char *)&memory + memory_types[i].offset, sizeof(value));
			if (d->memory.len <= i)
				vec_push(&d->memory, new);
			if (value != MEMORY_UNKNOWN)
				series_add(&d->memory.data[i].bytes, (double)value);
		}
	}
	if (memory.areas.loaded_code != MEMORY_UNKNOWN && memory.areas.loaded_code)
		series_add(&d->code, (double)memory.areas.loaded_code);
	d->timers_size = allocators.has_fix ? allocators.fix.timers : 0;
	g->carriers_known = !allocators.unreadable && !allocators.disabled;
	sample_allocators(g, &allocators);
	sample_malloc(g, &allocators);
	allocators_free(&allocators);
}
