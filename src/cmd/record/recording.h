/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live recording: a resolver of the node, a session with probes (or samples of memory), and an
 * enricher that uses both.  Its records are added to a profile, and written to a capture if one is
 * asked for.
 */
#ifndef EBEAM_CMD_RECORDING_H
#define EBEAM_CMD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "beam/node/node.h"
#include "capture/writer.h"
#include "cmd/output/timeline_output.h"
#include "cmd/run/summary.h"
#include "event/enrich.h"
#include "model/profile/event_weights.h"
#include "model/profile/profile.h"

struct recording;

/* Opens everything and starts sampling.  Borrows the node.  mode NULL: samples of the CPU; else
 * samples of processes in memory (weight_mode_reads_memory()). */
int recording_start(struct recording **out, struct beam_node *n, const struct options *opt,
		    const struct weight_mode *mode, struct error *err);
void recording_close(struct recording *r); /* detaches; NULL ok */

/* From now on records also go to this writer (borrowed). Call it before the first drain. */
void recording_set_writer(struct recording *r, struct capture_writer *w);

/* For a time line: open it with recording_stream(), and then set it (borrowed), before the first
 * drain. */
struct event_stream *recording_stream(struct recording *r);
void recording_set_timeline(struct recording *r, struct timeline_output *t);

/* Drains the rings, for SOURCE_DRAIN_NS at most; to be called about ten times a second.  In a mode
 * that reads memory, takes a sample of processes first. */
int recording_drain(struct recording *r, struct error *err);

/* Stops sampling, drains the rest, adds idle time of schedulers, counters and the end record. */
int recording_finish(struct recording *r, struct error *err);

uint64_t recording_samples(const struct recording *r);
/* Makes the snapshot, after recording_finish().  Frees all else, which is large with very many
 * processes: afterwards only recording_own_cpu() and recording_close() may be called. */
int recording_snapshot(struct recording *r, const struct snapshot_options *options,
		       struct snapshot **out, struct error *err);
uint64_t recording_start_epoch_ns(const struct recording *r);
uint64_t recording_start_ns(const struct recording *r); /* CLOCK_MONOTONIC */
uint64_t recording_end_ns(const struct recording *r);	/* after recording_finish() */
/* Time of the first sample; 0 = none yet. */
uint64_t recording_first_sample_ns(const struct recording *r);
/* See live_sample_cost(). */
void recording_node_cost(struct recording *r, struct live_cost *out);
/* Takes fewer samples, with a warning, once they cost more than --max-overhead. */
void recording_keep_limit(struct recording *r);
/* Percent of one core that this process has used since sampling began. */
double recording_own_cpu(struct recording *r);

/* In a mode of times off CPUs, before the first drain: `take` is called for each. */
void recording_on_off_cpu(struct recording *r, enrich_off_cpu_fn *take, void *arg);
/* What times off CPUs that were drained belong to. */
struct recording_window {
	double stands_for; /* how much longer what it is a sample of is; 0 = leave it out */
	/* CLOCK_MONOTONIC; times that began earlier were left over as programs were taken away. */
	uint64_t begin_ns;
	bool ended; /* all that it has recorded was drained */
};
/* Of locks, in place of recording_drain() and recording_keep_limit(): keeps the limit by recording
 * in windows (probe/limit/record_windows.h).  *out: of what it drains, set before; at the end also
 * of what recording_finish() drains.  step_ns: from call to call; 0 = the run ends.  0 or negative
 * errno. */
int recording_drain_windows(struct recording *r, uint64_t step_ns, struct recording_window *out,
			    struct error *err);
/* The time for which the windows stand, ns; 0 = it records all the time. */
uint64_t recording_windows_ns(const struct recording *r);
/* Before recording_snapshot(): the dictionary; sum of the weights of a kind of samples; counters of
 * losses. */
const struct names *recording_names(const struct recording *r);
uint64_t recording_kind(const struct recording *r, enum sample_kind kind);
uint64_t recording_counter(struct recording *r, enum counter_id id);
/* One a line; "" = none. */
const char *recording_warnings(const struct recording *r);

/* For --dry-run: writes what would be attached, one line each. */
void recording_describe(const struct beam_node *n, unsigned int freq,
			const struct weight_mode *mode, FILE *out);

#endif
