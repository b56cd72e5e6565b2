/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each scheduler does at a moment, and how long it has worked as the VM counted it, read from
 * its scheduler data: no call and no probe, whatever the node does.
 *
 * A scheduler works unless it waits for work, asleep or busily: the time that scheduler_wall_time
 * counts.  scheduler_wait() and suspend_scheduler() tell that to the thread's progress (`active`)
 * at the same places; dirty schedulers always count, normal ones while the node has
 * scheduler_wall_time on (dirty_sched_wall_time_change(), sched_wall_time_change(): erl_process.c,
 * OTP 25 to 29).
 */
#ifndef EBEAM_BEAM_SCHED_WORK_H
#define EBEAM_BEAM_SCHED_WORK_H

#include "abi/record.h"
#include "beam/node/node.h"

enum sched_doing {
	SCHED_DOING_UNKNOWN, /* it could not be read, or was not asked for */
	SCHED_DOING_NOTHING,
	SCHED_DOING_PROCESS,
	SCHED_DOING_PORT,  /* a task of one */
	SCHED_DOING_OTHER, /* works: timers, aux work, searching for more */
};

/* Of one that does not wait for work. */
static inline enum sched_doing sched_doing_of(bool works, uint64_t process, uint64_t port)
{
	if (!works)
		return SCHED_DOING_NOTHING;
	return process ? SCHED_DOING_PROCESS : port ? SCHED_DOING_PORT : SCHED_DOING_OTHER;
}

/* ERTS_SCHED_WTIME_IDLE, erl_process.c of OTP 25 to 29: of a dirty one that does not work. */
#define SCHED_WTIME_IDLE UINT64_MAX

/* How long one has worked, up to at_ns (CLOCK_MONOTONIC). */
struct sched_clock_read {
	bool known;
	uint64_t at_ns;
	uint64_t working_ns; /* since start_ns */
	uint64_t start_ns;   /* of another value: it was switched on anew */
};

struct sched_worker {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp;
	enum sched_doing doing;
	/* If it does SCHED_DOING_PROCESS or _PORT: the struct, and what tells a time slice from the
	 * next one of the same process or port: reductions of all that ran before, which are added
	 * up when it leaves (erts_schedule(), erts_port_task_execute()); of a dirty one since when
	 * it works. */
	raddr process, port;
	uint64_t slice;
	/* Of sched_work_sample_gc(): that process was read, and it collects garbage. */
	bool gc_known, gc;
	uint32_t state; /* of the process: PSFLG_* */
};

struct sched_work;

/* Finds out once where to read, through `mem`, which is borrowed and may be another thread's than
 * the node's.  -ENOENT without *err: the arrays of schedulers are not known. */
int sched_work_open(struct sched_work **out, struct beam_node *n, struct mem *mem);
void sched_work_close(struct sched_work *w); /* NULL ok */

/* All schedulers, normal ones first; what `doing` says is of the last sample. */
const struct sched_worker *sched_work_all(const struct sched_work *w, uint32_t *nr,
					  uint32_t *nr_normal);
/* What they do now: normal ones, and dirty ones if asked for (else they are unknown). */
void sched_work_sample(struct sched_work *w, bool dirty);
/* What `nr` of them do, from sched_work_all()[first] on; of the others, what was read last. */
void sched_work_sample_some(struct sched_work *w, size_t first, size_t nr);
/* Whether those that do SCHED_DOING_PROCESS, by the last sample, collect garbage right now. */
void sched_work_sample_gc(struct sched_work *w);
/* Whether the run queue of a normal one is suspended, by its place in sched_work_all(): it is
 * offline, or multi-scheduling is blocked.  False of a dirty one. */
bool sched_work_is_suspended(const struct sched_work *w, uint32_t at);
/* The clock of one, by its place in sched_work_all(). */
void sched_work_clock(struct sched_work *w, uint32_t at, struct sched_clock_read *out);

#endif
