/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the clocks and counters of hit_account.h: CPU time of the node, its own counts of its
 * work, and the CPU that ebeam needed to attach and detach probes.  For one thread. */
#ifndef EBEAM_PROBE_METER_H
#define EBEAM_PROBE_METER_H

#include <stdint.h>

#include "base/error.h"
#include "probe/limit/hit_account.h"

struct meter;
struct attach;

/* Addresses of counters in the node, the sum of which is its work: reductions of schedulers. */
#define METER_MAX_COUNTERS 1024
struct meter_counters {
	unsigned int nr; /* 0 = not known */
	uint64_t addrs[METER_MAX_COUNTERS];
};

/* Borrows the attach.  ERROR_KIND_FAILED. */
int meter_open(struct meter **out, const struct attach *a, int os_pid, struct error *err);
/* Sets the counters.  Returns the ns of CPU a second that the node has used since meter_open(). */
double meter_start(struct meter *m, const struct meter_counters *counters);
void meter_close(struct meter *m); /* NULL ok */

void meter_clocks(struct meter *m, struct hit_account_clocks *out);
/* CPU time of the node; as last read if the node is gone.  Cheap. */
uint64_t meter_node_ns(struct meter *m);
/* Sum of the counters; negative if they cannot be read. */
double meter_work(const struct meter *m);

#endif
