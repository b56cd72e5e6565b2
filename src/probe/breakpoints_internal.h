/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of breakpoints.h share. */
#ifndef EBEAM_PROBE_BREAKPOINTS_INTERNAL_H
#define EBEAM_PROBE_BREAKPOINTS_INTERNAL_H

#include <linux/perf_event.h>

#include "probe/breakpoints.h"

/* Of an execution breakpoint in user space, disabled. */
struct perf_event_attr breakpoints_attr(uint64_t addr);
/* Why it cannot be had; returns rc. */
int breakpoints_refuse(int rc, struct error *err);

#endif
