/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents of a profile, shared by profile.c (which fills it) and snapshot_build.c (which reads
 * it). */
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

/* Counts of distinct samples. */
struct profile_entries {
	VEC(struct profile_entry) v;
	struct idmap index;
	uint64_t stack_frames; /* number of frames in all stacks of v */
};
/* Makes an entry from a sample; false if the sample refers to an undefined id. */
bool profile_entry_of(struct profile_entry *e, const struct names *names, const struct event *ev);
/* Adds e->count.  False: there are `max` entries or too many frames, and it was not added. */
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
	const char *name; /* owned by the dictionary */
	uint64_t value, ts_ns;
};

struct profile {
	struct names *names;
	bool borrowed; /* names are borrowed */
	uint32_t max_entries;
	struct profile_entries entries;
	/* Samples beyond the limits: [1] of sleeping threads, [0] of others; by kind and status. */
	uint64_t overflow[2][NR_SAMPLE_KINDS][NR_SAMPLE_STATUSES];
	struct profile_span span[2]; /* [0] of working threads, [1] of sleeping ones */
	uint64_t samples;	     /* of working threads */
	uint64_t applied;	     /* sum of weights, with sleeping threads */
	uint64_t dropped_unknown;
	VEC(uint64_t) process_last_ns; /* latest sample, by process id - 1 */
	VEC(struct profile_meta) meta;
	VEC(struct profile_counter) counters;
	bool ended;
};

/* Whether a sample stands for a sleeping thread: its kind is WAIT and its leaf frame the state
 * [idle]. (A thread that spins while it waits uses CPU, and is not one.) */
bool profile_is_idle(const struct profile *p, uint32_t stack, uint8_t kind);

/* For a caller that keeps the samples itself and adds them up again and again: to forget all
 * samples of the profile, and to add some, whose ids must be in the dictionary. */
void profile_clear_samples(struct profile *p);
void profile_add(struct profile *p, const struct profile_entry *e, uint64_t ts_ns);
void profile_add_overflow(struct profile *p, uint8_t kind, uint8_t status, uint64_t count);
/* Replaces the borrowed dictionary of a profile without samples.  Counters are dropped. */
void profile_use_names(struct profile *p, struct names *names);

#endif
