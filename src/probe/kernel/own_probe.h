/* SPDX-License-Identifier: BSD-2-Clause */
/* A uprobe on a function of this program itself, to try what the kernel does; it only counts
 * hits. */
#ifndef EBEAM_PROBE_OWN_PROBE_H
#define EBEAM_PROBE_OWN_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/kernel/uprobe.h"

struct calibrate_bpf;

struct own_probe {
	struct calibrate_bpf *skel;
	struct uprobe uprobe;
};

/* Places the probe in the process `pid`: this one, or a child that is a copy of it.  0 or negative
 * errno; own_probe_remove() is needed in either case. */
int own_probe_attach(struct own_probe *p, const void *function, bool at_return, pid_t pid);
uint64_t own_probe_hits(const struct own_probe *p); /* exact if only one thread hits it */
void own_probe_remove(struct own_probe *p);

#endif
