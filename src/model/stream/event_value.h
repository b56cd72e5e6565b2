/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of an event's fields as text, by their types. */
#ifndef EBEAM_MODEL_EVENT_VALUE_H
#define EBEAM_MODEL_EVENT_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "names/names.h"

/* Whether values are numbers in JSON; else text. */
bool event_value_is_number(enum event_field_type type);
/* True if the event has an i-th value, and it is known. */
bool event_value_is_known(const struct event *ev, unsigned int i, enum event_field_type type);
/* Appends the text of a known value; false if it refers to an undefined id. */
bool event_value_add(struct strbuf *out, const struct names *names, enum event_field_type type,
		     uint64_t value);

#endif
