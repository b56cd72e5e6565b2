/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the keeper's thread has to tell whoever reads the events: which kinds are watched from when
 * on.  In order of time; any thread.
 */
#ifndef EBEAM_PROBE_KEEPER_CHANGES_H
#define EBEAM_PROBE_KEEPER_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"

/* From ts_ns on these kinds are watched or not. */
struct keeper_change {
	uint64_t ts_ns;
	uint64_t kinds; /* bit set; 0: only `work` is told */
	enum coverage_state state;
	/* Of all that happened so far, the part that was seen: by the reductions that the node
	 * did, because it does less while it is probed; where those are not known by its CPU time,
	 * without that of the probes. */
	uint32_t share_ppm;
	uint64_t work, missed; /* as in struct rec_coverage */
};

struct keeper_changes {
	pthread_mutex_t lock;
	VEC(struct keeper_change) queue;
	size_t next;
};

void keeper_changes_init(struct keeper_changes *c);
void keeper_changes_free(struct keeper_changes *c);
/* Whoever does not fetch loses only changes that others of the same kinds overtook: of each set of
 * kinds at least the last is kept. */
void keeper_changes_push(struct keeper_changes *c, const struct keeper_change *change);
/* The next one, if it is not after until_ns. */
bool keeper_changes_next(struct keeper_changes *c, uint64_t until_ns, struct keeper_change *out);

#endif
