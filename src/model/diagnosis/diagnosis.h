/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was seen of a node in a few seconds, and the findings that follow from it: what is wrong, or
 * soon will be, with evidence.  This module has the rules only: the caller reads the node and fills
 * in struct diagnosis; a fact that is not known is zero, NAN, NULL or has no samples, and no rule
 * uses it.
 *
 * A rule is a row of DIAGNOSIS_RULES (diagnosis_internal.h) and a function.
 */
#ifndef EBEAM_MODEL_DIAGNOSIS_H
#define EBEAM_MODEL_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

/* ---- what was seen --------------------------------------------------------------------------- */

#define SERIES_MAX 64u

/* Values of one quantity at equal intervals, and the latest value.  When v[] is full every second
 * value is dropped: the intervals are twice as long then. */
struct series {
	double v[SERIES_MAX], last;
	unsigned int nr, added, every; /* one of `every` values is in v[]; added: all values */
};
void series_add(struct series *s, double value);
double series_first(const struct series *s); /* NAN if empty; so series_last() */
double series_last(const struct series *s);
double series_least(const struct series *s); /* NAN if empty */
/* Last minus first value, if the value rose in two intervals at least, and never fell by more than
 * a quarter of that difference; else 0. */
double series_growth(const struct series *s);
/* True if it grew in adjacent intervals only, at most half of all, and has stopped growing
 * since. */
bool series_is_burst(const struct series *s);

/* Rate of growth, and half width of its 95 % confidence interval, by differences of steps. */
struct growth {
	double per_s, error; /* NAN = not known */
};
/* grew: sum of the growth in `steps` intervals of equal length; squares: sum of the squares of
 * it. */
struct growth growth_of(double grew, double squares, unsigned int steps, double seconds);
struct growth series_growth_rate(const struct series *s, double seconds);
/* True if 0 is not in the confidence interval. */
bool growth_is_sure(const struct growth *g);

#define DIAGNOSED_NONE UINT32_MAX

/* A process that a rule may name.  Texts are owned by the caller; NULL = not known. */
struct diagnosed_process {
	const char *pid;  /* "<0.80.0>" */
	const char *name; /* registered name, label, or initial call */
	const char *function, *status;
	const char *suspended_by; /* "port #Port<0.5>", "the connection to b@host" */
	uint64_t queue_first, queue_min, queue_last;
	bool queue_grew; /* the mailbox became longer at least twice, and hardly ever shorter */
	struct growth queue_growth;
	uint64_t heap_first, heap_last; /* bytes */
	uint32_t waiting, behind;	/* see model/process/wait_graph.h */
	uint64_t binaries; /* bytes of binaries it refers to, each once; 0 = not read */
	uint64_t nr_binaries;
	double binaries_used; /* bytes of these that its terms are, or were till now; NAN */
	/* Bytes of those to which only garbage refers, which are not in binaries_used; NAN = not
	 * known, and it has them. */
	double binaries_garbage;
};

/* What one scheduler did. */
struct diagnosed_scheduler {
	const char *type; /* "normal", "dirty CPU", "dirty IO" */
	bool dirty;
	bool offline; /* all of the time, so it is not counted */
	unsigned int number;
	unsigned int nr_busy, nr_seen; /* scheduler samples */
	/* Its longest time slice; of a normal scheduler without the time in which its thread waited
	 * for a CPU. */
	uint64_t longest_ns;
	uint64_t waited_ns; /* the time in that slice in which the thread waited for a CPU */
	bool lasts;	    /* the slice had not ended at the last sample */
	uint64_t queue;	    /* processes and ports in its run queue during the slice */
	const char *pid, *function; /* of the process in that slice */
	const char *syscall;	    /* that its thread was blocked in; NULL = none */
	/* "mutex", of C code, for which its thread waited at last; NULL = none: then the syscall is
	 * futex.  owner: scheduler that has it, index + 1, 0 = none; owner_thread: name of another
	 * thread; NULL = not known. */
	const char *lock;
	unsigned int lock_owner;
	const char *lock_thread;
	bool lock_orphaned; /* the thread that has it has ended */
};

