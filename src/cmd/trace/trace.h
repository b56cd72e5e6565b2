/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `ebeam trace` share. */
#ifndef EBEAM_CMD_TRACE_H
#define EBEAM_CMD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/code/call_targets.h"
#include "beam/code/modules.h"
#include "beam/match/call_match.h"
#include "cmd/command/command.h"
#include "cmd/run/event_run.h"
#include "cmd/run/weigh.h"
#include "model/stats/call_stats.h"
#include "model/stream/call_follow.h"
#include "names/call_pattern.h"
#include "probe/breakpoint/breakpoints.h"
#include "probe/session/call_probes.h"

#define TRACE_FUNCTIONS_MAX EBEAM_CALL_FUNCTIONS
/* The time of hits is subtracted from durations, but is known as an average only: a duration of up
 * to 1/TRACE_UNSURE of what was subtracted may be 0 in fact. */
#define TRACE_UNSURE 4
#define TRACE_RATE   10000 /* hits a second and thread */
#define TRACE_EACH_BY_ITSELF                                                                       \
	"each function has a rate limit of its own: the numbers of calls of two functions cannot " \
	"be compared"

/* A pattern of the command line, and the matcher of its arguments in this node. */
struct trace_pattern {
	struct call_pattern *pattern;
	struct call_matcher *matcher; /* NULL: any arguments */
};

struct trace_function {
	struct call_target target;
	struct trace *trace;
	uint64_t patterns; /* bit set of the patterns that match it */
	bool returns;	   /* one of them asks for the ends of its calls */
	bool stack;	   /* one of them asks for the stack of its callers */
	bool gone;	   /* no longer in the code that is loaded: it only keeps its index */
	uint64_t addr;	   /* of the breakpoint at its entry; 0 = none */
	uint64_t probed;   /* address of its C function that has a uprobe; 0 = none */
};

/* Is the function traced by a breakpoint, and not by a uprobe?  Uprobes are only on C functions
 * that were there at the start.  A function that became a NIF later, or a NIF of another library,
 * has a breakpoint at its Erlang entry, which all calls of NIFs pass; so has an inlined BIF without
 * a C function. */
static inline bool trace_by_breakpoint(const struct trace_function *f)
{
	return !f->gone && (f->target.kind == CALL_TARGET_ERLANG || !f->target.c_function ||
			    f->target.c_function != f->probed);
}

/* A return site of traced calls. */
struct trace_site {
	uint64_t addr;
	uint64_t calls;	   /* that return to this site, in this period */
	uint64_t armed_ns; /* CLOCK_MONOTONIC, since when it has a breakpoint; 0 = it has none */
	uint32_t serial;   /* of the code that it is in (jit.h) */
	bool predicted;	   /* armed, but no traced call that returns there was seen yet */
	bool predicted_by_call; /* predicted, as an unfiltered call was made from there */
	bool unwanted;		/* was predicted by a call, in vain: not to be predicted again */
};

/* Why the end of a call cannot be seen. */
enum trace_uncaught {
	UNCAUGHT_NEW,  /* its return site had no breakpoint yet */
	UNCAUGHT_FULL, /* other return sites use all debug registers that entries leave */
	UNCAUGHT_HELD, /* another program uses the debug registers */
	NR_UNCAUGHT,
};

/* ---- trace_functions.c: patterns -> functions ------------------------------------------------ */
struct trace_functions {
	VEC(struct trace_pattern) patterns; /* TRACE_FUNCTIONS_MAX at most */
	VEC(struct trace_function) v;
	VEC(struct call_function) named; /* the functions of v, for the resolver */
	bool returns, stacks;		 /* ends, or stacks, of some calls are asked for */
	uint64_t undecided; /* calls left out, as truncated arguments may or may not match */
};

int trace_functions_parse(struct trace_functions *f, struct command_context *ctx,
			  struct error *err);
/* Finds the functions that match the patterns in the node now.  To be called again after code was
 * loaded: functions keep their index, and those that no longer exist are marked `gone`.  If not all
 * code could be read, *whole (NULL ok) is false and none is marked.  An error changes nothing. */
