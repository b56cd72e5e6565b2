/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling, added up: how busy each scheduler is, how long processes wait to run, how long they
 * run, why they stop, and the time of each process.  From process_scheduled, process_runnable,
 * scheduler_active and long_schedule, in order of time; utilization also from records of the
 * schedulers' memory (REC_SCHEDULER).
 *
 * A time counts only if both of its ends were seen with nothing missed in between.  Counts and sums
 * of slices are of those seen; if only a part was, the caller scales them to estimates.  Shares of
 * a scheduler's time need no scale: they refer to the time in which it was watched.
 *
 * If process_scheduled is sampled and long_schedule is not, all long slices are in the latter, and
 * few in the former: sched_count has both, so that only short ones are scaled.
 */
#ifndef EBEAM_MODEL_SCHED_STATS_H
#define EBEAM_MODEL_SCHED_STATS_H

#include "base/histogram.h"
#include "base/keytab.h"
#include "model/process/process_group.h"
#include "model/stats/sched_use.h"

struct event_stream;

#define SCHED_STATS_KINDS                                                                          \
	(1ull << EVENT_PROCESS_SCHEDULED | 1ull << EVENT_PROCESS_RUNNABLE |                        \
	 1ull << EVENT_SCHEDULER_ACTIVE)

#define SCHED_STATS_CPUS      4096u   /* schedulers, of all types */
#define SCHED_STATS_PROCESSES 262144u /* running or runnable at one time */
#define SCHED_STATS_LONGEST   10u

/* How a process left a normal scheduler. */
enum sched_left {
	SCHED_LEFT_WAITING,
	SCHED_LEFT_PREEMPTED, /* runnable, with no reductions left */
	SCHED_LEFT_YIELDED,   /* runnable with reductions left: yielded, trapped, or woken */
	SCHED_LEFT_TO_DIRTY,  /* runnable, and ran on a dirty scheduler next */
	SCHED_LEFT_SUSPENDED,
	SCHED_LEFT_EXITED,
	NR_SCHED_LEFT
};
const char *sched_left_name(enum sched_left left);

/* A state that is on or off: how long it was on, of the time in which it was known. */
struct sched_clock {
	uint64_t last; /* coverage_clock() of the last change */
	uint64_t last_ns;
	uint64_t on_ns, known_ns;
	enum { SCHED_UNKNOWN, SCHED_OFF, SCHED_ON } state;
};

struct sched_cpu {
	enum thread_type type; /* normal, dirty CPU, dirty IO */
	uint16_t number;
	enum { SCHED_BEGAN_UNKNOWN, SCHED_BEGAN_IDLE, SCHED_BEGAN_BUSY } began; /* at start_ns */
	uint64_t slices;
	uint64_t epid;		   /* scheduled in last and not seen to leave; 0 = none */
	struct sched_clock active; /* of normal ones: not waiting, as the VM counts it */
	struct sched_clock busy;   /* runs a process */
	struct sched_use use;	   /* by records of its memory */
};

/* Source of a scheduler's utilization. */
enum sched_source {
	SCHED_SOURCE_NONE,
	SCHED_SOURCE_VM,      /* the VM's own account */
	SCHED_SOURCE_EVENTS,  /* scheduler_active; for dirty ones process_scheduled */
	SCHED_SOURCE_SAMPLES, /* samples of its memory */
};
const char *sched_source_name(enum sched_source source); /* NULL: none */

/* Utilization of a scheduler.  Percent, NaN = not known. */
struct sched_utilization {
	enum sched_source source;
	double percent;
	double error; /* percentage points; 0 = counted by the VM or by events */
	struct sched_parts parts;
};

struct sched_part { /* slices */
	uint64_t nr, ns;
	uint64_t dirty_ns; /* the part of `ns` on dirty schedulers */
};

struct sched_count { /* of a group */
	uint64_t slices;
	/* Time on schedulers, with unfinished slices, and long ones that began before watching
	 * did. */
	uint64_t time_ns;
	uint64_t dirty_ns;  /* the part of time_ns on dirty schedulers */
	uint64_t unseen_ns; /* part of time_ns: long slices that began before watching */
	uint64_t max_ns;    /* longest slice, also by long_schedule */
	bool max_cut;	    /* the longest slice was longer: its begin or end was not watched */
	/* Long slices: among `slices`; by long_schedule, their part in the interval. */
	struct sched_part seen_long, all_long;
	uint64_t reductions;
	uint64_t waits, wait_ns, max_wait_ns; /* in run queues */
};

