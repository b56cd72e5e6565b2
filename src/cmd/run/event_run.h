/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every command that consumes events shares: which probes -> a live node, or a capture ->
 * records -> an event_stream -> the command's own consumer; -o, -d, -i, --watch, --process, and
 * the closing line.
 *
 * Order of calls on a consumer:  ready()  event() ...  drained() ...  show() each --watch, and at
 * the end.
 */
#ifndef EBEAM_CMD_EVENT_RUN_H
#define EBEAM_CMD_EVENT_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/jsonw.h"
#include "cmd/command/command.h"
#include "cmd/run/live.h"
#include "cmd/run/target.h"
#include "model/stream/event_stream.h"
#include "view/table/answer_view.h"

struct event_run;

struct event_consumer {
	uint64_t kinds; /* bit set; missing kinds are reported, an error if all are missing */
	/* Columns of the answer's table, for which --columns and --sort are checked before any
	 * probe is attached; NULL = no table. */
	const struct table_column *columns;
	bool stacks; /* with the Erlang stack of each event */
	/* BPF programs drop collections that took less; 0 = none are dropped. */
	uint64_t gc_longer_than_ns;
	/* Of libc_alloc at first one in so many bytes (a power of 2), see session_sample_libc(),
	 * and what is freed of these; 0 = each that is allocated or freed. */
	uint32_t libc_every;
	bool libc_frees;
	unsigned int rate; /* most hits a second of each scheduler; 0 = no limit */
	/* BPF programs only count events, and deliver none: see session_event_count(). */
	bool counts;
	/*
	 * Also records of schedulers, for other(): CPU time of their threads, how busy they are,
	 * time in GC.  A capture may lack them.  See live_watch_schedulers().
	 */
	bool cpu, work, gc;
	/* Its captures have no records of schedulers: sampling them takes 2 % of a core. */
	bool no_schedulers;
	/* The output is lines, one for each event; -o FILE.ebeam writes a capture instead. */
	bool either;
	const char *mode;   /* of the recording; NULL = "events" */
	const char *weight; /* of the mode: "time"; NULL = none */
	void *arg;
	/*
	 * For a consumer that opens the file of -o itself: called before anything is recorded.  It
	 * sets *capture to the path of a capture to write, or leaves it NULL.  NULL ok.
	 */
	int (*opened)(void *arg, const char **capture, struct error *err);
	/* Calls of functions are recorded too, with these limits; NULL = no calls.  `kinds` may
	 * then be 0.  The consumer owns the breakpoints: started() sets them, end() removes
	 * them. */
	const struct live_calls *calls;
	int (*call)(void *arg, const struct event *ev); /* as event() */
	/* Error of the number of calls of Erlang functions that were shown, as `error` of struct
	 * breakpoints_state; negative = not known after -n.  NULL = the error of all hits. */
	double (*call_error)(void *arg);
	/* Error of the number of calls of C functions, as coverage_error().  NULL =
	 * coverage_error() of all calls. */
	double (*c_call_error)(void *arg);
	uint64_t drain_every_ns; /* how often the rings are drained; 0 = DRAIN_EVERY_NS */
	/* Every record that is no event, after the stream took it.  NULL ok. */
	void (*other)(void *arg, const struct event *ev);
	void (*ready)(void *arg); /* event_run_stream() exists, and is empty; NULL ok */
	/* Live only, before the first probe is attached.  NULL ok.  0 or negative errno. */
	int (*begin)(void *arg, struct error *err);
	/* Live only, after all probes were attached.  NULL ok. */
	int (*started)(void *arg, struct error *err);
	void (*end)(void *arg); /* live only, before they are detached; NULL ok */
	/* Live only, after they were detached and their events were taken, before the recording
	 * ends; the session still exists.  NULL ok. */
	void (*detached)(void *arg);
	/* 1 = the consumer wants no more events; 0 = go on. */
	int (*event)(void *arg, enum event_kind kind, const struct event *ev);
	/* After each drain of the rings; NULL ok.  0 or negative errno. */
	int (*drained)(void *arg, struct error *err);
	/* Writes the answer: after each interval of --watch, and at the end (`last`).  NULL ok. */
	int (*show)(void *arg, bool last, struct error *err);
	/* After show(): adds the end of the closing line, with the path of the output.  NULL ok. */
	void (*closing)(void *arg, struct strbuf *line);
	/* Warnings of the JSON envelope, added to those about sampled kinds.  NULL ok. */
	const char *const *(*warnings)(void *arg, size_t *nr);
};

/* Runs the command.  0, negative errno, or a positive exit code (7: a damaged capture). */
int event_run(struct command_context *ctx, const struct event_consumer *c, struct event_run **run,
	      struct error *err);
void event_run_close(struct event_run *run); /* NULL ok */

/* The rest is for consumers, while event_run() runs; *run is set before their first callback. */
struct event_stream *event_run_stream(struct event_run *run);
/* Live only, between begin() and end(). */
struct live *event_run_live(struct event_run *run);
/* NULL when a capture is read. */
struct beam_node *event_run_node(struct event_run *run);
/* Live only: CLOCK_REALTIME at the start. */
uint64_t event_run_start_epoch_ns(const struct event_run *run);
FILE *event_run_out(struct event_run *run); /* NULL: only a capture is written */
/* The file behind event_run_out(), for isatty() and the like; not to be written to. */
FILE *event_run_target(const struct event_run *run);
/* Options of the answer's table.  `sort` is used without -s, and `rows` is the limit of text
 * without -n; 0 = all. */
struct table_options event_run_table_options(const struct event_run *run, const char *sort,
					     unsigned int rows);
/* The interval of the next answer, in the clock of events: since the start, or with --watch since
 * the last answer. */
void event_run_span(const struct event_run *run, uint64_t *start_ns, uint64_t *end_ns);
/* Threshold of long_gc and long_schedule: --longer-than, or its default. */
uint64_t event_run_longer_than(const struct event_run *run);
/* Adds to the number of events in the closing line: calls, or lines made of several events. */
void event_run_count(struct event_run *run);
void event_run_count_more(struct event_run *run, uint64_t nr);
/* Live only: marks the rows of kinds that cannot be probed as missing, with the reason. */
struct event_rates;
void event_run_miss(struct event_run *run, struct event_rates *rates);
/* Is `path` the name of a capture (.ebeam)?  NULL ok. */
bool event_run_is_capture(const char *path);
/* Number of events that the consumer took. */
uint64_t event_run_taken(const struct event_run *run);

/*
 * Writes an answer about events of these kinds, as text or as JSON.  Text begins with the time if
 * --watch is given, and says below its heading which kinds were sampled; the caller has scaled
 * their counts by 1 / share.  In the JSON envelope (see target.h) the counters are events, lost and
 * all others that are not 0; warnings name kinds that were sampled or dropped, and "sampled" has
 * their coverage_error().
 */
int event_run_show(struct event_run *run, const struct answer_view *view, const void *answer,
		   uint64_t kinds, const struct table_options *o, struct error *err);
/* Adds a count of events: "1,234", or "~1,234 (1,100 .. 1,400)" (95 %) if it is an estimate. */
void event_run_add_estimate(const struct event_run *run, uint64_t kinds, uint64_t n,
			    struct strbuf *out);

#endif
