/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_sums.h. */
#include "model/stream/event_sums.h"

#include "base/compiler.h"
#include "model/stream/event_stream.h"

#define NO_FIELD UINT8_MAX
#define WORD	 8u

/* Fields that are summed. */
static const struct {
	enum event_kind kind;
	uint8_t size, unit; /* unit: bytes */
	uint8_t duration;
} fields[] = {
	{EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), WORD, NO_FIELD},
	{EVENT_MESSAGE_QUEUED, EVENT_AT(MESSAGE_QUEUED, SIZE), WORD, NO_FIELD},
	{EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, RECLAIMED), WORD,
	 EVENT_AT(GC_MINOR_END, DURATION)},
	{EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, RECLAIMED), WORD,
	 EVENT_AT(GC_MAJOR_END, DURATION)},
	{EVENT_LONG_GC, NO_FIELD, 0, EVENT_AT(LONG_GC, DURATION)},
	{EVENT_LONG_SCHEDULE, NO_FIELD, 0, EVENT_AT(LONG_SCHEDULE, DURATION)},
	{EVENT_NIF_RETURN, NO_FIELD, 0, EVENT_AT(NIF_RETURN, DURATION)},
	{EVENT_DRIVER_OUTPUT, EVENT_AT(DRIVER_OUTPUT, BYTES), 1, NO_FIELD},
	{EVENT_DRIVER_OUTPUTV, EVENT_AT(DRIVER_OUTPUTV, BYTES), 1, NO_FIELD},
	{EVENT_COPY_STRUCT, EVENT_AT(COPY_STRUCT, SIZE), WORD, NO_FIELD},
	{EVENT_COPY_OBJECT, EVENT_AT(COPY_OBJECT, SIZE), WORD, NO_FIELD},
	{EVENT_CARRIER_CREATE, EVENT_AT(CARRIER_CREATE, SIZE), 1, NO_FIELD},
	{EVENT_CARRIER_DESTROY, EVENT_AT(CARRIER_DESTROY, SIZE), 1, NO_FIELD},
	{EVENT_CARRIER_POOL_PUT, EVENT_AT(CARRIER_POOL_PUT, SIZE), 1, NO_FIELD},
	{EVENT_CARRIER_POOL_GET, EVENT_AT(CARRIER_POOL_GET, SIZE), 1, NO_FIELD},
	{EVENT_DIST_OUTPUT, EVENT_AT(DIST_OUTPUT, SIZE), 1, NO_FIELD},
	{EVENT_DIST_OUTPUTV, EVENT_AT(DIST_OUTPUTV, SIZE), 1, NO_FIELD},
};

/* Index of a kind in fields[]; ARRAY_SIZE(fields) = it has no such field. */
static size_t fields_of(enum event_kind kind)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(fields) && fields[i].kind != kind)
		i++;
	return i;
}

bool event_has_size(enum event_kind kind)
{
	size_t i = fields_of(kind);

	return i < ARRAY_SIZE(fields) && fields[i].size != NO_FIELD;
}

unsigned int event_size_unit(enum event_kind kind)
{
	size_t i = fields_of(kind);

	return i < ARRAY_SIZE(fields) ? fields[i].unit : 0;
}

uint64_t event_size(enum event_kind kind, const struct event *ev)
{
	return event_has_size(kind) ? event_value(ev, fields[fields_of(kind)].size) : EVENT_UNKNOWN;
}

bool event_has_duration(enum event_kind kind)
{
	size_t i = fields_of(kind);

	return i < ARRAY_SIZE(fields) && fields[i].duration != NO_FIELD;
}

uint64_t event_duration_error(enum event_kind kind, const struct event *ev)
{
	switch (kind) {
	case EVENT_GC_MINOR_END:
		return event_value(ev, EVENT_AT(GC_MINOR_END, ERROR));
	case EVENT_GC_MAJOR_END:
		return event_value(ev, EVENT_AT(GC_MAJOR_END, ERROR));
	case EVENT_LONG_GC:
		return event_value(ev, EVENT_AT(LONG_GC, ERROR));
	case EVENT_LONG_SCHEDULE:
		return event_value(ev, EVENT_AT(LONG_SCHEDULE, ERROR));
	case EVENT_NIF_RETURN:
		return event_value(ev, EVENT_AT(NIF_RETURN, ERROR));
	default:
		return EVENT_UNKNOWN;
	}
}

uint64_t event_duration(enum event_kind kind, const struct event *ev)
{
	return event_has_duration(kind) ? event_value(ev, fields[fields_of(kind)].duration)
					: EVENT_UNKNOWN;
}
