/* SPDX-License-Identifier: BSD-2-Clause */
/* The aggregate of a recording: applies events, and keeps a dictionary and counts by (stack,
 * process, thread, kind, status).  The same for a live node and a capture. */
#ifndef EBEAM_MODEL_PROFILE_H
#define EBEAM_MODEL_PROFILE_H

#include "base/error.h"
#include "event/event.h"
#include "model/profile/snapshot.h"

/* Limits on distinct (stack, process, thread, kind, status), and on frames of all their stacks
 * together; further samples are counted by kind and status under a thread and a frame
 * "[overflow]". */
#define PROFILE_LIMIT	   (1u << 20)
#define PROFILE_MAX_FRAMES (64u << 20)

struct profile;

struct profile *profile_open(void);
/* With another limit than PROFILE_LIMIT, for tests. */
struct profile *profile_open_limited(uint32_t max_entries);
/* A profile that uses a dictionary of the caller (borrowed), who must add the definitions to it. */
struct profile *profile_open_over(struct names *names);
void profile_close(struct profile *p);

/* 0; -EINVAL if the event refers to an undefined id, -ENOSPC if a definition is beyond the
 * dictionary's limits (both counted, state unchanged). */
int profile_apply(struct profile *p, const struct event *ev);

/* Counts a record that was refused before profile_apply(). */
void profile_count_refused(struct profile *p);
/* Multiplies all counts by `factor` (>= 1), rounded. */
void profile_scale(struct profile *p, double factor);

uint64_t profile_samples(const struct profile *p); /* sum of weights, idle excluded */

/* Immutable copy, grouped and filtered; free with snapshot_close().  Deterministic: it depends
 * neither on ids nor on the order of samples. */
int profile_snapshot(const struct profile *p, const struct snapshot_options *opts,
		     struct snapshot **out, struct error *err);

#endif
