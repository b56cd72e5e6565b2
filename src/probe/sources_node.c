/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources of events that only a running node can tell: see sources.h. */
#include "probe/sources.h"

#include "base/compiler.h"
#include "base/log.h"
#include "beam/allocator_calls.h"
#include "beam/node.h"
#include "probe/driver_sources.h"

#define KIND(kind) (1ull << EVENT_##kind)
#define CARRIER_KINDS                                                                              \
	(KIND(CARRIER_CREATE) | KIND(CARRIER_DESTROY) | KIND(CARRIER_RESIZE) |                     \
	 KIND(CARRIER_POOL_PUT) | KIND(CARRIER_POOL_GET))

static void add_allocators(struct source_plan *p, struct beam_node *n, uint64_t kinds)
{
	struct source_found found[ALLOCATOR_CALLS_MAX];
	struct allocator_calls calls;
	struct error why;
	size_t nr = 0;

	if (allocator_calls_read(&calls, n, &why) != 0) {
		log_info("events of carriers: %s", why.msg);
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
	if (kinds & CARRIER_KINDS && !n->core && !n->identity.hidden)
		add_allocators(out, n, kinds);
}
