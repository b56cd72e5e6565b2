/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of a node, or of a capture as if it ran, over the last seconds: what `top` says of CPU.
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
/* Plays a capture, duration_ns of it (0: all); path stays the caller's. */
int top_samples_open_capture(struct top_samples **out, const char *path, uint64_t duration_ns,
			     struct error *err);
void top_samples_close(struct top_samples *s); /* NULL ok */

/* Takes in what has been sampled, for a quarter of a second at most; about ten times a second. */
int top_samples_drain(struct top_samples *s, struct error *err);
/* Ends an interval: shares of schedulers, number of samples and what was lost, into the frame. */
int top_samples_step(struct top_samples *s, struct top_frame *f, struct error *err);
/* Of a capture, instead of the two above: what was sampled in the next step_ns of it, and what it
 * says of its node. */
int top_samples_play(struct top_samples *s, struct top_frame *f, uint64_t step_ns,
		     struct error *err);
/* Of a capture: rates of its events in the last step; NULL = it has none, so far. */
struct event_rates *top_samples_events(struct top_samples *s);
/* At its end: warns if it is damaged.  0, or the exit code for that. */
int top_samples_warn(const struct top_samples *s);
/* Nobody looked for long: there is no window until the step after the next. */
int top_samples_restart(struct top_samples *s, struct error *err);
/* Adds what became of all samples since the start; the cost to the node is replaced. */
void top_samples_add_summary(struct top_samples *s, struct summary *to);
bool top_samples_ended(const struct top_samples *s); /* there is no more to play */
/* Of the window that ended with the last step; NULL = there is none yet.  Until the next step. */
const struct snapshot *top_samples_snapshot(const struct top_samples *s);
/* Samples that a core which never rests has in the window; 0 = none yet, or `s` is NULL. */
double top_samples_of_core(const struct top_samples *s);
/* The same, grouped as wanted; *out is the caller's.  -ENODATA if there is no window yet. */
int top_samples_take(struct top_samples *s, const struct snapshot_options *options,
		     struct snapshot **out, struct error *err);
/* CPU of each process in it; not known if `s` is NULL or there is no window yet. */
void top_samples_give_cpu(const struct top_samples *s, struct process_table *t);

#endif
