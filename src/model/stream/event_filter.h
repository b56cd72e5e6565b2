/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events are wanted, by what is known of the processes that they are about: the same of a
 * node, where BPF has left out most others, and of a capture.
 */
#ifndef EBEAM_MODEL_EVENT_FILTER_H
#define EBEAM_MODEL_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "model/stream/event_stream.h"

struct event_call {
	char module[256], function[256];
	int arity; /* -1 = none is asked for */
};

/* NULL = any. */
struct event_filter {
	const char *process; /* "<0.80.0>", "0.80.0" or a registered name */
	struct event_call call;
	/* Of messages; those of no process of this node have no sender that could be named. */
	const char *from, *to;
	/* Of what has a beginning and an end only ends that took, or may have taken, as long; 0 =
	 * all. */
	uint64_t longer_than_ns;
	VEC(uint32_t) process_of; /* by string, its pid: the process that sent last */
};

/* "mod:fun/1", "'my mod':'a fun'/1", "MyApp.Worker.init/1".  0 or -EINVAL. */
int event_call_parse(const char *text, struct event_call *out);

/* Nothing is asked for. */
void event_filter_init(struct event_filter *f);
void event_filter_free(struct event_filter *f);
/* By process and initial call alone. */
bool event_filter_is_about(const struct event_filter *f, const struct event_stream *s,
			   uint32_t process);
/* Kinds of which longer_than_ns leaves events out that the probes gave, as a bit set. */
uint64_t event_filter_lasting_kinds(void);
bool event_filter_takes(struct event_filter *f, const struct event_stream *s, enum event_kind kind,
			const struct event *ev);

#endif
