/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records -> events of the VM with all that is needed to understand them: the dictionary, what
 * was watched, counters, and the facts about the recording.  The same for a node and a capture;
 * what each view, exporter and mode is built on.
 */
#ifndef EBEAM_MODEL_EVENT_STREAM_H
#define EBEAM_MODEL_EVENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "model/stream/coverage.h"
#include "names/names.h"

#define EVENT_STREAM_TEXT 256

/* What a scheduler did when watching began. */
struct event_scheduler {
	enum thread_type type;
	uint16_t number;
	bool busy; /* with a process or a port */
};
#define EVENT_STREAM_SCHEDULERS 4096u

/* What limits let be seen of the calls of Erlang functions; reported at the end. */
struct event_stream_limited {
	uint64_t tripped; /* times that the hits of a thread were spent */
	/* See struct breakpoints_state: of the calls, of their number, of the time. */
	double share, error, time;
	double hits; /* of entries of all these functions, whatever was asked for */
	double most;
};
/* "12 0.04 0.12 0.035 2000 25": its fields, in order. */
#define EVENT_STREAM_LIMITED_KEY "calls_watched"
/* "12 40000 ...", of older versions: `tripped`, and `time` in millionths. */
#define EVENT_STREAM_LIMITED_OLD_KEY "calls_limited"

/* Calls of functions: [0] of Erlang functions, [1] of C functions. */
struct event_stream_calls {
	unsigned int hit_ns[2];	   /* what a hit takes of the node; 0 = not known */
	enum coverage_state state; /* of the probes of C functions */
	uint64_t tripped;	   /* times that they were taken away */
	uint32_t share_ppm;	   /* what was seen of those calls; only if tripped */
	struct event_stream_limited limited;
};

struct event_stream {
	struct names *names;
	struct coverage coverage;
	struct event_stream_calls calls;
	VEC(int16_t) kind_of; /* by string id: kind + 1, 0 = not looked at yet, -1 = none we know */
	VEC(int16_t) word_of; /* the same of enum event_word */
	uint64_t counters[NR_COUNTERS];
	/* REC_META; "" and 0 = not known. */
	char node[EVENT_STREAM_TEXT], otp[16], erts[32], flavor[8], mode[16], weight[16];
	char untested[64]; /* "" = the release is known */
	int os_pid;
	unsigned int schedulers;
	uint64_t start_epoch_ns, start_ns;    /* of one moment; start_ns is CLOCK_MONOTONIC */
	uint64_t duration_ns;		      /* reported at the end */
	uint64_t last_ns;		      /* of the newest event */
	uint64_t watching_ns;		      /* when the probes were there; 0 = not known */
	uint64_t watched;		      /* kinds that came; all if it is not known */
	uint64_t unprobed;		      /* of these, what was seen in memory */
	VEC(struct event_scheduler) at_start; /* schedulers then; none = not known */
	/* Kinds of another version; records that do not decode or fit. */
	uint64_t unknown, refused;
	bool ended; /* the recording ended as intended */
};

void event_stream_open(struct event_stream *s);
void event_stream_close(struct event_stream *s);

/*
 * Takes one record.  True if it is an event of the VM of a kind that we know: *ev and *kind then
 * tell which.  Everything else is kept here.
 */
bool event_stream_take(struct event_stream *s, const struct rec_header *rec, struct event *ev,
		       enum event_kind *kind);
/* Of a call, or the end of one: is the function C? */
bool event_stream_call_is_c(const struct event_stream *s, const struct event *ev);

/* Value of a field by its place, EVENT_AT(kind, field); EVENT_UNKNOWN if the record has no such
 * field (another version). */
uint64_t event_value(const struct event *ev, unsigned int field);
/* The same for ids: 0 if there is none. */
uint32_t event_value_id(const struct event *ev, unsigned int field);
/* enum event_word of a FIELD_WORD's value. */
enum event_word event_stream_word(struct event_stream *s, uint32_t string);

/* CLOCK_REALTIME of a time of events. */
static inline uint64_t event_stream_epoch_ns(const struct event_stream *s, uint64_t ts_ns)
{
	return s->start_epoch_ns + (ts_ns - s->start_ns);
}

/* Does text name the process (registered name, "<0.80.0>", "0.80.0")? */
bool event_stream_is_process(const struct event_stream *s, uint32_t process, const char *text);

#endif
