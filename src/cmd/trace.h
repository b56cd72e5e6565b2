/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `ebeam trace` share. */
#ifndef EBEAM_CMD_TRACE_H
#define EBEAM_CMD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "base/vec.h"
#include "beam/call_match.h"
#include "beam/call_targets.h"
#include "cmd/command.h"
#include "cmd/event_run.h"
#include "cmd/weigh.h"
#include "model/call_pairs.h"
#include "model/call_stats.h"
#include "names/call_pattern.h"
#include "probe/breakpoints.h"
#include "probe/call_probes.h"

#define TRACE_FUNCTIONS_MAX EBEAM_CALL_FUNCTIONS
#define TRACE_RATE	    10000 /* hits a second and thread */

/* A pattern, and what it means in the node. */
struct trace_pattern {
	struct call_pattern *pattern;
	struct call_matcher *matcher; /* NULL: any arguments */
};

struct trace_function {
	struct call_target target;
	struct trace *trace;
	uint64_t patterns; /* bit set of those that mean it */
	bool returns;	   /* one of them asks for its ends */
	bool stack;	   /* one of them asks for the stack of its callers */
	uint64_t addr;	   /* breakpoint at its entry; 0 = none */
};

/* A place that calls return to. */
struct trace_site {
	uint64_t addr;
	uint64_t calls; /* that would return there, in this period */
	uint64_t
		armed_ns; /* CLOCK_MONOTONIC, since when there is a breakpoint; 0 = there is none */
};

/* ---- trace_functions.c: patterns -> functions ----------------------------------------------- */
struct trace_functions {
	VEC(struct trace_pattern) patterns; /* TRACE_FUNCTIONS_MAX at most */
	VEC(struct trace_function) v;
	VEC(struct call_function) named; /* of v, for the resolver */
	bool returns, stacks;		 /* somebody asks for ends, for stacks */
	uint64_t undecided;		 /* calls whose arguments were cut where a pattern looks */
};

int trace_functions_parse(struct trace_functions *f, struct command_context *ctx,
			  struct error *err);
/* What they mean in the node now.  Again after code was loaded: functions keep their numbers. */
int trace_functions_find(struct trace_functions *f, struct trace *t, struct error *err);
/* Of a capture: does a pattern mean this function, or is there none? */
bool trace_functions_mean(const struct trace_functions *f, const struct name_function *function);
void trace_functions_free(struct trace_functions *f);

/* ---- trace_points.c: functions -> breakpoints, places of return ----------------------------- */
struct trace_points {
	struct breakpoints *breakpoints;
	struct call_probes *probes;
	VEC(struct trace_site) sites;
	unsigned int nr_entries; /* breakpoints that are entries of functions */
	uint64_t period_ns;	 /* when sites were last chosen */
	uint64_t uncaught;	 /* calls whose end could not be seen: no free debug register */
	uint64_t loads;		 /* of modules, so far */
	unsigned int hit_ns[2];	 /* what hits cost, as was told; of C functions the second */
	uint64_t missed_ns;	 /* up to then ends were missed, as was told; 0 = none were */
	uint64_t loaded_ns; /* when the last one was seen that the breakpoints do not know of; 0 */
};

int trace_points_open(struct trace *t, struct error *err);
/* Takes the breakpoints away; which calls they caught is known until all is freed, which is once
 * the session has ended. */
void trace_points_close(struct trace *t);
void trace_points_free(struct trace *t);
/* A call was made from there: will its end be seen? */
bool trace_points_caught(struct trace *t, uint64_t site, uint64_t ts_ns);
/* Is that a place that calls return to, and watched now? */
bool trace_points_watched(const struct trace *t, uint64_t addr);
int trace_points_tick(struct trace *t, struct error *err);

/* ---- trace_show.c: lines -------------------------------------------------------------------- */
/* "a, [1,2]": arguments, or what was returned. */
void trace_add_terms(struct strbuf *out, const struct event *ev);
/* "lists:map/2 (lists.erl:1239)"; nothing if it is not known. */
void trace_add_frame(struct strbuf *out, struct names *names, uint32_t frame);
void trace_show_call(struct trace *t, const struct event *ev);
/* Of a call that ended: function and how long it took. */
void trace_show_end(struct trace *t, const struct event *ev, const struct call_under_way *call);
/* The same of one that process_exception has ended. */
void trace_show_exception(struct trace *t, const struct event *ev,
			  const struct call_under_way *call);

/* ---- trace_totals.c: answers instead of lines ------------------------------------------------ */
int trace_totals_show(struct trace *t, struct error *err);

/* ---- trace_profile.c: a flame graph of callers ---------------------------------------- */
/* Is that asked for, instead of lines? */
bool trace_profile_is_wanted(const struct options *o);
/* What a consumer of lines does else is replaced by what makes a profile; before patterns are
 * parsed. */
int trace_profile_choose(struct trace *t, struct event_consumer *consumer, struct error *err);
void trace_profile_close(struct trace *t);

/* ---- trace.c -------------------------------------------------------------------------------- */
struct trace {
	struct command_context *ctx;
	struct event_run *run;
	struct trace_functions functions;
	struct trace_points points;
	struct call_pairs *pairs;
	struct call_stats *stats;      /* NULL: lines are wanted */
	uint64_t shown;		       /* calls */
	uint64_t extra;		       /* calls that only showed where calls return to */
	uint64_t seen[2];	       /* of Erlang functions, of C functions */
	unsigned int limit;	       /* of calls; 0 = all */
	struct breakpoints_state last; /* of the breakpoints, at the end */
	unsigned int text_size;	       /* of one term, bytes */
	bool shapes;		       /* of arguments: somebody may ask for them */
	struct render render;	       /* of a profile */
	struct weigh weigh;
	struct strbuf line;
	struct jsonw json;
};

/* A call was seen; what breakpoints cost the node. */
void trace_count(struct trace *t, const struct event *ev);
void trace_add_cost(const struct trace *t, struct strbuf *line);
/* No more calls are wanted; those that are under way may still end. */
bool trace_is_full(const struct trace *t);
/* What limits hid, at the end. */
void trace_tell(struct trace *t);
/* Of a capture: is this call one of those that the patterns mean? */
bool trace_takes(const struct trace *t, const struct event *ev);

#endif
