/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources of events that only a running node can tell: see sources.h. */
#include "probe/sources.h"

#include "base/compiler.h"
#include "beam/allocator_calls.h"
#include "beam/node.h"
#include "probe/driver_sources.h"

#define KIND(kind) (1ull << EVENT_##kind)
#define CARRIER_KINDS                                                                              \
	(KIND(CARRIER_CREATE) | KIND(CARRIER_DESTROY) | KIND(CARRIER_RESIZE) |                     \
	 KIND(CARRIER_POOL_PUT) | KIND(CARRIER_POOL_GET))

#define ALLOCATORS "Allctr_t"

/* Why there are none, instead of that none was found. */
static void refuse_carriers(struct source_plan *p, uint64_t kinds, const char *why)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		uint64_t one = 1ull << kind & kinds & CARRIER_KINDS;

		if (!one || !p->missing[kind])
			continue;
		p->missing[kind] = NULL;
		source_plan_refuse(p, one, ALLOCATORS, why);
	}
}

static void add_allocators(struct source_plan *p, struct beam_node *n, uint64_t kinds)
{
	struct source_found found[ALLOCATOR_CALLS_MAX];
	struct allocator_calls calls;
	struct error why;
	size_t nr = 0;

	if (allocator_calls_read(&calls, n, &why) != 0) {
		refuse_carriers(p, kinds, why.msg);
		return;
	}
	for (size_t i = 0; i < calls.nr; i++) {
		uint64_t addr = calls.v[i].addr - n->bias;

		if (elf_file_offset_of(n->elf, addr) != UINT64_MAX)
			found[nr++] = (struct source_found){calls.v[i].name, addr};
	}
	source_plan_found(p, n->elf, kinds & CARRIER_KINDS, found, nr);
}

void source_plan_node(struct source_plan *out, struct beam_node *n, uint64_t kinds,
		      enum source_choice choice)
{
	source_plan_of_node(out, n, kinds, choice);
	driver_sources_add(out, n, kinds);
	/* Without symbols (OTP 29) they have places, but no call was ever seen there. */
	if (!(kinds & CARRIER_KINDS) || n->core)
		return;
	if (n->identity.hidden)
		refuse_carriers(out, kinds,
				"in builds without symbols no call was ever seen there");
	else
		add_allocators(out, n, kinds);
}
