/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was seen of a node in a few seconds, and the findings that follow from it: what is wrong,
 * or soon will be, with evidence.  Rules only: whoever fills in struct diagnosis reads the node;
 * what is not known is left at zero, NAN, NULL or without samples, and nothing follows from it.
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

/* Values of one thing at equal intervals over the time, and the last one.  When there are too many
 * every second one is dropped: the intervals are twice as long then. */
struct series {
	double v[SERIES_MAX], last;
	unsigned int nr, added, every; /* every: so manieth of those that were added is kept */
};
void series_add(struct series *s, double value);
double series_first(const struct series *s); /* NAN of an empty one; so series_last() */
double series_last(const struct series *s);
double series_least(const struct series *s); /* the same */
/* Last minus first, if it went up in two intervals at least, and never down by more than a quarter
 * of that; else 0. */
double series_growth(const struct series *s);
/* What it grew by came in half of the intervals or less, one after the other, and has ended. */
bool series_is_burst(const struct series *s);

/* How fast something grows, and how far off that may be in 95 of 100 cases, as its steps differ. */
struct growth {
	double per_s, error; /* NAN = nobody can say */
};
/* `squares`: sum of the squares of so many steps, which are equally long. */
struct growth growth_of(double grew, double squares, unsigned int steps, double seconds);
struct growth series_growth_rate(const struct series *s, double seconds);
/* It is more than chance. */
bool growth_is_sure(const struct growth *g);

#define DIAGNOSED_NONE UINT32_MAX

/* A process that a rule may name.  Texts are the caller's; NULL = not known. */
struct diagnosed_process {
	const char *pid;  /* "<0.80.0>" */
	const char *name; /* registered name, label, or initial call */
	const char *function, *status;
	const char *suspended_by; /* "port #Port<0.5>", "the connection to b@host" */
	uint64_t queue_first, queue_min, queue_last;
	bool queue_grew; /* it was longer in two samples at least, and hardly ever shorter */
	struct growth queue_growth;
	uint64_t heap_first, heap_last; /* bytes */
	uint32_t waiting, behind;	/* see model/process/wait_graph.h */
	uint64_t binaries;		/* bytes that it refers to, each once; 0 = not asked */
	uint64_t nr_binaries;
};

/* What one scheduler did. */
struct diagnosed_scheduler {
	const char *type; /* "normal", "dirty CPU", "dirty IO" */
	bool dirty;
	bool offline; /* all of the time: it does not count */
	unsigned int number;
	unsigned int nr_busy, nr_seen; /* scheduler samples */
	/* Its longest time slice; of a normal one without the time in which its thread waited for a
	 * CPU. */
	uint64_t longest_ns;
	uint64_t waited_ns;	    /* and that time */
	bool lasts;		    /* it had not ended */
	uint64_t queue;		    /* processes and ports in its run queue then */
	const char *pid, *function; /* of that slice */
	const char *syscall;	    /* in which its thread was blocked; NULL = none */
};

struct diagnosed_function { /* in which threads of schedulers waited for a lock */
	const char *name;
	unsigned int nr;
};

struct diagnosed_path { /* indices of processes: a circle of waits */
	const uint32_t *processes;
	uint32_t nr, total; /* of them, of all that are in the circle */
};

struct diagnosed_limit {
	const char *what, *command; /* "processes"; what shows more, NULL = nothing */
	uint64_t used, max;
};

struct diagnosed_memory { /* a type of erlang:memory/0 */
	const char *type;
	struct series bytes;
};

struct diagnosed_allocator {
	const char *type;
	uint64_t blocks_size, carriers_size;
};

struct diagnosed_table { /* of ETS */
	const char *name, *owner;
	struct series objects;
	double seconds; /* since it was seen first */
	uint64_t bytes;
};

struct diagnosed_connection { /* to another node */
	const char *name;
	bool busy, always; /* now, in all samples */
	uint64_t queue;	   /* bytes */
	uint32_t waiting;
};

struct diagnosed_port {
	const char *id, *name, *owner, *sender; /* the last: the first of those that wait */
	uint64_t queue;				/* bytes */
	bool busy, always;
	uint32_t waiting, sending; /* suspended; waiting for its word that it has sent */
};

struct diagnosed_restart {
	/* A registered name that other processes had, one after the other; or NULL: children of a
	 * supervisor, `child` is the newest, and it has noted so many restarts itself. */
	const char *name, *child, *parent;
	uint32_t times;
};

struct diagnosed_receiver { /* of messages that timers will send */
	const char *pid;    /* NULL = not known */
	const char *text;   /* "<0.80.0> my_server", or a name that no process has */
	uint64_t nr;
};

struct diagnosed_busy {
	uint32_t process;     /* one of processes */
	unsigned int samples; /* of schedulers */
};

