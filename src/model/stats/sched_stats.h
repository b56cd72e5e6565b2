/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling, added up: how busy each scheduler is, how long processes wait to run, how long they
 * run and why they stop, and whose the time is.  From process_scheduled, process_runnable,
 * scheduler_active and long_schedule, in order of time; how busy schedulers are from what their
 * memory shows, too (REC_SCHEDULER).
 *
 * A time counts only if both of its ends were seen with nothing missed in between.  Counts and sums
 * of slices are those of what was seen; who shows them scales them by what was sampled.  Shares
 * of a scheduler's time need no scale: they are of the time in which it was watched.
 *
 * Where process_scheduled is sampled and long_schedule is not, long slices are all in the second
 * and hardly ever in the first: sched_count has both, so that only short ones need be scaled.
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
#define SCHED_STATS_PROCESSES 262144u /* that run or are to run at one time */
#define SCHED_STATS_LONGEST   10u

/* How a process left a normal scheduler. */
enum sched_left {
	SCHED_LEFT_WAITING,
	SCHED_LEFT_PREEMPTED, /* runnable, it had used up its reductions */
	SCHED_LEFT_YIELDED,  /* runnable before that: it yielded, trapped, or was woken just then */
	SCHED_LEFT_TO_DIRTY, /* runnable, and came to a dirty scheduler next */
	SCHED_LEFT_SUSPENDED,
	SCHED_LEFT_EXITED,
	NR_SCHED_LEFT
};
const char *sched_left_name(enum sched_left left);

/* Something that is on or off, and for how long it was on of the time in which that is known. */
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
	uint64_t epid; /* of the process that came in last and was not seen to leave; 0 = none */
	struct sched_clock active; /* normal ones: working, as the VM counts it */
	struct sched_clock busy;   /* with a process */
	struct sched_use use;	   /* as its memory shows */
};

/* Where its utilization comes from. */
enum sched_source {
	SCHED_SOURCE_NONE,
	SCHED_SOURCE_VM,      /* the VM's own account */
	SCHED_SOURCE_EVENTS,  /* scheduler_active; of a dirty one process_scheduled */
	SCHED_SOURCE_SAMPLES, /* at its memory, at times */
};
const char *sched_source_name(enum sched_source source); /* NULL: none */

/* How busy one is.  Percent, NaN = not known. */
struct sched_utilization {
	enum sched_source source;
	double percent;
	double error; /* points that it may be wrong by; 0 = it is counted */
	struct sched_parts parts;
};

struct sched_part { /* slices */
	uint64_t nr, ns;
	uint64_t dirty_ns; /* of that: on dirty schedulers */
};

struct sched_count { /* of a group */
	uint64_t slices;
	/* On schedulers: unfinished slices, too, and long ones that began before watching did. */
	uint64_t time_ns;
	uint64_t dirty_ns;  /* of that: on dirty ones */
	uint64_t unseen_ns; /* of that: of long ones that began before: none of slices */
	uint64_t max_ns;    /* longest slice, also by long_schedule */
	bool max_cut;	    /* it was longer: its beginning or end was not watched */
	/* Long slices: those of the above, and by long_schedule what of them is in the interval. */
	struct sched_part seen_long, all_long;
	uint64_t reductions;
	uint64_t waits, wait_ns, max_wait_ns; /* in run queues */
};

struct sched_long {
	uint64_t ts_ns, ns;
	bool cut;	     /* it took longer: its beginning or end was not watched */
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
	uint64_t unknown_waits; /* slices of which nothing showed since when it was runnable */
	uint64_t untracked;	/* events of processes for which there was no room */
	VEC(struct sched_cpu) cpus;
	VEC(uint16_t) cpu_of;				/* by thread id: its index in cpus + 1 */
	struct sched_long longest[SCHED_STATS_LONGEST]; /* longest first */
	unsigned int nr_longest;
	uint64_t nr_long;		   /* all of them */
	uint64_t long_ns;		   /* from here on a slice is a long one; 0 = nobody says */
	uint64_t start_ns;		   /* when watching began */
	uint64_t interval_ns, advanced_ns; /* where the interval began; how far it has come */
	uint64_t lost;			   /* COUNTER_EVENTS_LOST at the last restart */
	uint64_t purged_ns;		   /* the last gap that processes were purged of */
	struct keytab processes;	   /* struct sched_process, by epid */
	uint32_t max_processes;
	bool partial; /* events are of some processes: they do not tell how busy schedulers are */
};

/* `max_processes`, `max_groups`: 0 = the limits above.  What happened before start_ns is not
 * known. */
void sched_stats_open(struct sched_stats *s, struct event_stream *stream, enum process_group_by by,
		      uint32_t max_groups, uint32_t max_processes, uint64_t start_ns);
void sched_stats_close(struct sched_stats *s);

/* Others than SCHED_STATS_KINDS and long_schedule are ignored. */
void sched_stats_take(struct sched_stats *s, enum event_kind kind, const struct event *ev);

/* A record of a scheduler's memory (REC_SCHEDULER). */
void sched_stats_memory(struct sched_stats *s, const struct event *ev);
/*
 * Whether a scheduler was with a process (or a port) when watching began: before the first event.
 * One that never says anything went on with that.  One that was not with a process, or of which
 * this is not reported, may be with one that came unseen, as it was on its way in: of the time
 * before that one leaves nothing is known.
 */
void sched_stats_begin(struct sched_stats *s, enum thread_type type, uint16_t number, bool busy);
/* Adds what has not ended yet, up to that time: once before the figures are read.  last: there will
 * be no more, so long slices were reported as far as they went. */
void sched_stats_advance(struct sched_stats *s, uint64_t end_ns, bool last);
/* Forgets the figures, keeps what has not ended: for the next interval.  Processes whose end was
 * missed are forgotten, too. */
void sched_stats_restart(struct sched_stats *s);

/* What of it is to be scaled: with `joined` long slices are not, all of them are in all_long. */
struct sched_part sched_count_seen(const struct sched_count *c, bool joined);
/* Percent of the time that is known, NaN if none is. */
double sched_clock_percent(const struct sched_clock *c);
/* How busy a scheduler is by its events alone: percent, NaN if that is not known. */
double sched_cpu_by_events(const struct sched_cpu *cpu);
/* How busy it is: counted by the VM, or by events if none is missing, or by samples. */
void sched_cpu_utilization(const struct sched_stats *s, const struct sched_cpu *cpu,
			   struct sched_utilization *out);
/* Indices of the schedulers, by type and number, into order[] (room for cpus.len). */
void sched_stats_order(const struct sched_stats *s, uint32_t *order);

#endif
