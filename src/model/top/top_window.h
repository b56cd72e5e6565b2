/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of the last seconds: a ring of intervals, all over one dictionary, that are added
 * up to a snapshot, and to what the time of each scheduler went to.
 *
 * Live and from a capture alike: whoever owns the window feeds it events and ends an interval
 * now and then.  Its memory depends on the variety of what was sampled in the window, and on
 * the dictionary, which only grows: when top_window_is_full(), the owner starts over with
 * another one (top_window_move()), and nothing that is in the window is lost.
 *
 * That a scheduler slept is not sampled: it is the time of which there are no samples, at
 * `freq` for each second.  Samples in a capture that say so ("[idle]", for the whole of it) are
 * left out.
 */
#ifndef EBEAM_MODEL_TOP_WINDOW_H
#define EBEAM_MODEL_TOP_WINDOW_H

#include "base/error.h"
#include "event/event.h"
#include "model/profile/snapshot.h"
#include "model/top/top_frame.h"
#include "names/names.h"

#define TOP_WINDOW_SPAN_NS   5000000000ull
#define TOP_WINDOW_INTERVALS 64u /* at most; a step then ends the oldest one early */
/* Distinct (stack, process, thread, kind, status) of one interval; samples beyond are counted as
 * "[overflow]". */
#define TOP_WINDOW_LIMIT (1u << 17)
/* Entries of one kind in the dictionary, from which on another one is better: reading a snapshot
 * takes time by them (a millisecond each 2^18). */
#define TOP_WINDOW_NAMES (1u << 18)

struct top_window;

struct top_window_options {
	uint64_t span_ns;    /* 0: TOP_WINDOW_SPAN_NS */
	unsigned int freq;   /* samples by second of a thread that works; 0: as the capture says */
	struct names *names; /* filled by others (borrowed): live.  NULL: from definitions */
	uint64_t start_ns;   /* of the first interval; 0: the first sample */
};

struct top_window *top_window_open(const struct top_window_options *o);
void top_window_close(struct top_window *w); /* NULL ok */

#define TOP_WINDOW_IDLE 1 /* a sample of a thread that waited: of no table, nor of their sum */

/* Takes in what a window is made of, and leaves all other events; 0, TOP_WINDOW_IDLE, -EINVAL if it
 * refers to what was never defined, -ENOSPC if a definition is beyond the dictionary's limits. */
int top_window_apply(struct top_window *w, const struct event *ev);
/* Ends the interval at now_ns (of the samples' clock), and forgets those that ended before the
 * window.  One of no length is none. */
void top_window_step(struct top_window *w, uint64_t now_ns);

/* Forgets all intervals; the next one begins at now_ns. */
void top_window_restart(struct top_window *w, uint64_t now_ns);

/* Of the whole window, without the interval that has not ended. */
uint64_t top_window_ns(const struct top_window *w); /* that it covers; 0: no interval yet */
uint64_t top_window_samples(const struct top_window *w);
unsigned int top_window_freq(const struct top_window *w);

/* Of the whole window: free with snapshot_close().  -ENODATA if there is no interval yet. */
int top_window_snapshot(struct top_window *w, const struct snapshot_options *options,
			struct snapshot **out, struct error *err);

/* Schedulers that were seen in samples since the start: the highest number of each type, of those
 * that a node can have. */
void top_window_schedulers(const struct top_window *w, uint32_t *normal, uint32_t *dirty_cpu,
			   uint32_t *dirty_io);
/*
 * share[] of the schedulers that the frame has (all that were not sampled slept), `known`, and the
 * frame's window_s and samples.  Without an interval or `freq` they are unknown.
 */
void top_window_shares(const struct top_window *w, struct top_frame *f);

/* What a kind of samples counts as. */
enum top_share_kind top_share_of(enum sample_kind kind);

bool top_window_is_full(const struct top_window *w);
/*
 * From now on over another dictionary (borrowed, of the same kind: it interns); what the window
 * holds is interned there.  The interval begins anew at now_ns: end the last one before.
 */
void top_window_move(struct top_window *w, struct names *names, uint64_t now_ns);

#endif
