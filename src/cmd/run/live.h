/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every command with probes needs: a resolver of the node, a session with its probes, and an
 * enricher that uses both.  Borrows the node.
 */
#ifndef EBEAM_CMD_LIVE_H
#define EBEAM_CMD_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "beam/node/node.h"
#include "beam/resolve/resolve.h"
#include "cmd/command/command.h"
#include "event/enrich.h"
#include "probe/limit/sample_limit.h"
#include "probe/session/session.h"
#include "probe/watch/sched_watch.h"
#include "probe/watch/slice_watch.h"
#include "target/proc.h"

struct live {
	struct beam_node *node;
	struct beam_resolver *resolver; /* NULL: live_config.unnamed or counting */
	struct session *session;	/* NULL: live_open_memory() */
	struct enrich *enrich;
	uint64_t start_epoch_ns, start_ns;
	struct proc_stat node_stat; /* at the start */
	double own_start_s;
	uint64_t names_until_ns; /* records are held back until names are known, at most until then;
				  * 0 = they are not held */
	bool needs_names;	 /* records wait for names: those of samples */
	uint64_t thread_data;	 /* beam_resolver_thread_data() */
	struct sched_watch *schedulers; /* NULL: not watched */
	uint64_t schedulers_ns;		/* when their records were last added */
	struct slice_watch *slices;	/* NULL: not watched */
	uint64_t slices_ns;		/* threshold of slices that are reported */
	uint64_t slices_least_ns;	/* all slices of at least that length were seen */
	struct strbuf warnings;		/* of live_add_warning(), one a line */
};

/* How much is copied with a call, see bpf/term_copy.bpf.h. */
struct live_calls {
	unsigned int words, depth;
	bool stacks; /* some calls have the stack of the callers */
	bool beside; /* the command shows events, and goes on if calls cannot be traced */
};

/* What the command asks for; the rest of the session's configuration follows from the node. */
struct live_config {
	const struct options *opt;	/* say how probes are attached */
	unsigned int freq;		/* 0 = no sampling */
	bool off_cpu;			/* of times off CPUs */
	bool futexes;			/* see struct session_config */
	struct source_plan *events;	/* NULL = none; live_open() may take kinds out of it */
	const struct live_calls *calls; /* NULL = calls are not recorded */
	uint64_t event_epid;
	struct event_who event_who, message_from, message_to; /* see abi/config.h */
	bool event_stacks;
	uint32_t libc_every; /* see event_run.h */
	bool libc_frees;
	double max_overhead;	    /* percent; 100 = no limit */
	unsigned int rate;	    /* see event_run.h */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* threshold of long_gc and long_schedule */
	/* No names are looked up, which saves time and memory here and in the probes: enough to
	 * count events.  Excludes stacks and samples. */
	bool unnamed;
	/* Implies unnamed: no events are delivered, only counted (session_event_count()).
	 * count_sums: with sums of sizes and times, see struct event_count. */
	bool counting, count_sums;
};

/* Fills in a session's configuration.  Without resolver (NULL) it is not known whether the node
 * keeps frame pointers.  ERROR_KIND_FAILED. */
int live_session_config(struct session_config *out, struct beam_node *n,
			struct beam_resolver *resolver, const struct live_config *asked,
			struct error *err);
/* Opens resolver, session and enricher; the caller calls session_start().  On failure all is
 * closed. */
int live_open(struct live *l, struct beam_node *n, const struct live_config *config,
	      struct error *err);
/* Without a session, for commands that only read memory: the only records are those added by
 * live_add_...() and enrich_add_...(). */
int live_open_memory(struct live *l, struct beam_node *n, struct error *err);
/* Sets the start of times and costs to now, instead of when `l` was opened. */
void live_begin(struct live *l);
void live_close(struct live *l);

/* Meta records that every capture has; `mode` is "cpu", "events", ... */
int live_add_meta(struct live *l, const char *command, const char *mode, unsigned int freq,
		  struct error *err);
/* Adds a warning to be shown with the recording: the meta record "warnings" has all so far. */
void live_add_warning(struct live *l, const char *text);
/* Once all probes are attached: records which kinds are watched since now, which of them without
 * probes, and which schedulers are busy now. */
void live_add_watching(struct live *l, uint64_t kinds, uint64_t unprobed);
/*
 * From now until live_end_schedulers() or live_close(): CPU time of the threads of schedulers; and
 * sampled in memory, how busy schedulers are (`work`) and how much of their time is GC (`gc`).
 */
int live_watch_schedulers(struct live *l, const struct options *opt, bool work, bool gc,
			  struct error *err);
/* Adds a record for each scheduler, if enough time has passed since the last ones, or if `now`. */
void live_add_schedulers(struct live *l, bool now);
/* Adds the last records, and ends the sampling. */
void live_end_schedulers(struct live *l);
bool live_sees_slices(const struct beam_node *n); /* does live_watch_slices() work on n? */
/* Long slices, collections and NIF calls, sampled in memory (slice_watch.h). */
int live_watch_slices(struct live *l, const struct slice_watch_config *config, struct error *err);
/* Adds an event for each slice, collection or NIF call that has ended. */
void live_add_slices(struct live *l);
/* Adds the last events, and ends the sampling.  Sets slices_least_ns; warns if samples were too far
 * apart to see all that was asked for. */
void live_end_slices(struct live *l);
/* session_stop(), after the names of functions are known that records were held back for. */
void live_stop(struct live *l);
/* source_drain() of the enricher; then tells the BPF programs where code was loaded since. */
int live_drain(struct live *l, uint64_t max_ns, const struct source_consumer *consumer,
	       struct error *err);
/* The value of a counter so far: of the session, the enricher or the resolver. */
uint64_t live_counter(struct live *l, enum counter_id id);
/* Adds a record at end_ns for each counter that is not 0; `refused`, records that the caller
 * rejected, are added to COUNTER_BAD_RECORD. */
void live_add_counters(struct live *l, uint64_t refused, uint64_t end_ns);
/* The last records: duration_ns, the build ids of the files that functions are of
 * ("build_id.beam.smp"), counters, and the end. */
void live_add_end(struct live *l, uint64_t refused, uint64_t end_ns);

/* What probes cost so far (budget_share()): percent of the CPU that the node used for itself, which
 * is what --max-overhead limits. */
struct live_cost {
	double percent; /* NAN = unknown */
	bool of_core;	/* percent of one core instead, as the node uses next to nothing */
};
/* CPU time of the programs that sample, and of the node, which the kernel counts in coarse ticks.
 * False = the node has exited. */
bool live_sample_clocks(struct live *l, struct sample_clocks *out);
void live_sample_cost(struct live *l, struct live_cost *out);
/* From now on one of `weight` samples is taken, and counts as `weight`. */
void live_sample_less(struct live *l, unsigned int weight);
/* Cost of the probes of events.  Unknown if their overhead is not measured, nor limited. */
void live_event_cost(struct live *l, struct live_cost *out);
/* Adds "  cost to the node ~0.03% of its own CPU" if the cost is known. */
void live_cost_add(const struct live_cost *cost, struct strbuf *out);
/* Percent of one core that this process has used since the start. */
double live_own_cpu(struct live *l);

#endif
