/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live recording: node -> resolver, probes -> session (or its memory, read again and again),
 * enricher over both, and what comes out of it applied to a profile and written to a capture, if
 * one is asked for.
 */
#ifndef EBEAM_CMD_RECORDING_H
#define EBEAM_CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "beam/node/node.h"
#include "capture/writer.h"
#include "cmd/output/timeline_output.h"
#include "cmd/run/summary.h"
#include "model/profile/event_weights.h"
#include "model/profile/profile.h"

struct recording;

/* Opens everything and starts sampling.  Borrows the node.  mode NULL: samples of the CPU; else
 * what processes do (weight_mode_reads_memory()). */
int recording_start(struct recording **out, struct beam_node *n, const struct options *opt,
		    const struct weight_mode *mode, struct error *err);
void recording_close(struct recording *r); /* detaches; NULL ok */

/* From now on records also go to this writer (borrowed). Call it before the first drain. */
void recording_set_writer(struct recording *r, struct capture_writer *w);

/* For a time line of it: the stream that it is about, and then the time line (borrowed), before the
 * first drain.  0 or -ENOMEM. */
struct event_stream *recording_stream(struct recording *r);
void recording_set_timeline(struct recording *r, struct timeline_output *t);

/* Take in what has been sampled, for a quarter of a second at most.  Call it about ten times a
 * second.  What processes do is read each time. */
int recording_drain(struct recording *r, struct error *err);

/* Stop sampling, take in the rest, add the idle time of schedulers, counters and the end. */
int recording_finish(struct recording *r, struct error *err);

uint64_t recording_samples(const struct recording *r);
/* What was recorded, once it has finished.  Gives back what only recording needs, and the profile,
 * which are large where there are very many processes: behind it only recording_own_cpu() can be
 * asked for. */
int recording_snapshot(struct recording *r, const struct snapshot_options *options,
		       struct snapshot **out, struct error *err);
uint64_t recording_start_epoch_ns(const struct recording *r);
uint64_t recording_start_ns(const struct recording *r); /* CLOCK_MONOTONIC */
/* Time of the first sample, 0 while there is none. */
uint64_t recording_first_sample_ns(const struct recording *r);
/* See live_sample_cost(). */
void recording_node_cost(struct recording *r, struct live_cost *out);
/* Takes fewer samples once they cost more than is allowed, and says so. */
void recording_keep_limit(struct recording *r);
/* Percent of one core that this process has used since sampling began. */
double recording_own_cpu(struct recording *r);

/* What would be attached, for --dry-run, one per line on `out`. */
void recording_describe(const struct beam_node *n, unsigned int freq,
			const struct weight_mode *mode, FILE *out);

#endif
