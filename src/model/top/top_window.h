/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of the last seconds: a ring of intervals over one dictionary, which are added up to a
 * snapshot, and to parts of each scheduler's time.
 *
 * The same for a live node and a capture: the owner passes events, and ends intervals by
 * top_window_step().  Memory depends on the variety of samples in the window, and on the
 * dictionary, which only grows: when top_window_is_full(), the owner moves the window to a new
 * dictionary (top_window_move()), without loss.
 *
 * A thread that sleeps has no samples: its sleep is computed from the `freq` samples a second that
 * a working thread has.  Samples of a capture that stand for sleep ("[idle]", for all of it) are
 * ignored.
 */
#ifndef EBEAM_MODEL_TOP_WINDOW_H
#define EBEAM_MODEL_TOP_WINDOW_H

#include "base/error.h"
#include "event/event.h"
#include "model/profile/snapshot.h"
#include "model/top/top_frame.h"
#include "names/names.h"

#define TOP_WINDOW_SPAN_NS   5000000000ull
#define TOP_WINDOW_INTERVALS 64u /* with more the oldest is dropped early */
/* Distinct (stack, process, thread, kind, status) in one interval; further samples count as
 * "[overflow]". */
#define TOP_WINDOW_LIMIT (1u << 17)
/* Entries of one table of the dictionary from which on the window should be moved: a snapshot takes
 * a millisecond for each 2^18. */
#define TOP_WINDOW_NAMES (1u << 18)

struct top_window;

struct top_window_options {
	uint64_t span_ns;    /* 0: TOP_WINDOW_SPAN_NS */
	unsigned int freq;   /* samples a second of a thread that works; 0: as in the capture */
	struct names *names; /* filled by the caller (borrowed), if live.  NULL: from definitions */
	uint64_t start_ns;   /* begin of the first interval; 0: the first sample */
};

struct top_window *top_window_open(const struct top_window_options *o);
void top_window_close(struct top_window *w); /* NULL ok */

#define TOP_WINDOW_IDLE 1 /* result for a sample of a sleeping thread, which is not counted */

/* Takes samples, meta, and definitions (if names are not borrowed); ignores other events: 0,
 * TOP_WINDOW_IDLE, -EINVAL if the event refers to an undefined id, -ENOSPC if a definition is
 * beyond the dictionary's limits. */
int top_window_apply(struct top_window *w, const struct event *ev);
/* Ends the interval at now_ns (clock of samples), and drops intervals that are older than the
 * window.  An interval without duration is not added. */
void top_window_step(struct top_window *w, uint64_t now_ns);

/* Forgets all intervals; the next one begins at now_ns. */
void top_window_restart(struct top_window *w, uint64_t now_ns);

/* Over all intervals of the window, without the current one. */
uint64_t top_window_ns(const struct top_window *w); /* time covered; 0: no interval yet */
uint64_t top_window_samples(const struct top_window *w);
unsigned int top_window_freq(const struct top_window *w);

/* Snapshot of the window, to be freed by snapshot_close(). -ENODATA if there is no interval
 * yet. */
int top_window_snapshot(struct top_window *w, const struct snapshot_options *options,
			struct snapshot **out, struct error *err);

/* Highest number of each type of scheduler that was sampled since the start, within the limits of
 * the VM. */
void top_window_schedulers(const struct top_window *w, uint32_t *normal, uint32_t *dirty_cpu,
			   uint32_t *dirty_io);
/* Sets share[] and `known` of the frame's schedulers (one without samples slept), and the
 * frame's window_s and samples.  Without an interval or `freq` they are unknown. */
void top_window_shares(const struct top_window *w, struct top_frame *f);

/* Part of a scheduler's time to which a kind of samples belongs. */
enum top_share_kind top_share_of(enum sample_kind kind);

bool top_window_is_full(const struct top_window *w);
/* Continues with another dictionary (borrowed, of the same kind), into which the contents of the
 * window are copied.  The next interval begins at now_ns: call top_window_step() before. */
void top_window_move(struct top_window *w, struct names *names, uint64_t now_ns);

#endif
