/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the VM -> weighted samples: where the time of collections goes, who sends bytes, what
 * is on schedulers, what processes wait in.  Pure: events in, samples out.
 *
 *   gc     one sample for each collection: its time, or the words that it reclaimed
 *   msg    one for each message that was copied: its bytes
 *   sched  one for each slice, by the stack at its end: from in to out (`record` without a capture,
 *          unless probes may cost what they want, takes those of `wall` that are on schedulers)
 *   wait   of captures of these events: from out to in, by the stack at out, in two parts:
 *          SAMPLE_WAITING until something makes the process runnable, then SAMPLE_RUNNABLE.  A
 *          message is such a thing, or the slice ended with the process runnable; timers and
 *          signals are not seen: what they wake counts as waiting until it runs.
 *
 *   wall   nothing is weighed: samples of processes come with their time (process_watch.h of
 *          beam).  `record --mode wait` takes those of them that are off schedulers.
 *
 *   trace  one for each call of a traced function, by the stack of its callers; or for each that
 *          ended, the time that it took without what traced calls took that were made meanwhile
 *
 * What began before the first event of its process is not known and not counted; what has not ended
 * when the recording ends is counted until then.  Memory grows with the processes that are off (or
 * on) a scheduler, up to EVENT_WEIGHTS_PROCESSES.
 */
#ifndef EBEAM_MODEL_EVENT_WEIGHTS_H
#define EBEAM_MODEL_EVENT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/stream/event_stream.h"

#define EVENT_WEIGHTS_PROCESSES (1u << 20)

enum weight_source {
	WEIGHT_GC_TIME,
	WEIGHT_GC_WORDS,
	WEIGHT_MESSAGE,
	WEIGHT_ON,
	WEIGHT_OFF,
	WEIGHT_WALL, /* samples have their weights already */
	WEIGHT_CALLS,
	WEIGHT_CALL_TIME,
};

/* What `record --mode` can weigh, and `trace`. */
struct weight_mode {
	const char *name;   /* "gc" */
	const char *weight; /* "time", "words"; NULL = there is no choice */
	enum weight_source source;
	const char *unit;    /* "ns", "words", "bytes" */
	const char *title;   /* "time in GC" */
	uint64_t kinds;	     /* events that it needs, as a bit set */
	uint64_t scaled_by;  /* of these, those whose coverage says which part was seen */
	const char *unknown; /* events without weight, as a plural with its reason */
};

extern const struct weight_mode weight_modes[]; /* ends with name == NULL */

/* `record` reads it from memory, again and again; the others are weights of events. */
static inline bool weight_mode_reads_memory(const struct weight_mode *m)
{
	return m->source == WEIGHT_WALL || m->source == WEIGHT_OFF;
}

/* Of what was read from memory, is this a part of it? */
static inline bool weight_mode_takes(const struct weight_mode *m, enum sample_kind kind)
{
	bool on = kind == SAMPLE_RUNNING || kind == SAMPLE_GC || kind == SAMPLE_EXITING;

	return m->source == WEIGHT_ON ? on : m->source != WEIGHT_OFF || !on;
}

/* Of `trace`: no --mode of others. */
static inline bool weight_mode_is_calls(const struct weight_mode *m)
{
	return m->source == WEIGHT_CALLS || m->source == WEIGHT_CALL_TIME;
}

/* By name; weight NULL or "" is the first of that name.  NULL: there is none. */
const struct weight_mode *weight_mode_find(const char *name, const char *weight);

struct event_weights_counts {
	uint64_t samples;	/* that came out */
	uint64_t unknown;	/* events whose weight the node does not tell */
	uint64_t began_before;	/* ends whose beginning was not seen */
	uint64_t unfinished;	/* had not ended at the end; among the samples */
	uint64_t unfinished_ns; /* their sum */
	uint64_t gaps;		/* not counted: events were not watched in between */
	uint64_t overflow;	/* not counted: too many processes */
	uint64_t alone;		/* calls of which only the last caller is known, not the stack */
};

struct event_weights;

/* Takes a sample (type REC_SAMPLE, weight > 0). */
typedef void event_weights_fn(void *arg, const struct event *sample);

struct event_weights *event_weights_open(const struct weight_mode *mode, event_weights_fn *emit,
					 void *arg);
/* The same with another limit than EVENT_WEIGHTS_PROCESSES, which tests reach sooner. */
struct event_weights *event_weights_open_limited(const struct weight_mode *mode,
						 event_weights_fn *emit, void *arg,
						 uint32_t max_processes);
void event_weights_close(struct event_weights *w); /* NULL ok */

/* An event of the stream, as event_stream_take() gave it. */
void event_weights_take(struct event_weights *w, struct event_stream *s, enum event_kind kind,
			const struct event *ev);
/* A call, or the end of one (REC_CALL). */
void event_weights_call(struct event_weights *w, const struct event_stream *s,
			const struct event *ev);
/* What was watched (REC_COVERAGE). */
void event_weights_coverage(struct event_weights *w, const struct event_stream *s,
			    const struct event *ev);
/* The recording has ended at end_ns; call it once. */
void event_weights_finish(struct event_weights *w, const struct event_stream *s, uint64_t end_ns);
const struct event_weights_counts *event_weights_counts(const struct event_weights *w);

#endif
