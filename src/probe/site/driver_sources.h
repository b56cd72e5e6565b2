/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the events of drivers come from: the callbacks of the drivers that a node has now, in its
 * executable or in libraries.  One function may serve several drivers: one point then, whose
 * cookie says so (bpf/event_driver.bpf.h).
 */
#ifndef EBEAM_PROBE_DRIVER_SOURCES_H
#define EBEAM_PROBE_DRIVER_SOURCES_H

#include "beam/vm/drivers.h"
#include "probe/site/sources.h"

/* Kinds of events that are calls of callbacks. */
uint64_t driver_source_kinds(void);
/* Name of the callback whose calls are events of this kind; NULL = of another kind. */
const char *driver_source_callback(enum event_kind kind);
/*
 * Adds to a plan of source_plan() what gives those of `kinds` that are calls of callbacks; if the
 * drivers cannot be found, these kinds stay missing there.  Where none of the drivers has such a
 * callback there is nothing to attach to, and nothing to see.
 */
void driver_sources_add(struct source_plan *plan, const struct beam_node *n, uint64_t kinds);
/* As if there were a driver with all of them: points that stand nowhere. */
void driver_sources_everything(struct source_plan *plan);

#endif
