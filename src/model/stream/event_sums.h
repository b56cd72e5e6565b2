/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of events that can be summed: sizes and durations. */
#ifndef EBEAM_MODEL_EVENT_SUMS_H
#define EBEAM_MODEL_EVENT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/catalogue.h"
#include "event/event.h"

/* Whether events of a kind have a size; the unit of sizes in bytes (0 = no size); the size of an
 * event in that unit (EVENT_UNKNOWN = none). */
bool event_has_size(enum event_kind kind);
unsigned int event_size_unit(enum event_kind kind);
uint64_t event_size(enum event_kind kind, const struct event *ev);

/* The same for durations. */
bool event_has_duration(enum event_kind kind);
uint64_t event_duration(enum event_kind kind, const struct event *ev);
/* Half width of the interval in which the true duration is, ns; EVENT_UNKNOWN: not known. */
uint64_t event_duration_error(enum event_kind kind, const struct event *ev);

#endif
