/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each scheduler does at this moment: its process or port, and how long at least, by several
 * readings of its data; its run queue; and who holds thread progress up.  Memory only.
 *
 * A slice is distinguished from the next by what the VM counts when a process leaves its scheduler
 * (Process.reds) or comes to one (context_switches of the run queue, which is a normal scheduler's
 * own): erts_schedule(), erl_process.c, OTP 25 to 29.
 *
 * Thread progress goes on when each managed thread (normal schedulers, the aux thread, poll
 * threads) has confirmed the next value or waits; one of them, the leader, checks that and
 * counts on: erl_thr_progress.c, OTP 25 to 29.  Dirty schedulers and other threads are unmanaged:
 * they delay it, without a note who does.
 */
#ifndef EBEAM_BEAM_SCHED_NOW_H
#define EBEAM_BEAM_SCHED_NOW_H

#include "abi/record.h"
#include "abi/config.h"
#include "base/vec.h"
#include "beam/node/node.h"
#include "beam/process/process.h"
#include "beam/sched/sched_work.h"

/* ThrPrgrVal of a thread that waits: ERTS_THR_PRGR_VAL_WAITING */
#define PROGRESS_WAITING  UINT64_MAX
#define SCHED_NOW_UNKNOWN UINT64_MAX

/* One sample of one scheduler. */
struct sched_sample {
	bool known; /* false: it could not be read, or would not stand still */
	bool moved; /* the same process or port, but its slices went on while it was read */
	enum sched_doing doing;
	/* The process: its struct, pid term, and parts. */
	raddr process;
	uint64_t epid, reds, registered; /* registered: atom; 0 = none */
	uint32_t state;
	raddr i, current;
	uint64_t current_mfa[3]; /* of `current`; 0 = none */
	/* The port: its struct, term, and texts. */
	raddr port;
	uint64_t port_id;
	/* Of normal ones: the place in JIT code that the last call of a C function returns to. */
	raddr call_ra;
	uint64_t light_bif; /* see callsite_light_bif_at() */
	raddr stop;	    /* Process.stop */
	raddr stack_top;    /* the word on top of the Erlang stack in that call; 0 = not known */
	uint64_t run_queue, context_switches; /* SCHED_NOW_UNKNOWN */
	bool suspended; /* its run queue is: blocked (sched_block.h), or offline; of normal ones */
	uint64_t reductions;	/* of all that it ran */
	uint64_t working_total; /* of dirty ones: ns, as the VM counted it, up to the last rest */
	/* Thread progress, of normal ones. */
	uint64_t confirmed;	  /* PROGRESS_WAITING: it waits for work */
	bool leader;		  /* what follows is the leader's: */
	uint64_t leader_value;	  /* PROGRESS_WAITING: it has not checked yet */
	int32_t leader_check;	  /* id of the managed thread that it waits for */
	int32_t leader_unmanaged; /* -1: it waits for no unmanaged one */
};

struct sched_one {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp, registers;
	uint64_t thread_pointer; /* fs base of its thread */
	struct sched_sample now;
	struct sched_sample last; /* the latest that is known, and when that was seen */
	uint64_t last_ns;
	/* Times of samples, CLOCK_MONOTONIC: the first that saw it at the same as `last`, and the
	 * last known one before that (0 = none). */
	uint64_t same_ns, before_ns;
	uint64_t call_same_ns, confirmed_same_ns; /* the same of call_ra, confirmed */
	/* Of dirty ones: since when it works without having waited, by the VM; 0 = not known. */
	uint64_t working_ns;
};

enum progress_holder {
	PROGRESS_HOLDER_NONE, /* no scheduler */
	PROGRESS_HOLDER_BEHIND,
	PROGRESS_HOLDER_LEADER,
	PROGRESS_HOLDER_ALONE, /* nobody leads, and it does not come to a scheduling point */
};

struct sched_progress {
	bool known; /* the value is */
	uint64_t value;
	uint64_t same_ns; /* the first sample that saw this value */
	uint32_t moves;	  /* samples that saw another than the sample before */
};

struct sched_now;

/* Finds out once what stays as it is.  Borrows the node.  `fragments`: see callsite_stack_top(),
 * {0} if nobody asks for functions.  -ENOENT without *err: the arrays of schedulers are not
 * known. */
int sched_now_open(struct sched_now **out, struct beam_node *n, struct address_range fragments);
void sched_now_close(struct sched_now *s); /* NULL ok */

/* Takes a sample; `at_ns` is the time of it. */
void sched_now_sample(struct sched_now *s, uint64_t at_ns);

/* All schedulers: normal ones, dirty CPU, dirty IO; as of the last sample. */
const struct sched_one *sched_now_all(const struct sched_now *s, size_t *nr);
const struct sched_progress *sched_now_progress(const struct sched_now *s);
/* Whether this one holds thread progress up, and how, since `since_ns` at least. */
enum progress_holder sched_now_holds(const struct sched_now *s, const struct sched_one *one,
				     uint64_t since_ns);

/* For tests: does b show the same slice, or the same rest, as a? */
bool sched_sample_same(const struct sched_one *of, const struct sched_sample *a,
		       const struct sched_sample *b);

#endif
