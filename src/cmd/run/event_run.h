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
	uint64_t
		kinds; /* bit set; what the node cannot give is reported, all missing is an error */
	/* Of the answer's rows: --columns and --sort are checked before anything is watched.  NULL
	 * = there are none. */
	const struct table_column *columns;
	bool stacks; /* with the Erlang stack of each event */
	/* Of a node, collections that took less are not even reported; 0 = all are. */
	uint64_t gc_longer_than_ns;
	/* Of a node no events come: its probes count them, session_event_count(). */
	bool counts;
	/*
	 * Also what threads of schedulers get of the CPUs, how busy schedulers are, and how much of
	 * their time is collection: records that other() takes; of captures as they have them.  See
	 * live_watch_schedulers().
	 */
	bool cpu, work, gc;
	/* A capture is written instead of what show() writes: lines of a stream. */
	bool either;
	const char *mode;   /* of the recording; NULL = "events" */
	const char *weight; /* of the mode: "time"; NULL = none */
	void *arg;
	/*
	 * The consumer has files of its own, and -o is its business: called before anything is
	 * recorded, *capture (NULL) = where a capture goes too.  NULL ok.
	 */
	int (*opened)(void *arg, const char **capture, struct error *err);
	/* Calls of functions, too: limits of what is copied with each.  NULL = none; `kinds` may
	 * then be 0.  Breakpoints are the consumer's: started() sets them, end() takes them
	 * away. */
	const struct live_calls *calls;
	int (*call)(void *arg, const struct event *ev); /* 1 = that is enough; 0 = more */
	/* Error of the number of calls of Erlang functions that was shown, as in breakpoints.h;
	 * negative: there may be more.  NULL = that of all their hits. */
	double (*call_error)(void *arg);
	/* Of C functions, as coverage_error().  NULL = that of what slices tell. */
	double (*c_call_error)(void *arg);
	uint64_t drain_every_ns; /* how often the rings are emptied; 0 = as suits events */
	/* Every record that is no event, after the stream took it.  NULL ok. */
	void (*other)(void *arg, const struct event *ev);
	void (*ready)(void *arg); /* the stream is there, and empty; NULL ok */
	/* Of a node: right before the first probe is there.  NULL ok.  0 or negative errno. */
	int (*begin)(void *arg, struct error *err);
	/* Of a node: as soon as all of them are.  NULL ok. */
	int (*started)(void *arg, struct error *err);
	void (*end)(void *arg); /* likewise right before they are taken away; NULL ok */
	/* 1 = that is enough; 0 = more. */
	int (*event)(void *arg, enum event_kind kind, const struct event *ev);
	/* After what the rings held was taken; NULL ok.  0 or negative errno. */
	int (*drained)(void *arg, struct error *err);
	/* The answer: at the end (last), and with --watch each time before.  NULL ok. */
	int (*show)(void *arg, bool last, struct error *err);
	/* After show(): the end of the closing line, with where the answer is.  NULL ok. */
	void (*closing)(void *arg, struct strbuf *line);
	/* Of an answer in JSON, besides what is said of kinds.  NULL ok. */
	const char *const *(*warnings)(void *arg, size_t *nr);
};

/* Runs it all.  0, negative errno, or a positive exit code (7: a damaged capture). */
int event_run(struct command_context *ctx, const struct event_consumer *c, struct event_run **run,
	      struct error *err);
void event_run_close(struct event_run *run); /* NULL ok */

/* For consumers, while event_run() runs; *run is set before the first call. */
struct event_stream *event_run_stream(struct event_run *run);
/* Of a node that runs, between begin() and end(). */
struct live *event_run_live(struct event_run *run);
/* Of a node that runs; NULL of a capture. */
struct beam_node *event_run_node(struct event_run *run);
/* Of a node: CLOCK_REALTIME at the start. */
uint64_t event_run_start_epoch_ns(const struct event_run *run);
FILE *event_run_out(struct event_run *run); /* NULL: nothing but the capture is wanted */
/* What is behind it, such as a terminal: to ask about, not to write to. */
FILE *event_run_target(const struct event_run *run);
/* What the options say of a table of the answer: without -s by `sort`, without -n `rows` of text; 0
 * = all. */
struct table_options event_run_table_options(const struct event_run *run, const char *sort,
					     unsigned int rows);
/* Interval that the next answer is about, of the time of events: since the start, or with --watch
 * since the answer before. */
void event_run_span(const struct event_run *run, uint64_t *start_ns, uint64_t *end_ns);
/* How long long_gc and long_schedule are, at least. */
uint64_t event_run_longer_than(const struct event_run *run);
/* One more that the closing line counts: calls, and what else the consumer made of events. */
void event_run_count(struct event_run *run);
void event_run_count_more(struct event_run *run, uint64_t nr);
/* Of a node: which rows there cannot be, and why. */
struct event_rates;
void event_run_miss(struct event_run *run, struct event_rates *rates);
/* Is that the name of a capture?  NULL is not. */
bool event_run_is_capture(const char *path);
/* Events that the consumer took. */
uint64_t event_run_taken(const struct event_run *run);

/*
 * Writes an answer about events of these kinds, as text or as JSON.  Text has the time above it
 * with --watch, and below its first lines what was sampled: numbers stand as they were seen times
 * 1 / share.  In the JSON envelope (see target.h) counters are events, lost and what else is not
 * 0; warnings say which kinds were sampled or dropped, and "sampled" how far off their counts may
 * be, as coverage_error().
 */
int event_run_show(struct event_run *run, const struct answer_view *view, const void *answer,
		   uint64_t kinds, const struct table_options *o, struct error *err);
/* A count of events of these kinds: "1,234", or "~1,234 (1,100 .. 1,400)" if it is an estimate. */
void event_run_add_estimate(const struct event_run *run, uint64_t kinds, uint64_t n,
			    struct strbuf *out);

#endif
