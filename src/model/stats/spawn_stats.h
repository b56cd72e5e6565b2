/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who starts processes, how they end and how long they lived: from process_spawn, process_exit,
 * process_link, process_unlink, process_register and process_unregister.
 *
 * A crash is an exit for another reason than normal, shutdown and {shutdown, _}.  Reasons are
 * merged by their shape: pids, references, ports, funs and numbers are written as <pid>, <ref>,
 * <port>, <fun> and N; the number of a line stays.
 *
 * All tables are bounded; what does not fit any more is counted in their first row.  Counts are
 * of what was seen; who shows them scales them by coverage_share() of their kind.
 */
#ifndef EBEAM_MODEL_SPAWN_STATS_H
#define EBEAM_MODEL_SPAWN_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/keytab.h"
#include "model/process/process_group.h"
#include "model/stream/event_stream.h"

#define SPAWN_KINDS                                                                                \
	(1ull << EVENT_PROCESS_SPAWN | 1ull << EVENT_PROCESS_EXIT | 1ull << EVENT_PROCESS_LINK |   \
	 1ull << EVENT_PROCESS_UNLINK | 1ull << EVENT_PROCESS_REGISTER |                           \
	 1ull << EVENT_PROCESS_UNREGISTER)

#define SPAWN_REASONS_MAX 4096u
#define SPAWN_NAMES_MAX	  4096u
#define SPAWN_LIVING_MAX  (1u << 20)

struct spawn_row {
	uint64_t spawned, exited, crashed;
	uint64_t living; /* of those whose spawn was seen, those whose exit was not */
	uint64_t lifetimes, lifetime_ns, max_lifetime_ns;
	uint32_t reason; /* of the last crash; 0 = none */
	/* Of a parent: key of the spawn_loop whose crash it has not followed by a spawn yet, and of
	 * one that was a loop; 0 = none. */
	uint64_t open_crash, loop;
};

/* Children of one parent that crashed for one reason, and had been started to run one function. */
struct spawn_loop {
	uint64_t key;
	uint64_t crashes;
	/* Spawns of the parent that followed: while no other child of it lived that was seen; some
	 * time after the one that was counted before, at counted_ns. */
	uint64_t in_turn, apart, counted_ns;
};

struct spawn_reason {
	char *text; /* its shape; of the first one "[others]" */
	uint64_t exits;
	bool crash;
};

struct spawn_name {
	uint32_t name; /* string; 0 = what did not fit */
	uint64_t registered, unregistered;
};

/* A process whose spawn was seen, until it exits. */
struct spawn_living {
	uint64_t epid; /* the key */
	uint64_t birth_ns;
	uint32_t row, parent, interval;
	uint32_t entry; /* function */
};

struct spawn_stats {
	struct event_stream *stream;
	struct process_groups groups, parents; /* the latter by name */
	VEC(struct spawn_row) rows;	       /* by group */
	VEC(struct spawn_row) by_parent;       /* by group of parents: of their children */
	VEC(struct spawn_reason) reasons;      /* [0] = others */
	VEC(uint32_t) reason_of;	       /* by string: reason + 1 */
	struct idmap reason_index, name_index;
	VEC(struct spawn_name) names;	  /* [0] = others */
	struct keytab living;		  /* struct spawn_living, by epid */
	struct keytab loops;		  /* struct spawn_loop */
	uint32_t max_living, max_reasons; /* tests lower them */
	uint32_t interval;
	struct spawn_row all;
	uint64_t links, unlinks, registered, unregistered;
	uint64_t lost_living; /* spawned beyond max_living: their ends say nothing of LIVING */
	uint64_t lost_reasons, lost_names; /* exits, and names, that are under [others] */
	uint64_t lost_loops;		   /* crashes that are in no spawn_loop */
	uint64_t unnamed; /* spawned, of which the dictionary does not know the pid */
	struct histogram lifetimes;
};

void spawn_stats_open(struct spawn_stats *s, struct event_stream *stream, enum process_group_by by);
void spawn_stats_close(struct spawn_stats *s);
/* Counts, reasons and names begin at 0 again; who lives stays, and the groups of those. */
void spawn_stats_restart(struct spawn_stats *s);

void spawn_stats_take(struct spawn_stats *s, enum event_kind kind, const struct event *ev);

/* What had to be put under [others]. */
uint64_t spawn_stats_overflows(const struct spawn_stats *s);

/*
 * What of the children of one parent must not be missed.  A loop: at least half of all that it
 * started crashed, and those of one function for one reason again and again: three times or more it
 * started a child after such a crash, each time when no other child was left (what a supervisor
 * does with one that cannot live, however fast), or each SPAWN_LOOP_APART_NS after the one before
 * (so that many that were started at once and crash are none).  A storm: 10,000 a second and more
 * for a second and more; to start and end a process costs the VM some microseconds, so that this is
 * some percent of a core for nothing but that.  A pile: 1,000 more live than when the interval
 * began, and half of all that it started.
 * spawned: of them all, where not all were seen.
 */
#define SPAWN_LOOP_CRASHES  3u
#define SPAWN_LOOP_APART_NS 300000000u
#define SPAWN_LOOPS_MAX	    4096u
#define SPAWN_STORM_RATE    10000.0
#define SPAWN_STORM_LEAST   10000.0
#define SPAWN_PILE_LEAST    1000u
bool spawn_stats_is_loop(const struct spawn_stats *s, const struct spawn_row *parent);
bool spawn_row_is_storm(double spawned, double seconds);
bool spawn_row_is_pile(const struct spawn_row *row);

/* Adds the shape of an exit reason (Erlang text). */
void spawn_reason_shape(const char *reason, struct strbuf *out);
bool spawn_reason_is_crash(const char *reason);

#endif
