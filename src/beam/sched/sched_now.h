/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each scheduler does now: its process or port, and for how long at least, by repeated samples
 * of its data; its run queue; and which one delays thread progress.  Reads memory only.
 *
 * Slices are distinguished by counters that the VM changes when a process leaves its scheduler
 * (Process.reds) or is scheduled in (context_switches of the run queue, one for each normal
 * scheduler): erts_schedule(), erl_process.c, OTP 25 to 29.
 *
 * Thread progress advances when each managed thread (normal schedulers, the aux thread, poll
 * threads) has confirmed the next value or waits; one of them, the leader, checks that and
 * increments the value: erl_thr_progress.c, OTP 25 to 29.  Dirty schedulers and other threads are
 * unmanaged: they can delay it, but there is no record of which one does.
 */
#ifndef EBEAM_BEAM_SCHED_NOW_H
#define EBEAM_BEAM_SCHED_NOW_H

#include "abi/record.h"
#include "abi/config.h"
#include "base/vec.h"
#include "beam/node/node.h"
#include "beam/process/process.h"
#include "beam/sched/sched_work.h"

/* ThrPrgrVal of a waiting thread: ERTS_THR_PRGR_VAL_WAITING */
#define PROGRESS_WAITING  UINT64_MAX
#define SCHED_NOW_UNKNOWN UINT64_MAX

/* One sample of one scheduler. */
struct sched_sample {
	bool known; /* false: it could not be read, or changed in all attempts */
	bool moved; /* the same process or port, but its slice changed while it was read */
	enum sched_doing doing;
	/* The process: address of its struct, pid term, and fields. */
	raddr process;
	uint64_t epid, reds, registered; /* registered: atom; 0 = none */
	uint32_t state;
	raddr i, current;
	uint64_t current_mfa[3]; /* of `current`; 0 = none */
	/* The port: address of its struct, term, and texts. */
	raddr port;
	uint64_t port_id;
	/* Normal schedulers: return address to JIT code of the last call of a C function. */
	raddr call_ra;
	uint64_t light_bif; /* see callsite_light_bif_at() */
	raddr stop;	    /* Process.stop */
	raddr stack_top;    /* top word of the Erlang stack in that call; 0 = unknown */
	uint64_t run_queue, context_switches; /* SCHED_NOW_UNKNOWN if not known */
	bool suspended;		/* normal schedulers: the run queue is suspended, by a block
				 * (sched_block.h) or offline */
	uint64_t reductions;	/* of all processes and ports that it ran */
	uint64_t working_total; /* dirty ones: ns worked up to the last pause, counted by the VM */
	/* Thread progress, of normal schedulers. */
	uint64_t confirmed;	  /* PROGRESS_WAITING: it waits for work */
	bool leader;		  /* it is the leader; the next three fields are the leader's */
	uint64_t leader_value;	  /* PROGRESS_WAITING: it has not checked yet */
	int32_t leader_check;	  /* id of the managed thread that the leader waits for */
	int32_t leader_unmanaged; /* -1: it does not wait for an unmanaged thread */
};

struct sched_one {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp, registers;
	uint64_t thread_pointer; /* fs base of its thread */
	struct sched_sample now;
	struct sched_sample last; /* the latest sample that is known, and its time */
	uint64_t last_ns;
	/* Times of samples, CLOCK_MONOTONIC: of the first one with the same slice as `last`, and of
	 * the last known one before that (0 = none). */
	uint64_t same_ns, before_ns;
	uint64_t call_same_ns, confirmed_same_ns; /* the same for call_ra and confirmed */
	/* Dirty schedulers: start of the work that it does without a pause; 0 = unknown. */
	uint64_t working_ns;
};

enum progress_holder {
	PROGRESS_HOLDER_NONE,	/* does not delay thread progress */
	PROGRESS_HOLDER_BEHIND, /* has not confirmed the next value */
	PROGRESS_HOLDER_LEADER, /* is the leader, and does not come to a scheduling point */
	PROGRESS_HOLDER_ALONE,	/* no leader, and this one does not come to a scheduling point */
};

struct sched_progress {
	bool known; /* `value` is known */
	uint64_t value;
	uint64_t same_ns; /* time of the first sample with this value */
	uint32_t moves;	  /* number of samples with another value than the sample before */
};

struct sched_now;

/* Finds addresses that do not change, once.  Borrows the node.  `fragments`: see
 * callsite_stack_top(), {0} if functions are not needed.  -ENOENT: the arrays of schedulers, or
 * fields of them, were not found. */
int sched_now_open(struct sched_now **out, struct beam_node *n, struct address_range fragments);
void sched_now_close(struct sched_now *s); /* NULL ok */

/* Takes a sample at time `at_ns`. */
void sched_now_sample(struct sched_now *s, uint64_t at_ns);

/* All schedulers: normal ones, dirty CPU, dirty IO; as of the last sample. */
const struct sched_one *sched_now_all(const struct sched_now *s, size_t *nr);
const struct sched_progress *sched_now_progress(const struct sched_now *s);
/* Does this scheduler delay thread progress, for the time since `since_ns` at least, and how? */
enum progress_holder sched_now_holds(const struct sched_now *s, const struct sched_one *one,
				     uint64_t since_ns);

/* For tests: do a and b show the same slice, or the same idle period? */
bool sched_sample_same(const struct sched_one *of, const struct sched_sample *a,
		       const struct sched_sample *b);

#endif