int trace_functions_find(struct trace_functions *f, struct trace *t, bool *whole,
			 struct error *err);
/* Of a capture: does a pattern match this function, or is there no pattern? */
bool trace_functions_mean(const struct trace_functions *f, const struct name_function *function);
void trace_functions_free(struct trace_functions *f);

/* ---- trace_points.c: functions -> breakpoints ------------------------------------------------ */
struct trace_points {
	struct breakpoints *breakpoints;
	struct sched_thread *schedulers;
	int nr_schedulers;
	struct call_probes *probes;
	VEC(struct trace_site) sites;
	unsigned int nr_entries;	/* breakpoints that are entries of functions */
	uint64_t period_ns;		/* when sites were last chosen */
	uint64_t uncaught[NR_UNCAUGHT]; /* calls whose end could not be seen, by reason */
	uint64_t refused_ns;		/* when a return site last got no breakpoint; 0 = never */
	unsigned int hit_ns[2]; /* cost of a hit as last recorded: of breakpoints, of uprobes */
	uint64_t begin_ns;	/* when entries got their breakpoints, as the last of all probes */
	uint64_t known_ns;	/* gaps have been recorded up to this time */
	uint64_t lost;		/* records lost so far, see lost_so_far() */
};

/* ---- trace_code.c: code that is loaded meanwhile --------------------------------------------- */
struct trace_module {
	struct module_watch watch;
	raddr code, nif; /* of the module, when breakpoints were last set */
};
struct trace_code {
	VEC(struct trace_module) modules; /* of the functions */
	uint64_t loads;	    /* how often any module was loaded, for patterns without a module */
	uint64_t good_ns;   /* CLOCK_MONOTONIC: when breakpoints were last known to be up to date */
	uint64_t behind_ns; /* since when calls may miss them; 0 = breakpoints are up to date */
	uint64_t next_ns;   /* when to move the breakpoints, or try again */
	uint64_t settle_ns; /* when to check once more, as NIFs appear later; 0 = never */
	uint64_t unwatched_ns, changes; /* sum of times behind; how often code was loaded */
	bool reported;			/* a warning said why breakpoints stay behind */
};

/* Opens everything but the breakpoints at entries, which trace_points_begin() sets last, so that
 * the exception that ends a traced call is always seen. */
int trace_points_open(struct trace *t, struct error *err);
int trace_points_begin(struct trace *t, struct error *err);
/* Removes the breakpoints.  The list of return sites is kept for records that still arrive, until
 * trace_points_free(), after the session has ended. */
void trace_points_close(struct trace *t);
void trace_points_free(struct trace *t);
int trace_points_tick(struct trace *t, struct error *err);
/* Moves the breakpoints to the current entries of the functions, and removes those of functions
 * that are gone.  The error is that of the last function that got no breakpoint. */
int trace_points_follow(struct trace *t, struct error *err);
/* Warns of calls whose end could not be seen, by reason. */
void trace_points_report(struct trace *t);

unsigned int trace_nr_by_breakpoint(const struct trace *t); /* number of functions */
unsigned int trace_points_nr(const struct trace_points *p); /* debug registers that are used */

/* ---- trace_sites.c: return sites ------------------------------------------------------------- */
/* Finds return sites in the code itself; trace_sites_arm() arms them, before the entries. */
void trace_sites_predict(struct trace *t);
void trace_sites_arm(struct trace *t);
/* Disarms the site of the fewest calls, which frees a debug register; false if none is armed. */
bool trace_sites_give_up(struct trace_points *p);
/* Callback of session_peek(): arms the return site of a raw record of a call at once. */
void trace_sites_predict_returns(void *arg, const struct rec_header *rec);
/* A call at ts_ns returns to `site`: will its end be seen?  Arms the site for the next calls. */
bool trace_sites_caught(struct trace *t, uint64_t site, uint64_t ts_ns);
/* Is addr a return site with a breakpoint now? */
bool trace_sites_watched(const struct trace *t, uint64_t addr);
/* Chooses the sites that are armed anew, once in a period. */
void trace_sites_tick(struct trace *t, uint64_t now);

