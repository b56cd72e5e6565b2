/* SPDX-License-Identifier: BSD-2-Clause */
/* What of events can be added up: how large something was, and how long it lasted. */
#ifndef EBEAM_MODEL_EVENT_SUMS_H
#define EBEAM_MODEL_EVENT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/catalogue.h"
#include "event/event.h"

/* Kinds that say how large something was, in units of so many bytes (0: this one does not);
 * EVENT_UNKNOWN: this one, or this event, does not. */
bool event_has_size(enum event_kind kind);
unsigned int event_size_unit(enum event_kind kind);
uint64_t event_size(enum event_kind kind, const struct event *ev);

/* Kinds that say how long something took; EVENT_UNKNOWN: this one does not. */
bool event_has_duration(enum event_kind kind);
uint64_t event_duration(enum event_kind kind, const struct event *ev);
/* So much longer or shorter it may have been; EVENT_UNKNOWN: nobody says that. */
uint64_t event_duration_error(enum event_kind kind, const struct event *ev);

#endif
