/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of the last seconds, of a node or of a capture that is played: for the CPU in `top`.
 */
#ifndef EBEAM_CMD_TOP_SAMPLES_H
#define EBEAM_CMD_TOP_SAMPLES_H

#include "beam/node/node.h"
#include "cmd/command/command.h"
#include "cmd/run/summary.h"
#include "model/process/process_table.h"
#include "model/profile/snapshot.h"
#include "model/stats/event_rates.h"
#include "model/top/top_frame.h"

struct top_samples;

/* Starts sampling.  Borrows the node and the options. */
int top_samples_open(struct top_samples **out, struct beam_node *n, const struct options *opt,
		     unsigned int freq, struct error *err);
/* Plays duration_ns of a capture (0: all).  Borrows path. */
int top_samples_open_capture(struct top_samples **out, const char *path, uint64_t duration_ns,
			     struct error *err);
void top_samples_close(struct top_samples *s); /* NULL ok */

/* Drains the rings, for SOURCE_DRAIN_NS at most; to be called about ten times a second. */
int top_samples_drain(struct top_samples *s, struct error *err);
/* Ends an interval: puts shares of schedulers, number of samples and losses into the frame. */
int top_samples_step(struct top_samples *s, struct top_frame *f, struct error *err);
/* Of a capture, instead of the two above: plays its next step_ns into the frame. */
int top_samples_play(struct top_samples *s, struct top_frame *f, uint64_t step_ns,
		     struct error *err);
/* Of a capture: rates of its events in the last step; NULL = none so far. */
struct event_rates *top_samples_events(struct top_samples *s);
/* At the end of a capture: warns if it is damaged.  0, or the exit code for that. */
int top_samples_warn(const struct top_samples *s);
/* After a pause: empties the window, which has samples again from the second step on. */
int top_samples_restart(struct top_samples *s, struct error *err);
/* Adds samples, by status, and counters since the start; replaces the cost to the node. */
void top_samples_add_summary(struct top_samples *s, struct summary *to);
bool top_samples_ended(const struct top_samples *s); /* the capture is played to its end */
/* Snapshot of the window of the last step, valid until the next; NULL = there is none yet. */
const struct snapshot *top_samples_snapshot(const struct top_samples *s);
/* Samples that a fully busy core has in the window; 0 = no window yet, or `s` is NULL. */
double top_samples_of_core(const struct top_samples *s);
/* Makes a snapshot of the window with other options.  -ENODATA if there is no window yet. */
int top_samples_take(struct top_samples *s, const struct snapshot_options *options,
		     struct snapshot **out, struct error *err);
/* Sets the CPU of each process in t; unknown if `s` is NULL or there is no window yet. */
void top_samples_give_cpu(const struct top_samples *s, struct process_table *t);

#endif
