/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam diagnose`, its parts: diagnose.c samples the node for some seconds, by memory and /proc
 * alone; of schedulers diagnose_schedulers.c, of processes diagnose_processes.c, of supervisors
 * diagnose_restarts.c.  What follows from
 * it: model/diagnosis/diagnosis.h.  diagnose_show.c shows it.  Private.
 */
#ifndef EBEAM_CMD_DIAGNOSE_H
#define EBEAM_CMD_DIAGNOSE_H

#include "base/arena.h"
#include "beam/code/callsite.h"
#include "beam/process/stack.h"
#include "beam/process/waits.h"
#include "beam/sched/sched_block.h"
#include "beam/sched/sched_now.h"
#include "beam/term/pid.h"
#include "cmd/command/command.h"
#include "cmd/inspect/process_source.h"
#include "cmd/output/render.h"
#include "model/diagnosis/diagnosis.h"
#include "target/host_cpu.h"
#include "target/thread_state.h"

/* A scheduler, with what is known of its time slice under way. */
struct watched_scheduler {
	const struct sched_one *one;
	int os_tid;				/* 0 = not known */
	uint64_t since_ns;			/* same_ns of that slice */
	struct thread_state begin, before, now; /* when the slice was seen first; samples */
	bool blocked;				/* a sample saw it blocked by a lock */
	struct proc_thread_times first;		/* when sampling began */
	bool has_first;
	struct diagnosed_scheduler *out; /* of the diagnosis */
};

/* A process in the table, from the first scan that saw it on. */
struct watched_process {
	uint32_t slot;
	uint64_t epid;
	uint64_t queue_first, queue_min, queue_max, queue_drop, queue_last;
	uint32_t queue_ups, steps;	/* steps: from scan to scan */
	double queue_squares;		/* sum of the squares of what it grew by in each */
	uint64_t heap_first, heap_last; /* words */
	uint64_t reductions_first, reductions_last;
	raddr addr;
};

/* A registered name, and who has it. */
struct watched_name {
	uint64_t name, epid, parent;
	uint32_t times; /* that another process had it than in the scan before */
};

/* A process that had new children from scan to scan. */
struct watched_parent {
	uint64_t parent, newest; /* pid terms */
	uint32_t nr, restarts;	 /* the second: as it notes itself, since it was asked first */
	bool asked, supervisor;
	unsigned int failed; /* times that it could not be read */
	int64_t last;	     /* the second of its latest restart, and how many it had then */
	uint32_t last_nr;
	const char *child; /* the newest, as text */
};

/* Processes that were seen running. */
struct running_counts {
	VEC(struct running_count {
		uint64_t epid;
		unsigned int nr;     /* samples */
		unsigned int sample; /* the last of them */
	})
	v;
};

struct port_wait {     /* a process that waits for a port */
	uint64_t port; /* terms */
	uint64_t epid;
};

struct diagnose {
	struct beam_node *n;
	struct diagnosis d;
	struct arena texts; /* of the diagnosis */
	uint64_t first_ns, last_ns;
	struct sched_block block; /* by the flags of processes, as of the last scan */
	struct host_cpu *host;	  /* since first_ns; NULL = not known */

	/* diagnose_schedulers.c */
	struct callsites *sites;
	struct sched_now *now;
	struct watched_scheduler *schedulers;
	size_t nr_schedulers;
	struct running_counts running, collecting;

	/* diagnose_processes.c */
	struct process_source source;
	struct id_format pids;
	VEC(struct watched_process) processes, before;
	size_t at; /* in `before`, as a scan goes on */
	VEC(struct watched_name) names;
	struct idmap name_index;
	/* diagnose_restarts.c */
	VEC(struct watched_parent) births;
	struct idmap birth_index;
	unsigned int nr_asked;

	uint64_t collector;		       /* the literal area collector; 0 = not known */
	unsigned int collector_worked;	       /* scans that saw that it had */
	uint64_t newest_first, newest_last;    /* data of pids, which are given out in order */
	uint64_t scanned_first_ns, scanned_ns; /* when the first and the last were known */
	VEC(uint64_t) chosen;		       /* pid terms of d.processes */
	VEC(uint32_t) paths;		       /* of d.circles */
	VEC(struct port_wait) port_waits;
};

/* A text that lives as long as the diagnosis; NULL stays NULL. */
const char *diagnose_text(struct diagnose *g, const char *text);

/* After diagnose_processes_open(). */
int diagnose_schedulers_open(struct diagnose *g, struct error *err);
void diagnose_schedulers_close(struct diagnose *g);
void diagnose_schedulers_sample(struct diagnose *g);
/* After the last sample. */
void diagnose_schedulers_finish(struct diagnose *g);

/* Those of tables that a command cannot do without are missing: ERROR_KIND_UNSUPPORTED. */
int diagnose_processes_open(struct diagnose *g, struct error *err);
void diagnose_processes_close(struct diagnose *g);
int diagnose_processes_scan(struct diagnose *g, struct error *err);
/* After the last scan: chooses, and asks of those chosen what they do and who waits for whom. */
int diagnose_processes_finish(struct diagnose *g, struct error *err);
/* Index in d.processes of a pid term, which is chosen if it was not. */
uint32_t diagnose_process(struct diagnose *g, uint64_t epid);
/* "<0.80.0> name", of a pid term. */
const char *diagnose_process_text(struct diagnose *g, uint64_t epid);
/* The same of one that is not chosen for that: while scans go on. */
const char *diagnose_pid_text(struct diagnose *g, uint64_t epid);

/* A process that the scan before did not see; after each scan; after the last; at the end. */
void diagnose_restarts_born(struct diagnose *g, const struct process_facts *p);
void diagnose_restarts_sample(struct diagnose *g);
void diagnose_restarts_finish(struct diagnose *g);
void diagnose_restarts_close(struct diagnose *g);

/* Writes what was found; of the findings it makes commands that can be typed. */
int diagnose_show(const struct command_context *ctx, const struct diagnose *g, struct render *r,
		  struct findings *findings, struct error *err);

#endif