struct diagnosed_function { /* scheduler threads waited in it for a lock, in nr samples */
	const char *name;
	unsigned int nr;
};

/* A table in whose functions scheduler threads waited for a lock, in nr samples. */
struct diagnosed_lock {
	const char *table;
	unsigned int nr;
	bool write_concurrency;
};

struct diagnosed_overdue { /* a process, and how late its timer is */
	uint32_t process;  /* index in processes */
	double late_ms;
};

struct diagnosed_path { /* indices of processes: a cycle of waits */
	const uint32_t *processes;
	uint32_t nr, total; /* in processes[]; in the whole cycle */
};

struct diagnosed_limit {
	const char *what, *command; /* command: shows more, NULL = none does */
	uint64_t used, max;
};

struct diagnosed_memory { /* a type of erlang:memory/0 */
	const char *type;
	struct series bytes;
};

struct diagnosed_allocator {
	const char *type;
	uint64_t blocks_size, carriers_size; /* in the last sample */
	struct series blocks;		     /* blocks_size */
};

struct diagnosed_table { /* of ETS */
	const char *name, *owner;
	struct series objects;
	double seconds; /* since the table was seen first */
	uint64_t bytes;
};

struct diagnosed_connection { /* to another node */
	const char *name;
	bool busy, always; /* in the last sample; in all samples */
	uint64_t queue;	   /* bytes */
	uint32_t waiting;
};

struct diagnosed_port {
	const char *id, *name, *owner, *sender; /* sender: the first process that waits */
	uint64_t queue;				/* bytes */
	bool busy, always;
	uint32_t waiting, sending; /* processes: suspended; that wait for a reply */
};

struct diagnosed_restart {
	/* A registered name that was given to one process after the other; or NULL: children of a
	 * supervisor, of which `child` is the newest; `times`: restarts that the supervisor itself
	 * has counted. */
	const char *name, *child, *parent;
	uint32_t times;
};

struct diagnosed_receiver { /* of messages from timers */
	const char *pid;    /* NULL = not known */
	const char *text;   /* "<0.80.0> my_server", or a name that is not registered */
	uint64_t nr;
};

struct diagnosed_busy {
	uint32_t process;     /* index in processes */
	unsigned int samples; /* scheduler samples in which it ran, or was collected */
};

struct diagnosis {
	uint64_t duration_ns;
	unsigned int scheduler_samples, samples;
	bool stopped; /* by a signal or a debugger */
	/* Samples in which multi-scheduling was blocked; in the last of these: by whom, and whether
	 * for dirty schedulers, too. */
	unsigned int nr_msched_blocked;
	const char *msched_blocker;
	bool dirty_blocked;

	/* cpu_wait: of the time in which scheduler threads were runnable or ran, the part without a
	 * CPU; NAN. */
	double cpu_wait, cpu_used;   /* cpu_used: in cores */
	VEC(const char *) cpu_users; /* other processes that use CPU, most first, as text */
	/* CPU use of the whole host, in cores; nr_cpus == 0: not known.  other_cpu: by processes
	 * that are neither the node nor among cpu_users. */
	unsigned int nr_cpus;
	double host_cpu, stolen_cpu, other_cpu;
	double throttled;      /* share of its cgroup's CPU periods that were throttled */
	struct series rss;     /* bytes */
	struct series beyond;  /* part of rss that is in no carrier of the VM's allocators */
	struct series malloc;  /* part of rss that is of malloc of the C library */
	bool malloc_is_uneven; /* it was read at unequal intervals, as that takes long */
	uint64_t memory_max;   /* limit in bytes; 0 = not known */

