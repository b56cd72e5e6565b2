/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of drivers: probes on the callbacks of the drivers that a node has now, in its
 * executable or in libraries.  A function that is a callback of several drivers has one point,
 * with EVENT_COOKIE_SHARED in its cookie (bpf/event_driver.bpf.h). */
#ifndef EBEAM_PROBE_DRIVER_SOURCES_H
#define EBEAM_PROBE_DRIVER_SOURCES_H

#include "beam/vm/drivers.h"
#include "probe/site/sources.h"

/* Kinds of events that are calls of callbacks. */
uint64_t driver_source_kinds(void);
/* Name of the callback whose calls are events of this kind; NULL = the kind is not of callbacks. */
const char *driver_source_callback(enum event_kind kind);
/* Adds the points of those of `kinds` that are calls of callbacks to a plan of source_plan(); if
 * the drivers cannot be found, these kinds stay missing in it.  If no driver has the callback
 * there is nothing to attach to, and nothing to see. */
void driver_sources_add(struct source_plan *plan, const struct beam_node *n, uint64_t kinds);
/* Adds points for all callbacks, without addresses: for program trials. */
void driver_sources_everything(struct source_plan *plan);

#endif
