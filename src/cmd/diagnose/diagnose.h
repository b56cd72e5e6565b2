/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of `ebeam diagnose`: diagnose.c samples the node for some seconds, from memory and
 * /proc alone, with diagnose_memory.c, diagnose_schedulers.c, diagnose_processes.c and
 * diagnose_restarts.c (supervisors).  model/diagnosis/diagnosis.h makes findings of the samples,
 * diagnose_show.c shows them.  Private.
 */
#ifndef EBEAM_CMD_DIAGNOSE_H
#define EBEAM_CMD_DIAGNOSE_H

#include "base/arena.h"
#include "beam/code/callsite.h"
#include "beam/process/stack.h"
#include "beam/process/waits.h"
#include "beam/resolve/thread_lock.h"
#include "beam/sched/sched_block.h"
#include "beam/sched/sched_now.h"
#include "beam/term/pid.h"
#include "cmd/command/command.h"
#include "cmd/inspect/process_source.h"
#include "cmd/output/render.h"
#include "model/diagnosis/diagnosis.h"
#include "target/host_cpu.h"
#include "target/thread_state.h"
#include "target/unwind.h"

/* A scheduler and its time slice under way. */
struct watched_scheduler {
	const struct sched_one *one;
	int os_tid;				/* 0 = not known */
	uint64_t since_ns;			/* one->same_ns of that slice */
	struct thread_state begin, before, now; /* slice first seen; the last two samples */
	bool blocked;				/* was blocked by a lock in a sample */
	struct proc_thread_times first;		/* CPU time of the thread when sampling began */
	bool has_first;
	bool has_lock;
	struct thread_lock lock; /* of the C library, that it waited for in the last sample */
	struct diagnosed_scheduler *out; /* its element of d.schedulers */
};

/* A process, with numbers of all scans since the first one that saw it. */
struct watched_process {
	uint32_t slot;
	uint64_t epid;
	uint64_t queue_first, queue_min, queue_max, queue_drop, queue_last;
	/* Scans that saw a longer mailbox than the scan before; scans after the first one. */
	uint32_t queue_ups, steps;
	double queue_squares;		/* sum of the squares of the growth in each step */
	uint64_t heap_first, heap_last; /* words */
	uint64_t reductions_first, reductions_last;
	raddr addr;
};

/* A registered name, and its process. */
struct watched_name {
	uint64_t name, epid, parent;
	uint32_t times; /* how often a scan found another process with the name */
};

/* A process that had new children in some scan. */
struct watched_parent {
	uint64_t parent, newest; /* pid terms */
	uint32_t nr, restarts;	 /* new children; restarts in its state since the first reading */
	bool asked, supervisor;
	unsigned int failed; /* how often its state could not be read */
	int64_t last;	     /* second of its latest restart */
	uint32_t last_nr;    /* restarts in that second */
	const char *child;   /* the newest child, as text */
};

/* Counts the scheduler samples in which processes were running. */
struct running_counts {
	VEC(struct running_count {
		uint64_t epid;
		unsigned int nr;     /* samples */
		unsigned int sample; /* the last of them */
	})
	v;
};

struct port_wait {     /* a process that waits for a port */
	uint64_t port; /* port and pid, as terms */
	uint64_t epid;
};

struct diagnose {
	struct beam_node *n;
	struct diagnosis d;
	struct arena texts; /* of the diagnosis */
	uint64_t first_ns, last_ns;
	struct sched_block block; /* multi-scheduling block, from flags of processes in a scan */
	struct host_cpu *host;	  /* since first_ns; NULL = not known */

	/* diagnose_memory.c */
	uint64_t resident_ns; /* when what the RSS consists of is to be read again */
	bool carriers_known;  /* could the carriers of all allocators be read in the last sample? */

	/* diagnose_schedulers.c */
	struct callsites *sites;
	struct unwinder *unwinder;
	struct sched_now *now;
	struct watched_scheduler *schedulers;
	size_t nr_schedulers;
	struct running_counts running, collecting;
	/* First arguments of functions of ETS in which threads waited for a lock, as text. */
	VEC(struct diagnosed_function) blocked_on;

	/* diagnose_processes.c */
	struct process_source source;
	struct id_format pids;
	VEC(struct watched_process) processes, before;
	size_t at; /* index in `before` that the scan has reached */
	VEC(struct watched_name) names;
	struct idmap name_index;
	/* diagnose_restarts.c */
	VEC(struct watched_parent) births;
	struct idmap birth_index;
	unsigned int nr_asked;

	uint64_t collector;	       /* the literal area collector; 0 = not known */
	unsigned int collector_worked; /* scans in which it had worked since the last */
	/* Largest number in a pid, in the first and in the last scan; each spawn adds one. */
	uint64_t newest_first, newest_last;
	uint64_t scanned_first_ns, scanned_ns; /* times of the first and the last scan */
	VEC(uint64_t) chosen;		       /* pid terms of d.processes */
	VEC(uint32_t) paths;		       /* members of d.circles */
	VEC(struct port_wait) port_waits;
};

/* Copies a text, owned by g->texts; NULL stays NULL. */
const char *diagnose_text(struct diagnose *g, const char *text);

void diagnose_memory_sample(struct diagnose *g);

/* To be called after diagnose_processes_open(). */
int diagnose_schedulers_open(struct diagnose *g, struct error *err);
void diagnose_schedulers_close(struct diagnose *g);
void diagnose_schedulers_sample(struct diagnose *g);
/* To be called after the last sample. */
void diagnose_schedulers_finish(struct diagnose *g);

/* ERROR_KIND_UNSUPPORTED: a table of the VM that is needed was not found. */
int diagnose_processes_open(struct diagnose *g, struct error *err);
void diagnose_processes_close(struct diagnose *g);
int diagnose_processes_scan(struct diagnose *g, struct error *err);
/* After the last scan: chooses processes that matter, finds what they do, and who waits for
 * whom. */
int diagnose_processes_finish(struct diagnose *g, struct error *err);
/* Index in d.processes of a pid term; chooses the process, which means to add it there, if it was
 * not chosen. */
uint32_t diagnose_process(struct diagnose *g, uint64_t epid);
/* "<0.80.0> name", of a pid term; chooses the process. */
const char *diagnose_process_text(struct diagnose *g, uint64_t epid);
/* As diagnose_process_text(), without choosing the process: for use while scans go on. */
const char *diagnose_pid_text(struct diagnose *g, uint64_t epid);

/* Counts a process that was spawned since the scan before, as a child of its parent. */
void diagnose_restarts_born(struct diagnose *g, const struct process_facts *p);
/* _sample() is to be called after each scan, _finish() after the last one. */
void diagnose_restarts_sample(struct diagnose *g);
void diagnose_restarts_finish(struct diagnose *g);
void diagnose_restarts_close(struct diagnose *g);

/* Writes the answer.  Completes the commands of the findings, so that they can be typed. */
int diagnose_show(const struct command_context *ctx, const struct diagnose *g, struct render *r,
		  struct findings *findings, struct error *err);

#endif