/* Begins to watch the modules of the functions for new code. */
void trace_code_open(struct trace *t);
void trace_code_tick(struct trace *t, uint64_t now);
void trace_code_report(struct trace *t);
void trace_code_free(struct trace *t);

/* ---- trace_show.c: lines --------------------------------------------------------------------- */
/* Adds "lists:map/2 (lists.erl:1239)"; nothing if the frame is not known. */
void trace_add_frame(struct strbuf *out, struct names *names, uint32_t frame);
/* These return malloc'ed text: the arguments, "(a, [1,2])"; the line of a call; the line of its
 * end, from a record of its return or from a process_exception. */
char *trace_args_text(const struct event *ev);
char *trace_call_line(const struct trace *t, const struct event *ev);
char *trace_end_line(const struct trace *t, const struct event *ev,
		     const struct call_under_way *call);
/* Writes a line, frees it. */
void trace_show_line(struct trace *t, char *line);

/* ---- trace_totals.c: answers instead of lines ------------------------------------------------ */
int trace_totals_show(struct trace *t, struct error *err);

/* ---- trace_profile.c: a flame graph of callers ----------------------------------------------- */
/* Do the options ask for a profile instead of lines? */
bool trace_profile_is_wanted(const struct options *o);
/* Replaces the callbacks of the consumer by those that make a profile; to be called before patterns
 * are parsed. */
int trace_profile_choose(struct trace *t, struct event_consumer *consumer, struct error *err);
void trace_profile_close(struct trace *t);

/* ---- trace_limits.c: what was missed by throttling ------------------------------------------- */
void trace_limits_report(struct trace *t);
/* call_error() and c_call_error() of struct event_consumer. */
double trace_call_error(void *arg);
double trace_c_call_error(void *arg);

/* ---- trace.c --------------------------------------------------------------------------------- */
struct trace {
	struct command_context *ctx;
	struct event_run *run;
	struct trace_functions functions;
	struct trace_points points;
	struct trace_code code;
	struct call_pairs *pairs;
	struct call_stats *stats;      /* NULL: lines are wanted */
	uint64_t shown;		       /* calls that count for `limit` */
	uint64_t extra;		       /* calls that do not count, see is_extra() */
	uint64_t seen[2];	       /* calls of Erlang functions, of C functions */
	uint64_t ended[2];	       /* the same, of calls whose end was seen */
	unsigned int limit;	       /* stop after that many `shown`; 0 = no limit */
	struct breakpoints_state last; /* the last one read, at the end the final one */
	unsigned int text_size;	       /* of one term, bytes */
	bool reported;		       /* trace_report() was called */
	bool shapes;		       /* shapes of arguments are needed, or may be later */
	bool has_ends;		       /* ends of calls were recorded, too */
	VEC(char *) warnings;	       /* all that were given */
	struct render render;	       /* of a profile */
	struct weigh weigh;
};

/* Counts a call that was seen. */
void trace_count(struct trace *t, const struct event *ev);
/* Adds what breakpoints cost the node to the closing line. */
void trace_add_cost(const struct trace *t, struct strbuf *line);
static inline const char *trace_plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}
/* Has the limit of calls (-n) been reached?  Ends of calls under way are still wanted. */
bool trace_is_full(const struct trace *t);
/* Warns on standard error, and in the answer in JSON, if that is written later. */
void trace_warn(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Warns at the end of everything that was missed; only the first time that it is called. */
void trace_report(struct trace *t);

/* ---- trace_nothing.c: no call was seen ------------------------------------------------------- */
/* Warns of that, and says what else may be called; time: for how long it was watched. */
void trace_report_nothing(struct trace *t, const char *time);
/* Does a call match the patterns?  Only calls of a capture may not. */
bool trace_takes(const struct trace *t, const struct event *ev);

#endif
