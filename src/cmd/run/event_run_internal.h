/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of event_run share. */
#ifndef EBEAM_CMD_EVENT_RUN_INTERNAL_H
#define EBEAM_CMD_EVENT_RUN_INTERNAL_H

#include "capture/writer.h"
#include "cmd/output/outfile.h"
#include "cmd/output/outpipe.h"
#include "cmd/run/event_run.h"
#include "cmd/run/live.h"
#include "model/stream/event_filter.h"

struct event_run {
	struct command_context *ctx;
	const struct event_consumer *consumer;
	struct event_stream stream;
	struct beam_node *node; /* NULL when a capture is read */
	struct live live;
	struct source_plan plan;
	uint64_t unprobed; /* kinds that slice_watch.h samples in memory, without probes */
	struct outfile *output, *capture;
	FILE *out;	      /* NULL: no text is written */
	FILE *target;	      /* the file that `pipe` writes to */
	struct outpipe *pipe; /* behind `out`, unless that is a regular file */
	struct capture_writer *writer;
	struct event_filter filter;
	uint64_t flushed_ns; /* when the capture was last flushed */
	struct loop_alarm *drain;
	uint64_t random;	/* state of random_uniform() */
	uint64_t deadline_ns;	/* CLOCK_MONOTONIC; 0 = none */
	uint64_t seen_until_ns; /* live: all events before that time were taken */
	uint64_t span_start_ns; /* start of the interval of the next answer */
	uint64_t taken;		/* events, for the closing line */
	/* With --watch: `taken` and the stream's counters at the last answer. */
	uint64_t shown_taken, shown_counters[NR_COUNTERS];
	uint64_t skipped;  /* answers of --watch left out, as the last one was still unread */
	bool node_stopped; /* by SIGSTOP, when the probes were attached or detached */
	bool reader_waits; /* the rings were not drained for a while: the reader is too slow */
	bool answered;	   /* an answer was written before */
	bool stopped;	   /* the consumer wants no more */
};

/* ---- event_run_plan.c ------------------------------------------------------------------------ */
/* Chooses the kinds that are sampled in memory, without probes: those that have a least duration of
 * SLICE_WATCH_LEAST_NS or more, unless --source asks for probes. */
void event_run_plan_unprobed(struct event_run *run);
/* Plans the probes, and warns of kinds that cannot be probed.  ERROR_KIND_UNSUPPORTED: none can. */
int event_run_plan(struct event_run *run, struct error *err);
/* Warns of all kinds refused for the same reason as `kind`, if that is the first of them. */
void event_run_report_refused(const struct source_plan *plan, uint64_t kinds, int kind);

/* ---- event_run_output.c ---------------------------------------------------------------------- */
/* Opens standard output or the file of -o for text, and the file of a capture. */
int event_run_open_output(struct event_run *run, struct error *err);
/* Flushes the files and gives them their names (outfile_commit()). */
int event_run_close_output(struct event_run *run, struct error *err);
/* Flushes what was written.  Returns -EPIPE, without a message, if the reader is gone. */
int event_run_check_output(struct event_run *run, struct error *err);

/* Filters by process, of the options: for records, and for the BPF programs of a live node. */
int event_run_filter(struct event_run *run, struct error *err);
int event_run_filter_node(struct event_run *run, struct live_config *config, struct error *err);
/* The closing line on stderr. */
void event_run_report(struct event_run *run);
/* Warns which kinds are sampled in memory, without probes. */
void event_run_report_unprobed(const struct event_run *run);
/* Warns if --max-overhead cannot be kept, as the overhead cannot be measured. */
void event_run_report_budget(struct event_run *run);
/* Sets node_stopped; warns at the end, as zeros then do not mean that the node idles. */
void event_run_check_stopped(struct event_run *run, bool at_end);

#endif