struct diagnosis {
	uint64_t duration_ns;
	unsigned int scheduler_samples, samples;
	bool stopped; /* by a signal or a debugger */
	/* Samples that saw multi-scheduling blocked; by whom, and whether for dirty schedulers,
	 * too, as of the last of these. */
	unsigned int nr_msched_blocked;
	const char *msched_blocker;
	bool dirty_blocked;

	/* The host.  Shares of the time that threads of schedulers were to run; NAN. */
	double cpu_wait, cpu_used;   /* the second in cores */
	VEC(const char *) cpu_users; /* other processes that use CPU, most first, as text */
	/* Of the whole host, in cores; nr_cpus == 0: not known.  other_cpu: by processes that are
	 * neither the node nor among cpu_users. */
	unsigned int nr_cpus;
	double host_cpu, stolen_cpu, other_cpu;
	double throttled;     /* share of the periods of its cgroup */
	struct series rss;    /* bytes */
	struct series beyond; /* of these, what all carriers of the VM's allocators do not hold */
	uint64_t memory_max;  /* bytes that it may have; 0 = not known */

	VEC(struct diagnosed_limit) limits;
	VEC(struct diagnosed_memory) memory; /* the first is the total */
	VEC(struct diagnosed_allocator) allocators;
	struct series atoms, code; /* code: bytes of all that is loaded */
	VEC(const char *) newest_atoms;
	double spawned_per_s; /* NAN */
	struct series nr_processes;
	/* Who started most of those that were new in a scan, and how many; NULL = not known. */
	const char *spawner;
	uint32_t spawned, spawned_all;
	VEC(struct diagnosed_process) processes;
	VEC(struct diagnosed_path) circles;
	uint32_t nr_circles; /* also those that are not among them */
	VEC(struct diagnosed_restart) restarts;
	VEC(struct diagnosed_scheduler) schedulers;
	double run_queue;			/* mean length, of one normal scheduler; NAN */
	double dirty_cpu_queue, dirty_io_queue; /* mean length */
	/* Scheduler samples that saw so many dirty schedulers of a type at work, by their
	 * number. */
	VEC(uint32_t) dirty_cpu_busy, dirty_io_busy;
	/* Scheduler samples that saw a scheduler run a process; collect garbage; blocked by a
	 * lock. */
	unsigned int nr_running, nr_gc, nr_blocked;
	unsigned int nr_blocked_schedulers; /* how many were, at any time */
	VEC(struct diagnosed_function) blocked_in;
	/* Processes by how many of all scheduler samples they ran in, most first; not all of
	 * them. */
	VEC(struct diagnosed_busy) busy;
	VEC(uint32_t) collecting; /* processes that were seen collecting, most often first */
	double literal_collector; /* share of samples in which it had work; NAN */
	VEC(struct diagnosed_table) tables;
	uint64_t nr_timers; /* that will send a message */
	bool more_timers;   /* than these, which were read */
	/* Of timers of any kind, without messages: bytes; 0 = not known. */
	uint64_t timers_size;
	/* Who gets most of these first; a few only. */
	VEC(struct diagnosed_receiver) receivers;
	uint64_t nr_receivers;
	VEC(struct diagnosed_connection) connections;
	VEC(struct diagnosed_port) ports;
};
/* Of erlang:memory/0, by type; one without values if it is not known. */
const struct series *diagnosis_memory(const struct diagnosis *d, const char *type);
/* Steadily: longer in two steps at least, and never less by more than a quarter of all. */
bool growth_is_steady(double grew, double largest_drop, unsigned int ups);
void diagnosis_free(struct diagnosis *d); /* the vectors; texts are the caller's */

/* ---- findings -------------------------------------------------------------------------------- */

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_CRITICAL };
/* Certain: it stands in the node's memory.  Likely: most of what was seen says so.  Possible: there
 * are other explanations. */
enum finding_certainty { FINDING_POSSIBLE, FINDING_LIKELY, FINDING_CERTAIN };
const char *finding_severity_name(enum finding_severity severity);
const char *finding_certainty_name(enum finding_certainty certainty);

struct finding {
	const char *id; /* "mailbox_grows" */
	enum finding_severity severity;
	enum finding_certainty certainty;
	double weight; /* 0 .. 100, only to order them */
	struct strbuf title;
	VEC(char *) evidence; /* a sentence each */
	VEC(char *) commands; /* of ebeam, without its name and the node's: "ps --sort memory" */
};

struct findings {
	VEC(struct finding) v; /* heaviest first */
};

void findings_make(struct findings *f, const struct diagnosis *d);
void findings_free(struct findings *f);
/* There are some that are more than notes. */
bool findings_above_notes(const struct findings *f);

#endif
