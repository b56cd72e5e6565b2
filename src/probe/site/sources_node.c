/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources of events that need a running node: see sources.h. */
#include "probe/site/sources.h"

#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/vm/allocator_calls.h"
#include "probe/kernel/return_trial.h"
#include "probe/site/driver_sources.h"
#include "probe/site/libc_sources.h"

#define ALLOCATORS "Allctr_t"

/* Refuses kinds for the reason `why`, which replaces the reason that no function was found. */
static void refuse_carriers(struct source_plan *p, uint64_t kinds, const char *why)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		uint64_t one = 1ull << kind & kinds & SOURCE_CARRIER_KINDS;

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
	source_plan_found(p, n->elf, kinds & SOURCE_CARRIER_KINDS, found, nr);
}

/* Refuses kinds that need return probes if these would kill the node. */
static void refuse_returns(struct source_plan *p, const struct beam_node *n)
{
	uint64_t kinds = 0;
	struct error why;

	for (unsigned int i = 0; i < p->nr_points; i++)
		kinds |= p->points[i].at_return ? p->points[i].kinds : 0;
	if (!kinds || return_trial_check(n->os_pid, &why) == 0)
		return;
	p->unsafe_kinds = kinds;
	source_plan_take_out(p, kinds, "the return of a function",
			     "on this kernel a probe there would end a process with a seccomp "
			     "filter, as this node has");
}

static void add_carriers(struct source_plan *out, struct beam_node *n, uint64_t kinds)
{
	if (n->identity.hidden && elf_file_is_stripped(n->elf))
		refuse_carriers(out, kinds,
				"their callers may have copies of its functions, which no probe "
				"sees, and have no names in this build");
	else
		add_allocators(out, n, kinds);
}

void source_plan_node(struct source_plan *out, struct beam_node *n, uint64_t kinds,
		      enum source_choice choice, bool force)
{
	source_plan_of_node(out, n, kinds, choice);
	driver_sources_add(out, n, kinds);
	if (n->core)
		return;
	libc_sources_add(out, n, kinds);
	if (kinds & SOURCE_CARRIER_KINDS && !out->carriers_by_callers)
		add_carriers(out, n, kinds);
	if (!force)
		refuse_returns(out, n);
}
