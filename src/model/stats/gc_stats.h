/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collections of garbage, added up: by process, name, initial call, or the function that ran into
 * them.  From the events gc_minor_end and gc_major_end.
 *
 * Counts are those of what was seen; who shows them scales them by what was sampled.
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
	uint64_t minor, major; /* collections, dirty ones among them */
	uint64_t dirty;	       /* of those: on dirty schedulers */
	uint64_t continued;    /* minor ones that went over into a major one, which has the pause */
	uint64_t total_ns, max_ns;
	uint64_t dirty_ns;	 /* of total_ns, on dirty schedulers */
	uint64_t estimate_ns;	 /* of what was not seen, too; set by who shows it */
	uint64_t reclaimed;	 /* words, of the collections that reported it */
	uint64_t unknown;	 /* collections that did not tell what they reclaimed */
	uint64_t heap, old_heap; /* words, after the last one; EVENT_UNKNOWN = not known */
	uint64_t max_heap;	 /* words of both, the largest after a collection */
};

struct gc_stats {
	const struct event_stream *stream;
	struct process_groups groups;
	VEC(struct gc_count) counts; /* by group; may be shorter than the groups */
	struct gc_count total;
	/* Pauses, ns: on normal schedulers, and on dirty ones. */
	struct histogram minor, major, dirty;
	uint64_t longer_than_ns; /* only those that took longer */
};

/* `max` groups at most; 0 = PROCESS_GROUPS_MAX. */
void gc_stats_open(struct gc_stats *s, const struct event_stream *stream, enum process_group_by by,
		   uint32_t max, uint64_t longer_than_ns);
void gc_stats_close(struct gc_stats *s);
/* Forgets what was counted, for the next interval. */
void gc_stats_restart(struct gc_stats *s);

/* An event of GC_STATS_KINDS; others are ignored.  False if it was too short, or ignored. */
bool gc_stats_take(struct gc_stats *s, enum event_kind kind, const struct event *ev);

#endif