	VEC(struct diagnosed_limit) limits;
	VEC(struct diagnosed_memory) memory; /* the first is the total */
	VEC(struct diagnosed_allocator) allocators;
	struct series atoms, code; /* code: bytes of loaded code */
	VEC(const char *) newest_atoms;
	double spawned_per_s; /* NAN */
	struct series nr_processes, nr_ports, nr_tables;
	/* Of the processes that scans found new: the parent of most (NULL = not known), how many it
	 * spawned, and how many there were. */
	const char *spawner;
	uint32_t spawned, spawned_all;
	VEC(struct diagnosed_process) processes;
	VEC(struct diagnosed_path) circles;
	uint32_t nr_circles; /* all cycles, with those that are not stored */
	VEC(struct diagnosed_restart) restarts;
	VEC(struct diagnosed_scheduler) schedulers;
	double run_queue; /* mean length of a normal scheduler's run queue; NAN */
	double dirty_cpu_queue, dirty_io_queue; /* mean lengths of these queues */
	/* [n]: scheduler samples in which n dirty schedulers of the type were at work. */
	VEC(uint32_t) dirty_cpu_busy, dirty_io_busy;
	/* Scheduler samples that saw a scheduler run a process; collect garbage; wait for a
	 * lock. */
	unsigned int nr_running, nr_gc, nr_blocked;
	unsigned int nr_blocked_schedulers; /* schedulers that were blocked at any time */
	VEC(struct diagnosed_function) blocked_in;
	VEC(struct diagnosed_lock) blocked_on; /* most first */
	/* Processes by the number of scheduler samples in which they ran, most first; not all. */
	VEC(struct diagnosed_busy) busy;
	VEC(struct diagnosed_busy) collecting; /* likewise: in which they were collected */
	double literal_collector;	       /* share of samples in which it was active; NAN */
	VEC(struct diagnosed_table) tables;
	uint64_t nr_timers; /* timers that will send a message */
	bool more_timers;   /* there are more, which were not read */
	/* Timers that should have gone off a second ago or earlier, since their scheduler handles
	 * none; the latest ones of `after` of a receive. */
	uint64_t nr_overdue;
	bool more_overdue; /* not all timers were read */
	VEC(struct diagnosed_overdue) overdue;
	/* All timers, without their messages: bytes; 0 = not known. */
	uint64_t timers_size;
	/* A few receivers, those of most timers first. */
	VEC(struct diagnosed_receiver) receivers;
	uint64_t nr_receivers;
	VEC(struct diagnosed_connection) connections;
	VEC(struct diagnosed_port) ports;
};
/* A type of erlang:memory/0; an empty series if it is not known. */
const struct series *diagnosis_memory(const struct diagnosis *d, const char *type);
/* True if a value that grew by `grew` in all rose in two intervals at least (`ups`), and never fell
 * by more than a quarter of `grew`. */
bool growth_is_steady(double grew, double largest_drop, unsigned int ups);
void diagnosis_free(struct diagnosis *d); /* the vectors; texts are owned by the caller */

/* ---- findings -------------------------------------------------------------------------------- */

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_CRITICAL };
/* Certain: read from the node's memory.  Likely: most of what was seen shows it.  Possible: there
 * are other explanations. */
enum finding_certainty { FINDING_POSSIBLE, FINDING_LIKELY, FINDING_CERTAIN };
const char *finding_severity_name(enum finding_severity severity);
const char *finding_certainty_name(enum finding_certainty certainty);

struct finding {
	const char *id; /* "mailbox_grows" */
	enum finding_severity severity;
	enum finding_certainty certainty;
	double weight; /* 0 .. 100, for order and severity */
	struct strbuf title;
	VEC(char *) evidence; /* a sentence each */
	VEC(char *) commands; /* of ebeam, without its name and the node's: "ps --sort memory" */
};

struct findings {
	VEC(struct finding) v; /* heaviest first */
};

void findings_make(struct findings *f, const struct diagnosis *d);
void findings_free(struct findings *f);
/* True if there is a warning or a critical finding. */
bool findings_above_notes(const struct findings *f);

#endif
