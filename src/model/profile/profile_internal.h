/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile holds, for profile.c (which fills it) and snapshot_build.c (which reads it). */
#ifndef EBEAM_MODEL_PROFILE_INTERNAL_H
#define EBEAM_MODEL_PROFILE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"
#include "model/profile/profile.h"
#include "names/names.h"

struct profile_entry {
	uint32_t stack, process, thread; /* ids of the dictionary; stack and process may be 0 */
	uint8_t kind, status;
	uint64_t count; /* samples, > 0 */
};

/* Counts of what was sampled, each different one once. */
struct profile_entries {
	VEC(struct profile_entry) v;
	struct idmap index;
	uint64_t stack_frames; /* of the stacks of all of them */
};
/* A sample; false: it refers to what was never defined. */
bool profile_entry_of(struct profile_entry *e, const struct names *names, const struct event *ev);
/* Adds e->count.  False: it would be one more than `max`, or too many frames, and is left out. */
bool profile_entries_add(struct profile_entries *s, const struct names *names,
			 const struct profile_entry *e, uint32_t max);
void profile_entries_free(struct profile_entries *s);

struct profile_span {
	uint64_t first_ns, last_ns; /* 0 = no sample */
};

struct profile_meta {
	char *key, *value; /* as recorded; owned */
};

struct profile_counter {
	const char *name; /* the dictionary's */
	uint64_t value, ts_ns;
};

struct profile {
	struct names *names;
	bool borrowed; /* the names */
	uint32_t max_entries;
	struct profile_entries entries;
	/* Samples beyond the limits, by "is it a sleeping thread", kind and status. */
	uint64_t overflow[2][NR_SAMPLE_KINDS][NR_SAMPLE_STATUSES];
	struct profile_span span[2]; /* of samples: of working threads, of sleeping ones */
	uint64_t samples;	     /* of working threads */
	uint64_t applied;	     /* of records, of all threads */
	uint64_t dropped_unknown;
	VEC(uint64_t) process_last_ns; /* latest sample, by process id - 1 */
	VEC(struct profile_meta) meta;
	VEC(struct profile_counter) counters;
	bool ended;
};

/* Does a sample stand for a sleeping thread: kind WAIT, and the leaf frame is the state [idle]?
 * A thread that spins while it waits burns CPU and is no such sample. */
bool profile_is_idle(const struct profile *p, uint32_t stack, uint8_t kind);

/* For who keeps samples by itself and adds them up again and again: forgets all samples, and adds
 * some; their ids are in the dictionary. */
void profile_clear_samples(struct profile *p);
void profile_add(struct profile *p, const struct profile_entry *e, uint64_t ts_ns);
void profile_add_overflow(struct profile *p, uint8_t kind, uint8_t status, uint64_t count);
/* Of one without samples, over a dictionary that is borrowed: another one.  Counters go. */
void profile_use_names(struct profile *p, struct names *names);

#endif
