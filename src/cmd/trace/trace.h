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
/* What a hit takes is known on average: a duration less than this part of what tracing took of it
 * is not distinguished from none. */
#define TRACE_UNSURE 4
#define TRACE_RATE   10000 /* hits a second and thread */
#define TRACE_EACH_BY_ITSELF                                                                       \
	"each function is limited by itself: how often one is called beside another is not known"

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
	bool gone;	   /* code was loaded without it: it only keeps its number */
	uint64_t addr;	   /* breakpoint at its entry; 0 = none */
	uint64_t probed;   /* its C function, where a uprobe is; 0 = none */
};

/* A uprobe is for C code that was there at the beginning.  What became a NIF since, or one of
 * another library, is seen at its entry in Erlang code, which all calls of NIFs pass.  Without a C
 * function an inlined BIF is Erlang code. */
static inline bool trace_by_breakpoint(const struct trace_function *f)
{
	return !f->gone && (f->target.kind == CALL_TARGET_ERLANG || !f->target.c_function ||
			    f->target.c_function != f->probed);
}

/* A site that calls return to. */
struct trace_site {
	uint64_t addr;
	uint64_t calls; /* that would return there, in this period */
	uint64_t
		armed_ns; /* CLOCK_MONOTONIC, since when there is a breakpoint; 0 = there is none */
	uint32_t serial;  /* of the code that it is in (jit.h) */
	bool predicted;	  /* no call that was asked for has been seen from there yet */
	bool predicted_by_call; /* as some call was made from there */
	bool unwanted; /* it was, and no call that was asked for came: not to be predicted again */
};

/* Why the end of a call was not to be seen. */
enum trace_uncaught {
	UNCAUGHT_NEW,  /* the first from a site: what returns there was not known to be needed */
	UNCAUGHT_FULL, /* other sites have all debug registers that entries leave */
	UNCAUGHT_HELD, /* somebody else has them */
	NR_UNCAUGHT,
};

/* ---- trace_functions.c: patterns -> functions ------------------------------------------------ */
struct trace_functions {
	VEC(struct trace_pattern) patterns; /* TRACE_FUNCTIONS_MAX at most */
	VEC(struct trace_function) v;
	VEC(struct call_function) named; /* of v, for the resolver */
	bool returns, stacks;		 /* somebody asks for ends, for stacks */
	uint64_t undecided; /* calls whose arguments were truncated where a pattern matches */
};

int trace_functions_parse(struct trace_functions *f, struct command_context *ctx,
			  struct error *err);
/* What they mean in the node now.  Again after code was loaded: functions keep their numbers, and
 * those that are not there any more are marked.  `whole`, may be NULL: all could be read; else none
 * is marked.  After an error all is as it was. */
int trace_functions_find(struct trace_functions *f, struct trace *t, bool *whole,
			 struct error *err);
/* Of a capture: does a pattern mean this function, or is there none? */
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
	uint64_t uncaught[NR_UNCAUGHT]; /* calls whose end could not be seen, by why */
	uint64_t refused_ns;		/* when a return site was last refused; 0 = never */
	unsigned int hit_ns[2]; /* what hits cost, as was reported; of C functions the second */
	uint64_t begin_ns;	/* when entries were watched, and all else before them */
	uint64_t known_ns;	/* up to then gaps are reported */
	uint64_t lost;		/* records, so far */
};

/* ---- trace_code.c: code that is loaded meanwhile --------------------------------------------- */
struct trace_module {
	struct module_watch watch;
	raddr code, nif; /* as breakpoints know them */
};
struct trace_code {
	VEC(struct trace_module) modules; /* of the functions */
	uint64_t loads;			  /* of modules, so far; for patterns that name none */
	uint64_t good_ns;   /* CLOCK_MONOTONIC: up to then calls arrived where breakpoints are */
	uint64_t behind_ns; /* since then they may arrive elsewhere; 0 = they do not */
	uint64_t next_ns;   /* when to look for them again */
	uint64_t settle_ns; /* when to look once more, as NIFs come a bit later; 0 = no need */
	uint64_t unwatched_ns, changes; /* in all */
	bool reported;			/* why that lasts */
};

/* All but the breakpoints, which come last: of a call that they see, an exception is seen, too. */
int trace_points_open(struct trace *t, struct error *err);
int trace_points_begin(struct trace *t, struct error *err);
/* Takes the breakpoints away; which calls they caught is known until all is freed, which is once
 * the session has ended. */
