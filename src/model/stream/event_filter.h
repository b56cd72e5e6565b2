/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects events by what is known of their processes: the same for a node, where BPF has left
 * out most others, and for a capture. */
#ifndef EBEAM_MODEL_EVENT_FILTER_H
#define EBEAM_MODEL_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "model/stream/event_stream.h"

struct event_call {
	char module[256], function[256];
	int arity; /* -1 = no call is asked for */
};

/* Which events are selected; texts: NULL = any. */
struct event_filter {
	const char *process; /* "<0.80.0>", "0.80.0" or a registered name */
	struct event_call call;
	/* Of messages: sender (only a process of this node) and receiver. */
	const char *from, *to;
	/* For kinds with begin and end: only ends with a duration that is, or may be, at least
	 * this; 0 = all. */
	uint64_t longer_than_ns;
	VEC(uint32_t) process_of; /* by string id of a pid: its process that sent last */
};

/* Parses "mod:fun/1", "'my mod':'a fun'/1", "MyApp.Worker.init/1".  0 or -EINVAL. */
int event_call_parse(const char *text, struct event_call *out);

/* Makes a filter that selects all events. */
void event_filter_init(struct event_filter *f);
void event_filter_free(struct event_filter *f);
/* Whether a process is selected, by `process` and `call`. */
bool event_filter_is_about(const struct event_filter *f, const struct event_stream *s,
			   uint32_t process);
/* Bit set of kinds of which probes deliver events that longer_than_ns leaves out. */
uint64_t event_filter_lasting_kinds(void);
bool event_filter_takes(struct event_filter *f, const struct event_stream *s, enum event_kind kind,
			const struct event *ev);

#endif
