/* SPDX-License-Identifier: BSD-2-Clause */
/* What the overhead controller's thread reports to the reader of events: which kinds are enabled
 * from when on.  In order of time; any thread. */
#ifndef EBEAM_PROBE_CONTROLLER_CHANGES_H
#define EBEAM_PROBE_CONTROLLER_CHANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"

/* From ts_ns on the probes of these kinds are in this state. */
struct controller_change {
	uint64_t ts_ns;
	uint64_t kinds; /* bit set; 0: only `work` is reported */
	enum coverage_state state;
	/* Estimated part of all events so far that was seen: part of the node's reductions that it
	 * did while the kinds were enabled.  Not part of the time, as it does less in the same time
	 * while it is probed.  Without reductions: part of its CPU time less that of the probes. */
	uint32_t share_ppm;
	uint64_t work, missed; /* as in struct rec_coverage */
};

struct controller_changes {
	pthread_mutex_t lock;
	VEC(struct controller_change) queue;
	size_t next;
};

void controller_changes_init(struct controller_changes *c);
void controller_changes_free(struct controller_changes *c);
/* If the queue is full, only changes are lost that are followed by others of the same kinds: at
 * least the last of each set of kinds is kept. */
void controller_changes_push(struct controller_changes *c, const struct controller_change *change);
/* Takes the next change out of the queue, if it is not later than until_ns; false = there is
 * none. */
bool controller_changes_next(struct controller_changes *c, uint64_t until_ns,
			     struct controller_change *out);

#endif
