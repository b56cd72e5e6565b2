/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every command with probes needs: node -> resolver, probes -> session, enricher over both.
 * Borrows the node.
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
	struct beam_resolver *resolver; /* NULL: unnamed */
	struct session *session;	/* NULL: live_open_memory() */
	struct enrich *enrich;
	uint64_t start_epoch_ns, start_ns;
	struct proc_stat node_stat; /* at the start */
	double own_start_s;
	uint64_t thread_data;		/* beam_resolver_thread_data() */
	struct sched_watch *schedulers; /* NULL: not watched */
	uint64_t schedulers_ns;		/* when they were reported last */
	struct slice_watch *slices;	/* NULL: likewise */
	uint64_t slices_ns;		/* how long they are at least */
	uint64_t slices_least_ns;	/* all that lasted so long were seen */
	struct strbuf warnings;		/* live_add_warning(), one a line */
};

/* How much is copied with a call, see bpf/term_copy.bpf.h. */
struct live_calls {
	unsigned int words, depth;
	bool stacks; /* of the callers, with some of them */
	bool beside; /* what is asked for are the events: calls only say more */
};

/* What is asked for; the rest of the session's configuration is the node's. */
struct live_config {
	const struct options *opt;	/* how probes use this host */
	unsigned int freq;		/* 0 = no sampling */
	struct source_plan *events;	/* NULL = none; live_open() may take kinds out of it */
	const struct live_calls *calls; /* of functions; NULL = none */
	uint64_t event_epid;
	struct event_who event_who, message_from, message_to; /* see abi/config.h */
	bool event_stacks;
	double max_overhead;	    /* percent; 100 = no limit */
	uint64_t gc_longer_than_ns; /* only collections that took longer; 0 = all */
	uint64_t longer_than_ns;    /* of long_gc, long_schedule */
	/* For who counts only: nothing has a name, which takes no time and no memory, here or in
	 * the probes.  No stacks then, no samples. */
	bool unnamed;
	/* No events either, only how many there were: session_event_count().  With sums of sizes
	 * and times, see struct event_count. */
	bool counting, count_sums;
};

/* What a session gets of the node.  Without resolver (NULL) it is not known whether the node
 * keeps frame pointers.  ERROR_KIND_FAILED. */
int live_session_config(struct session_config *out, struct beam_node *n,
			struct beam_resolver *resolver, const struct live_config *asked,
			struct error *err);
/* Everything but session_start().  On failure live_close() is called. */
int live_open(struct live *l, struct beam_node *n, const struct live_config *config,
	      struct error *err);
/* For who only reads memory: no session, nothing is attached; records are those that are added. */
int live_open_memory(struct live *l, struct beam_node *n, struct error *err);
/* What follows is measured from now on, not from when it was opened. */
void live_begin(struct live *l);
void live_close(struct live *l);

/* Meta records that every capture has; `mode` is "cpu", "events", ... */
int live_add_meta(struct live *l, const char *command, const char *mode, unsigned int freq,
		  struct error *err);
/* To be shown with what is recorded: the meta record "warnings" has all of them so far. */
void live_add_warning(struct live *l, const char *text);
/* Once these kinds come, of which some need no probes: since when, and what each scheduler does
 * then. */
void live_add_watching(struct live *l, uint64_t kinds, uint64_t unprobed);
/*
 * From now on, and until it is closed: what the threads of schedulers get of the CPUs; of the
 * node's memory, how busy they are (`work`), and how much of their time is collection (`gc`).
 */
int live_watch_schedulers(struct live *l, const struct options *opt, bool work, bool gc,
			  struct error *err);
/* That, as records, once enough time has passed, or `now`. */
void live_add_schedulers(struct live *l, bool now);
/* The last of that: they are not watched any more. */
void live_end_schedulers(struct live *l);
bool live_sees_slices(const struct beam_node *n); /* live_watch_slices() works on it */
/* The same of what lasts long: as events. */
int live_watch_slices(struct live *l, const struct slice_watch_config *config, struct error *err);
void live_add_slices(struct live *l);
/* The last of them.  Sets slices_least_ns; warns if samples were too far apart to see all. */
void live_end_slices(struct live *l);
/* source_drain() of the enricher; then the probes are told of code in new places. */
int live_drain(struct live *l, uint64_t max_ns, const struct source_consumer *consumer,
	       struct error *err);
/* So far, whoever counts it. */
uint64_t live_counter(struct live *l, enum counter_id id);
/* Counters, `refused` records of the caller's among them, as records of that time. */
void live_add_counters(struct live *l, uint64_t refused, uint64_t end_ns);

/* What probes cost so far, as budget_share() says it: percent of the CPU that the node used for
 * itself, which is what --max-overhead limits. */
struct live_cost {
	double percent; /* NAN = unknown */
	bool of_core;	/* instead, as the node uses next to nothing */
};
/* The programs of samples, and of what that is a part: in the kernel's coarse ticks.  False = the
 * node is gone. */
bool live_sample_clocks(struct live *l, struct sample_clocks *out);
void live_sample_cost(struct live *l, struct live_cost *out);
/* From now on a sample stands for so many: fewer are taken. */
void live_sample_less(struct live *l, unsigned int weight);
/* The probes of events.  Unknown: their budget is not kept. */
void live_event_cost(struct live *l, struct live_cost *out);
/* "  cost to the node ~0.03% of its own CPU", if it is known. */
void live_cost_add(const struct live_cost *cost, struct strbuf *out);
/* Percent of one core that this process has used since the start. */
double live_own_cpu(struct live *l);

#endif
