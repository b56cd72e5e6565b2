/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Garbage collections, added up: by process, name, initial call, or the function in which they
 * happened.  From the events gc_minor_end and gc_major_end.
 *
 * Counts are of events that were seen; if only a part was, the caller scales them to estimates.
 */
#ifndef EBEAM_MODEL_GC_STATS_H
#define EBEAM_MODEL_GC_STATS_H

#include "abi/record.h"
#include "base/histogram.h"
#include "model/process/process_group.h"

struct event;
struct event_stream;

#define GC_STATS_KINDS (1ull << EVENT_GC_MINOR_END | 1ull << EVENT_GC_MAJOR_END)

struct gc_count {
	uint64_t minor, major; /* collections, also dirty ones */
	uint64_t dirty;	       /* of minor and major: on dirty schedulers */
	uint64_t continued;    /* minor ones that became major, whose pause counts as major */
	uint64_t total_ns, max_ns;
	uint64_t dirty_ns;	 /* part of total_ns on dirty schedulers */
	uint64_t estimate_ns;	 /* total_ns scaled to all collections; set by the caller */
	uint64_t reclaimed;	 /* words; unknown ones are not in it */
	uint64_t unknown;	 /* collections whose reclaimed words are not known */
	uint64_t allocated;	 /* words that were new; unknown ones are not in it */
	uint64_t reported;	 /* collections that said how many words were new */
	uint64_t heap, old_heap; /* words, after the last one; EVENT_UNKNOWN = not known */
	uint64_t max_heap;	 /* words of both heaps after a collection: the maximum */
};

struct gc_stats {
	const struct event_stream *stream;
	struct process_groups groups;
	VEC(struct gc_count) counts; /* by group; may be shorter than the groups */
	struct gc_count total;
	/* Pauses, ns: on normal schedulers, and on dirty ones. */
	struct histogram minor, major, dirty;
	uint64_t longer_than_ns; /* shorter collections are ignored */
};

/* `max` groups at most; 0 = PROCESS_GROUPS_MAX. */
void gc_stats_open(struct gc_stats *s, const struct event_stream *stream, enum process_group_by by,
		   uint32_t max, uint64_t longer_than_ns);
void gc_stats_close(struct gc_stats *s);
/* Resets all counts, for the next interval. */
void gc_stats_restart(struct gc_stats *s);

/* Counts an event of GC_STATS_KINDS.  False if it is of another kind, or was too short. */
bool gc_stats_take(struct gc_stats *s, enum event_kind kind, const struct event *ev);

#endif
