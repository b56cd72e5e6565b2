/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the VM -> weighted samples: time of collections, sent bytes, time on schedulers, time
 * in which processes wait.  Pure: events in, samples out.
 *
 *   gc     one sample for each collection: its time, or the words that it reclaimed
 *   alloc  one for each collection: words on the heap that are new since the last one of the
 *          process (or how many of them survived), as what fills a heap is a sample of who
 *          allocates; and one for each process that exits or hibernates, which no collection
 *          counts.  Large binaries likewise, in bytes.
 *   msg    one for each message that was copied: its bytes
 *   sched  one for each time slice, with the stack at its end: its time from in to out.  (`record`
 *          without a capture instead takes the samples of `wall` that are on schedulers, unless
 *          there is no limit on overhead.)
 *   wait   from captures of process_scheduled: the time from out to in, with the stack at out, in
 *          two parts: SAMPLE_WAITING until the process becomes runnable (by a message, or at once
 *          if it left the scheduler runnable), then SAMPLE_RUNNABLE.  Timers and signals are not
 *          seen: a process that they wake up counts as waiting until it runs.
 *
 *   wall   no weights: samples of processes have a time already (process_watch.h of beam).
 *          `record --mode wait` uses those of processes off schedulers.
 *
 *   malloc one for each sampled allocation of the C library: the bytes that it stands for; or at
 *          the end one for each of these blocks that leaked (leak_weights.h)
 *   offcpu no weights: samples of times off CPUs have one already (abi/record.h, rec_raw_off_cpu).
 *
 *   trace  one for each call of a traced function, with the stack of its callers; or for each call
 *          that ended: its time, less that of traced calls within it
 *
 * A time that began before the first event of its process is not counted; one that has not ended at
 * the end of the recording counts up to then.  Memory grows with the number of processes off (or
 * on) schedulers, up to EVENT_WEIGHTS_PROCESSES.
 */
#ifndef EBEAM_MODEL_EVENT_WEIGHTS_H
#define EBEAM_MODEL_EVENT_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile/leak_weights.h"
#include "model/stream/event_stream.h"

#define EVENT_WEIGHTS_PROCESSES (1u << 20)

enum weight_source {
	WEIGHT_GC_TIME,
	WEIGHT_GC_WORDS,
	WEIGHT_ALLOCATED,
	WEIGHT_SURVIVED,
	WEIGHT_BINARIES,
	WEIGHT_MESSAGE,
	WEIGHT_ON,
	WEIGHT_OFF,
	WEIGHT_WALL, /* samples have their weights already */
	WEIGHT_CALLS,
	WEIGHT_CALL_TIME,
	WEIGHT_MALLOC,
	WEIGHT_LEAK,
	WEIGHT_OFF_CPU, /* likewise; samples of threads that left their CPU */
	WEIGHT_LOCKS,	/* likewise, for locks only: of `ebeam locks` */
};

/* A mode of `record --mode`, or of `trace`. */
struct weight_mode {
	const char *name;   /* "gc" */
	const char *weight; /* "time", "words"; NULL = only one weight */
	enum weight_source source;
	const char *unit;   /* "ns", "words", "bytes" */
	const char *title;  /* "time in GC" */
	uint64_t kinds;	    /* events that it needs, as a bit set */
	uint64_t scaled_by; /* of these, kinds whose coverage scales the result; of WEIGHT_ALLOCATED
			      * and WEIGHT_BINARIES others are scaled by their own */
	const char *unknown; /* events without weight: plural, with the reason */
};

extern const struct weight_mode weight_modes[]; /* ends with name == NULL */

/* True if `record` samples memory for this mode; other modes weight events. */
static inline bool weight_mode_reads_memory(const struct weight_mode *m)
{
	return m->source == WEIGHT_WALL || m->source == WEIGHT_OFF;
}

/* True if samples are of times off CPUs. */
static inline bool weight_mode_is_off_cpu(const struct weight_mode *m)
{
	return m && (m->source == WEIGHT_OFF_CPU || m->source == WEIGHT_LOCKS);
}

/* Whether a sample that was read from memory belongs to the mode. */
static inline bool weight_mode_takes(const struct weight_mode *m, enum sample_kind kind)
{
	bool on = kind == SAMPLE_RUNNING || kind == SAMPLE_GC || kind == SAMPLE_EXITING;

	return m->source == WEIGHT_ON ? on : m->source != WEIGHT_OFF || !on;
}

/* A mode of `trace`, not of --mode. */
static inline bool weight_mode_is_calls(const struct weight_mode *m)
{
	return m->source == WEIGHT_CALLS || m->source == WEIGHT_CALL_TIME;
}

/* Finds a mode; weight NULL or "": the first mode of that name.  NULL: there is none. */
const struct weight_mode *weight_mode_find(const char *name, const char *weight);

struct event_weights_counts {
	uint64_t samples;	 /* emitted */
	uint64_t unknown;	 /* events whose weight is not known */
	uint64_t began_before;	 /* ends whose begin was not seen */
	uint64_t unfinished;	 /* times not ended at the end of the recording; also in samples */
	uint64_t unfinished_ns;	 /* sum of these times */
	uint64_t gaps;		 /* times not counted: events may be missing */
	uint64_t overflow;	 /* not counted: too many processes */
	uint64_t alone;		 /* calls with the last caller only, without stack */
	uint64_t unrecorded;	 /* kinds of the mode that were not recorded: a bit set */
	struct leak_result leak; /* of WEIGHT_LEAK */
};

struct event_weights;

/* Called with a sample (type REC_SAMPLE, weight > 0). */
typedef void event_weights_fn(void *arg, const struct event *sample);

struct event_weights *event_weights_open(const struct weight_mode *mode, event_weights_fn *emit,
					 void *arg);
/* With another limit than EVENT_WEIGHTS_PROCESSES, for tests. */
struct event_weights *event_weights_open_limited(const struct weight_mode *mode,
						 event_weights_fn *emit, void *arg,
						 uint32_t max_processes);
void event_weights_close(struct event_weights *w); /* NULL ok */

/* For each event that event_stream_take() returned. */
void event_weights_take(struct event_weights *w, struct event_stream *s, enum event_kind kind,
			const struct event *ev);
/* For each call, or end of one (REC_CALL). */
void event_weights_call(struct event_weights *w, const struct event_stream *s,
			const struct event *ev);
/* For each REC_COVERAGE. */
void event_weights_coverage(struct event_weights *w, const struct event_stream *s,
			    const struct event *ev);
/* At the end of the recording, once. */
void event_weights_finish(struct event_weights *w, const struct event_stream *s, uint64_t end_ns);
const struct event_weights_counts *event_weights_counts(const struct event_weights *w);

#endif