void trace_points_close(struct trace *t);
void trace_points_free(struct trace *t);
int trace_points_tick(struct trace *t, struct error *err);
/* Breakpoints where the calls of the functions arrive now, none where those do that are gone.  The
 * error is of the last one that could not be armed. */
int trace_points_follow(struct trace *t, struct error *err);
/* Why ends were not seen. */
void trace_points_report(struct trace *t);

unsigned int trace_nr_by_breakpoint(const struct trace *t); /* functions */
unsigned int trace_points_nr(const struct trace_points *p); /* debug registers that are used */

/* ---- trace_sites.c: return sites ------------------------------------------------------------- */
/* Those that the code shows: found before the breakpoints are set, and armed before the entries. */
void trace_sites_predict(struct trace *t);
void trace_sites_arm(struct trace *t);
/* Gives the register of one of them back; false if none has any. */
bool trace_sites_give_up(struct trace_points *p);
/* A raw record that nothing has become of yet; `arg` is the struct trace. */
void trace_sites_predict_returns(void *arg, const struct rec_header *rec);
/* A call was made from there: will its end be seen? */
bool trace_sites_caught(struct trace *t, uint64_t site, uint64_t ts_ns);
/* Is that a site that calls return to, and watched now? */
bool trace_sites_watched(const struct trace *t, uint64_t addr);
/* Chooses anew, now and then. */
void trace_sites_tick(struct trace *t, uint64_t now);

/* Of the functions that there are: from now on the code is watched. */
void trace_code_open(struct trace *t);
void trace_code_tick(struct trace *t, uint64_t now);
void trace_code_report(struct trace *t);
void trace_code_free(struct trace *t);

/* ---- trace_show.c: lines --------------------------------------------------------------------- */
/* "lists:map/2 (lists.erl:1239)"; nothing if it is not known. */
void trace_add_frame(struct strbuf *out, struct names *names, uint32_t frame);
/* All malloc'ed: "(a, [1,2])"; the line of a call; that of how it ended, by an end or by
 * process_exception. */
char *trace_args_text(const struct event *ev);
char *trace_call_line(const struct trace *t, const struct event *ev);
char *trace_end_line(const struct trace *t, const struct event *ev,
		     const struct call_under_way *call);
/* Writes a line, frees it. */
void trace_show_line(struct trace *t, char *line);

/* ---- trace_totals.c: answers instead of lines ------------------------------------------------ */
int trace_totals_show(struct trace *t, struct error *err);

/* ---- trace_profile.c: a flame graph of callers ----------------------------------------------- */
/* Is that asked for, instead of lines? */
bool trace_profile_is_wanted(const struct options *o);
/* What a consumer of lines does else is replaced by what makes a profile; before patterns are
 * parsed. */
int trace_profile_choose(struct trace *t, struct event_consumer *consumer, struct error *err);
void trace_profile_close(struct trace *t);

/* ---- trace_limits.c: what was missed by throttling ------------------------------------------- */
void trace_limits_report(struct trace *t);
/* As of struct event_consumer. */
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
	uint64_t shown;		       /* calls */
	uint64_t extra;		       /* calls that only showed where calls return to */
	uint64_t seen[2];	       /* of Erlang functions, of C functions */
	uint64_t ended[2];	       /* of those that were asked for, likewise */
	unsigned int limit;	       /* of calls; 0 = all */
	struct breakpoints_state last; /* of the breakpoints, at the end */
	unsigned int text_size;	       /* of one term, bytes */
	bool reported;		       /* what was missed by throttling */
	bool shapes;		       /* of arguments: somebody may ask for them */
	bool has_ends;		       /* how calls ended was recorded, too */
	VEC(char *) warnings;	       /* so far */
	struct render render;	       /* of a profile */
	struct weigh weigh;
};

/* A call was seen; what breakpoints cost the node. */
void trace_count(struct trace *t, const struct event *ev);
void trace_add_cost(const struct trace *t, struct strbuf *line);
static inline const char *trace_plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}
/* No more calls are wanted; those that are under way may still end. */
bool trace_is_full(const struct trace *t);
/* To standard error, and into an answer in JSON that comes after it. */
void trace_warn(struct trace *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What was missed by throttling, at the end. */
void trace_report(struct trace *t);
/* Of a capture: is this call one of those that the patterns mean? */
bool trace_takes(const struct trace *t, const struct event *ev);

#endif
