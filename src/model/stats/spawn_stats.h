/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who starts processes, how they end and how long they lived: from process_spawn, process_exit,
 * process_link, process_unlink, process_register and process_unregister.
 *
 * A crash is an exit with another reason than normal, shutdown and {shutdown, _}.  Reasons are
 * merged by their shape: pids, references, ports, funs and numbers are written as <pid>, <ref>,
 * <port>, <fun> and N; line numbers stay.
 *
 * All tables are bounded; their first row is for all that is beyond.  Counts are of events that
 * were seen; the caller divides them by coverage_share() of their kind.
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
	uint64_t living; /* spawns minus exits, of processes whose spawn was seen */
	uint64_t lifetimes, lifetime_ns, max_lifetime_ns;
	uint32_t reason; /* of the last crash; 0 = none */
	/* In rows of parents, keys of spawn_loops: of the last crash that no spawn has followed
	 * yet; and of one that was a loop; 0 = none. */
	uint64_t open_crash, loop;
};

/* Crashes of the children of one parent with one entry function and one reason. */
struct spawn_loop {
	uint64_t key;
	uint64_t crashes;
	/* Spawns by the parent after such crashes: in_turn, while no other child of it was known to
	 * live; apart, SPAWN_LOOP_APART_NS or more after the last one counted, at counted_ns. */
	uint64_t in_turn, apart, counted_ns;
};

struct spawn_reason {
	char *text; /* shape of the reason; "[others]" in the first */
	uint64_t exits;
	bool crash;
};

struct spawn_name {
	uint32_t name; /* string id; 0 = all names beyond the limit */
	uint64_t registered, unregistered;
};

/* A process whose spawn was seen, until it exits. */
struct spawn_living {
	uint64_t epid; /* the key */
	uint64_t birth_ns;
	uint32_t row, parent, interval;
	uint32_t entry; /* function id */
};

struct spawn_stats {
	struct event_stream *stream;
	struct process_groups groups, parents; /* parents: by name */
	VEC(struct spawn_row) rows;	       /* by group */
	VEC(struct spawn_row) by_parent;       /* by group of parents: counts of their children */
	VEC(struct spawn_reason) reasons;      /* [0] = others */
	VEC(uint32_t) reason_of;	       /* by string: reason + 1 */
	struct idmap reason_index, name_index;
	VEC(struct spawn_name) names;	  /* [0] = others */
	struct keytab living;		  /* struct spawn_living, by epid */
	struct keytab loops;		  /* struct spawn_loop */
	uint32_t max_living, max_reasons; /* tests set lower ones */
	uint32_t interval;
	struct spawn_row all;
	uint64_t links, unlinks, registered, unregistered;
	uint64_t lost_living; /* spawns beyond max_living: their exits are not in `living` */
	uint64_t lost_reasons, lost_names; /* exits, and registrations, that are under [others] */
	uint64_t lost_loops;		   /* crashes beyond the limit of spawn_loops */
	uint64_t unnamed; /* spawns of processes whose pid is not in the dictionary */
	struct histogram lifetimes;
};

void spawn_stats_open(struct spawn_stats *s, struct event_stream *stream, enum process_group_by by);
void spawn_stats_close(struct spawn_stats *s);
/* Resets counts, reasons and names for the next interval; living processes and their groups
 * stay. */
void spawn_stats_restart(struct spawn_stats *s);

void spawn_stats_take(struct spawn_stats *s, enum event_kind kind, const struct event *ev);

/* Number of overflows, which are counted under [others]. */
uint64_t spawn_stats_overflows(const struct spawn_stats *s);

/*
 * Patterns that are reported for the children of one parent.  A loop: at least half of the children
 * crashed, and those of one function with one reason three times or more, each time followed by a
 * spawn while no other child was left (what a supervisor does with a child that cannot live,
 * however fast), or SPAWN_LOOP_APART_NS after the last one (so that many children that start and
 * crash at once do not count).  A storm: 10,000 spawns a second or more for a second or more; to
 * start and end a process costs the VM some microseconds, so this is some percent of a core.  A
 * pile: 1,000 more children live than when the interval began, and they are half of all that were
 * started.
 * spawned: estimate of all spawns, if not all were seen.
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

/* Appends the shape of an exit reason (Erlang text). */
void spawn_reason_shape(const char *reason, struct strbuf *out);
bool spawn_reason_is_crash(const char *reason);

#endif
