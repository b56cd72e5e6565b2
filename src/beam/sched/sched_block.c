/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_block.h. */
#include "beam/sched/sched_block.h"

#include <string.h>

#include "abi/vm.h"
#include "beam/sched/sched.h"

static bool flags_of(const struct beam_node *n, uint32_t scheduler, uint32_t *flags)
{
	const struct beam_layout *l = &n->layout;
	raddr esdp = n->anchors.sched + (uint64_t)scheduler * (uint32_t)l->sched_stride;

	return sched_run_queue_flags(n->mem, l, esdp, flags) == 0;
}

/* True if all run queues but the first are suspended: blocked, or offline.  A single scheduler has
 * a flag instead. */
bool sched_block_possible(const struct beam_node *n)
{
	uint32_t flags;

	if (!n->anchors.sched || !n->anchors.nr_sched || !flags_of(n, 0, &flags))
		return false;
	if (n->anchors.nr_sched == 1)
		return flags & RUNQ_FLG_MSB_EXEC;
	for (uint32_t i = 1; i < n->anchors.nr_sched; i++)
		if (!flags_of(n, i, &flags) || !(flags & RUNQ_FLG_SUSPENDED))
			return false;
	return true;
}

void sched_block_add(struct sched_block *b, const struct process_facts *block, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (block[i].torn ||
		    !(block[i].flags & (F_HAVE_BLCKD_MSCHED | F_HAVE_BLCKD_NMSCHED)))
			continue;
		b->blocked = true;
		b->dirty |= (block[i].flags & F_HAVE_BLCKD_MSCHED) != 0;
		if (b->nr < SCHED_BLOCKERS_MAX)
			b->epid[b->nr] = block[i].epid;
		b->nr++;
	}
}

static int visit(void *arg, struct process_facts *block, size_t nr)
{
	sched_block_add(arg, block, nr);
	return 0;
}

void sched_block_read(struct beam_node *n, struct sched_block *out)
{
	struct process_totals totals;
	struct error ignored;

	memset(out, 0, sizeof(*out));
	if (sched_block_possible(n) && processes_scan(n, 0, visit, out, &totals, &ignored) != 0)
		memset(out, 0, sizeof(*out));
}
