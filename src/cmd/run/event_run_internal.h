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
	struct beam_node *node; /* NULL of a capture */
	struct live live;
	struct source_plan plan;
	uint64_t unprobed; /* kinds that are seen in memory, without probes */
	struct outfile *output, *capture;
	FILE *out;	      /* NULL: nobody wants text */
	FILE *target;	      /* behind `pipe` */
	struct outpipe *pipe; /* behind `out`, unless that is a regular file */
	struct capture_writer *writer;
	struct event_filter filter;
	uint64_t flushed_ns; /* the capture */
	struct loop_alarm *drain;
	uint64_t random;	/* random.h */
	uint64_t deadline_ns;	/* CLOCK_MONOTONIC; 0 = none */
	uint64_t seen_until_ns; /* of a node: what happened before was taken */
	uint64_t span_start_ns; /* of what the next answer is about */
	uint64_t taken;
	/* With --watch: what the answer before had of these. */
	uint64_t shown_taken, shown_counters[NR_COUNTERS];
	uint64_t skipped;  /* answers of --watch that nobody was ready to read */
	bool node_stopped; /* when the probes came, or when they went */
	bool reader_waits; /* the rings filled, as nobody took the lines that were there */
	bool answered;	   /* once, with --watch */
	bool stopped;	   /* the limit is reached, or nobody reads any more */
};

/* ---- event_run_plan.c ------------------------------------------------------------------------ */
/* What lasts long is seen in memory, all of it, unless that is too short, or probes are wanted. */
void event_run_plan_unprobed(struct event_run *run);
/* Which kinds can be probed; says which of those asked for cannot.  ERROR_KIND_UNSUPPORTED: none
 * can. */
int event_run_plan(struct event_run *run, struct error *err);
/* All kinds that are refused for the reason of this one, if it is the first of them. */
void event_run_report_refused(const struct source_plan *plan, uint64_t kinds, int kind);

/* ---- event_run_output.c ---------------------------------------------------------------------- */
/* Where text goes: standard output, or a file; a capture has a file of its own. */
int event_run_open_output(struct event_run *run, struct error *err);
/* What is in files now stays. */
int event_run_close_output(struct event_run *run, struct error *err);
/* Whoever reads sees it now, or is gone: -EPIPE, which is not reported. */
int event_run_check_output(struct event_run *run, struct error *err);

/* Of the options: whom events are about.  Once for all, and for the programs of a node. */
int event_run_filter(struct event_run *run, struct error *err);
int event_run_filter_node(struct event_run *run, struct live_config *config, struct error *err);
/* The closing line on stderr. */
void event_run_report(struct event_run *run);
/* What needs no probes. */
void event_run_report_unprobed(const struct event_run *run);
/* A budget that cannot be kept is no secret. */
void event_run_report_budget(struct event_run *run);
/* If the node is stopped: its zeros are not those of one that idles. */
void event_run_check_stopped(struct event_run *run, bool at_end);

#endif
