/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each scheduler does at a moment, and its working time as counted by the VM, read from its
 * scheduler data, without a call or probe in the node.
 *
 * A scheduler works unless it waits for work, sleeping or busy waiting, as in scheduler_wall_time.
 * scheduler_wait() and suspend_scheduler() set `active` of thread progress at the same places.
 * Dirty schedulers always count, normal ones while the node has scheduler_wall_time enabled
 * (dirty_sched_wall_time_change(), sched_wall_time_change(): erl_process.c, OTP 25 to 29).
 */
#ifndef EBEAM_BEAM_SCHED_WORK_H
#define EBEAM_BEAM_SCHED_WORK_H

#include "abi/record.h"
#include "beam/node/node.h"

enum sched_doing {
	SCHED_DOING_UNKNOWN, /* it could not be read, or was not requested */
	SCHED_DOING_NOTHING,
	SCHED_DOING_PROCESS,
	SCHED_DOING_PORT,  /* a task of a port */
	SCHED_DOING_OTHER, /* works: timers, aux work, searching for more */
};

/* `works`: the scheduler does not wait for work. */
static inline enum sched_doing sched_doing_of(bool works, uint64_t process, uint64_t port)
{
	if (!works)
		return SCHED_DOING_NOTHING;
	return process ? SCHED_DOING_PROCESS : port ? SCHED_DOING_PORT : SCHED_DOING_OTHER;
}

/* ERTS_SCHED_WTIME_IDLE, erl_process.c of OTP 25 to 29: a dirty scheduler that does not work. */
#define SCHED_WTIME_IDLE UINT64_MAX

/* Working time of a scheduler up to at_ns (CLOCK_MONOTONIC). */
struct sched_clock_read {
	bool known;
	uint64_t at_ns;
	uint64_t working_ns; /* since start_ns */
	uint64_t start_ns;   /* changes if counting is enabled again */
};

struct sched_worker {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp;
	enum sched_doing doing;
	/*
	 * For SCHED_DOING_PROCESS or _PORT: address of the struct, and a number that differs
	 * between time slices of the same process or port: reductions of all that ran before, which
	 * are added at the end of a slice (erts_schedule(), erts_port_task_execute()); for a dirty
	 * scheduler the start of its working time.
	 */
	raddr process, port;
	uint64_t slice;
	/* Set by sched_work_sample_gc(): the process was read; it is in a GC. */
	bool gc_known, gc;
	uint32_t state; /* of the process: PSFLG_* */
};

struct sched_work;

/* Finds the addresses to read, once; reads through `mem`, which is borrowed and may belong to
 * another thread than the node's.  -ENOENT: the arrays of schedulers, or fields, were not found. */
int sched_work_open(struct sched_work **out, struct beam_node *n, struct mem *mem);
void sched_work_close(struct sched_work *w); /* NULL ok */

/* All schedulers, normal ones first; `doing` is of the last sample. */
const struct sched_worker *sched_work_all(const struct sched_work *w, uint32_t *nr,
					  uint32_t *nr_normal);
/* Samples the normal schedulers, and the dirty ones if `dirty` (else they are unknown). */
void sched_work_sample(struct sched_work *w, bool dirty);
/* Samples `nr` schedulers from sched_work_all()[first] on; the others keep their last sample. */
void sched_work_sample_some(struct sched_work *w, size_t first, size_t nr);
/* Finds out which schedulers with SCHED_DOING_PROCESS in the last sample are in a GC now. */
void sched_work_sample_gc(struct sched_work *w);
/* True if the run queue of a normal scheduler (`at`: index in sched_work_all()) is suspended: it is
 * offline, or multi-scheduling is blocked.  False for a dirty one. */
bool sched_work_is_suspended(const struct sched_work *w, uint32_t at);
/* Reads the clock of the scheduler with index `at` in sched_work_all(). */
void sched_work_clock(struct sched_work *w, uint32_t at, struct sched_clock_read *out);

#endif