struct sched_long {
	uint64_t ts_ns, ns;
	bool cut;	     /* it was longer: its begin or end was not watched */
	uint64_t reductions; /* EVENT_UNKNOWN = not known */
	uint32_t process, thread, stack, entry; /* ids of the dictionary; 0 = none */
	uint32_t port, driver, port_name;	/* likewise, of a slice of a port */
};

struct sched_stats {
	struct event_stream *stream;
	struct process_groups groups;
	VEC(struct sched_count) counts; /* by group; may be shorter than the groups */
	struct sched_count total;
	uint64_t left[NR_SCHED_LEFT];
	struct histogram slices, dirty_slices;	     /* ns */
	struct histogram run_queue, dirty_run_queue; /* ns from runnable to in */
	struct histogram reductions;		     /* of slices on normal schedulers */
	uint64_t unknown_waits; /* slices of processes not known to be runnable before */
	uint64_t untracked;	/* events of processes beyond the limit */
	VEC(struct sched_cpu) cpus;
	VEC(uint16_t) cpu_of;				/* by thread id: its index in cpus + 1 */
	struct sched_long longest[SCHED_STATS_LONGEST]; /* longest first */
	unsigned int nr_longest;
	uint64_t nr_long;		   /* number of all long slices */
	uint64_t long_ns;		   /* threshold of long slices; 0 = not known */
	uint64_t start_ns;		   /* when watching began */
	uint64_t interval_ns, advanced_ns; /* begin of the interval, and end of what is counted */
	uint64_t lost;			   /* COUNTER_EVENTS_LOST at the last restart */
	uint64_t purged_ns;	 /* time of the last gap for which processes were purged */
	struct keytab processes; /* struct sched_process, by epid */
	uint32_t max_processes;
	bool partial; /* events are of some processes only, so they do not show utilization */
};

/* `max_processes`, `max_groups`: 0 = the limits above.  The state before start_ns is not known. */
void sched_stats_open(struct sched_stats *s, struct event_stream *stream, enum process_group_by by,
		      uint32_t max_groups, uint32_t max_processes, uint64_t start_ns);
void sched_stats_close(struct sched_stats *s);

/* Kinds other than SCHED_STATS_KINDS and long_schedule are ignored. */
void sched_stats_take(struct sched_stats *s, enum event_kind kind, const struct event *ev);

/* A record of a scheduler's memory (REC_SCHEDULER). */
void sched_stats_memory(struct sched_stats *s, const struct event *ev);
/*
 * Whether a scheduler ran a process (or a port) when watching began; to be called before the first
 * event.  A scheduler without events stays in that state.  One that ran no process, or for which
 * this is not called, may have got one just before watching began: then nothing is known of its
 * time until that process leaves.
 */
void sched_stats_begin(struct sched_stats *s, enum thread_type type, uint16_t number, bool busy);
/* Counts what has not ended yet, up to end_ns; once before figures are read.  last: the recording
 * ends, so long slices were reported as far as they went. */
void sched_stats_advance(struct sched_stats *s, uint64_t end_ns, bool last);
/* Resets figures for the next interval; keeps what has not ended, except processes whose events
 * were missed. */
void sched_stats_restart(struct sched_stats *s);

/* Slices seen, for scaling; if `joined` without long ones, as all_long has all of these. */
struct sched_part sched_count_seen(const struct sched_count *c, bool joined);
/* Percent of the known time, NaN if there is none. */
double sched_clock_percent(const struct sched_clock *c);
/* Utilization by events alone: percent, NaN if not known. */
double sched_cpu_by_events(const struct sched_cpu *cpu);
/* Utilization by the best source: the VM's own count, or events if none is missing, or samples. */
void sched_cpu_utilization(const struct sched_stats *s, const struct sched_cpu *cpu,
			   struct sched_utilization *out);
/* Indices of the schedulers, by type and number, into order[] (room for cpus.len). */
void sched_stats_order(const struct sched_stats *s, uint32_t *order);

#endif
