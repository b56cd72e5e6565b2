/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the VM made by hand, as the models of events take them: a dictionary that is filled
 * with definitions, and events that refer to it.
 */
#ifndef EBEAM_TESTS_EVENTFIX_H
#define EBEAM_TESTS_EVENTFIX_H

#include <stdint.h>

#include "model/stream/event_stream.h"

struct eventfix {
	struct event_stream stream;
	uint32_t strings, functions, processes; /* defined so far */
	uint64_t ts_ns;				/* of the event made last */
};

void eventfix_open(struct eventfix *f);
void eventfix_close(struct eventfix *f);

/* Each call makes a new entry. */
uint32_t eventfix_string(struct eventfix *f, const char *text);
uint32_t eventfix_function(struct eventfix *f, const char *module, const char *name, int arity);
/* "<0.N.0>"; registered NULL = none; function 0 = not known. */
uint32_t eventfix_process(struct eventfix *f, uint32_t n, const char *registered,
			  uint32_t function);

/* An event of a process, a microsecond after the one before, with nr values (uint64_t each). */
struct event eventfix_event(struct eventfix *f, uint32_t process, unsigned int nr, ...);

#endif
