/* SPDX-License-Identifier: BSD-2-Clause */
/* Records -> events of the VM, with all that is needed to interpret them: the dictionary,
 * coverage, counters, and facts about the recording.  The same for a node and a capture; all
 * views, exporters and modes use it. */
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

/* State of a scheduler when watching began. */
struct event_scheduler {
	enum thread_type type;
	uint16_t number;
	bool busy; /* ran a process or a port */
};
#define EVENT_STREAM_SCHEDULERS 4096u

/* What was seen of the calls of Erlang functions despite limits; reported at the end. */
struct event_stream_limited {
	uint64_t tripped; /* times that a thread had used up its hits */
	/* See struct breakpoints_state: share of calls seen, error of their number, part of
	 * time. */
	double share, error, time;
	double hits; /* calls seen of all these functions, before filters */
	double most;
};
/* "12 0.04 0.12 0.035 2000 25": the fields above, in order. */
#define EVENT_STREAM_LIMITED_KEY "calls_watched"
/* "12 40000 ...", of older versions: `tripped`, and `time` in ppm. */
#define EVENT_STREAM_LIMITED_OLD_KEY "calls_limited"

/* Calls of functions: [0] of Erlang functions, [1] of C functions. */
struct event_stream_calls {
	unsigned int hit_ns[2];	   /* cost of a hit; 0 = not known */
	enum coverage_state state; /* of the probes of C functions */
	uint64_t tripped;	   /* times that they were disabled */
	uint32_t share_ppm;	   /* share of calls of C functions that was seen; if tripped */
	struct event_stream_limited limited;
};

struct event_stream {
	struct names *names;
	struct coverage coverage;
	struct event_stream_calls calls;
	VEC(int16_t) kind_of; /* by string id: kind + 1, 0 = not looked up yet, -1 = unknown kind */
	VEC(int16_t) word_of; /* likewise: enum event_word */
	uint64_t counters[NR_COUNTERS];
	/* REC_META; "" and 0 = not known. */
	char node[EVENT_STREAM_TEXT], otp[16], erts[32], flavor[8], mode[16], weight[16];
	char untested[64]; /* "" = a known release */
	int os_pid;
	unsigned int schedulers;
	uint64_t start_epoch_ns, start_ns;    /* of the same moment; start_ns is CLOCK_MONOTONIC */
	uint64_t duration_ns;		      /* reported at the end */
	uint64_t last_ns;		      /* of the newest event */
	uint64_t watching_ns;		      /* when the probes were attached; 0 = not known */
	uint64_t watched;		      /* kinds that were watched; all if not known */
	uint64_t unprobed;		      /* of these, kinds that are found by reading memory */
	VEC(struct event_scheduler) at_start; /* schedulers at watching_ns; empty = not known */
	/* Number of events of unknown kinds (other versions); of records that were refused. */
	uint64_t unknown, refused;
	bool ended; /* the recording ended as intended */
};

void event_stream_open(struct event_stream *s);
void event_stream_close(struct event_stream *s);

/* Takes one record, and sets *ev.  True if it is an event of the VM of a known kind: sets *kind.
 * Other records only update the stream. */
bool event_stream_take(struct event_stream *s, const struct rec_header *rec, struct event *ev,
		       enum event_kind *kind);
/* Whether the function of a call or return is C. */
bool event_stream_call_is_c(const struct event_stream *s, const struct event *ev);

/* Value of a field by its index, EVENT_AT(kind, field); EVENT_UNKNOWN if the record has no such
 * field (another version). */
uint64_t event_value(const struct event *ev, unsigned int field);
/* The same for ids: 0 if there is none. */
uint32_t event_value_id(const struct event *ev, unsigned int field);
/* enum event_word of a FIELD_WORD's value. */
enum event_word event_stream_word(struct event_stream *s, uint32_t string);

/* Converts the time of an event to CLOCK_REALTIME. */
static inline uint64_t event_stream_epoch_ns(const struct event_stream *s, uint64_t ts_ns)
{
	return s->start_epoch_ns + (ts_ns - s->start_ns);
}

/* Whether text is the process: registered name, "<0.80.0>", "0.80.0". */
bool event_stream_is_process(const struct event_stream *s, uint32_t process, const char *text);

#endif
