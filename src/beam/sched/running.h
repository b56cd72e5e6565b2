/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What schedulers are in the middle of: a time slice of a process, or of a port, and in that of a
 * process a collection, or a call of a NIF.  Each has a key, so that two samples tell whether they
 * saw the same one.  Memory only.
 *
 * While a NIF runs ErtsSchedulerData.current_nif is set (call_nif() of beam_common.c and
 * beam_jit_call_nif(), erts_call_dirty_nif() of erl_nif.c), while the collector does, ERTS_PSFLG_GC
 * is (erl_gc.c): OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_RUNNING_H
#define EBEAM_BEAM_RUNNING_H

#include "abi/record.h"
#include "beam/node/node.h"

enum running_span { RUNNING_SLICE, RUNNING_GC, RUNNING_NIF, NR_RUNNING_SPANS };

struct running_key {
	raddr of; /* struct process or port; 0 = it is in none, or not known */
	/* Which slice it is, as sched_worker.slice; of a dirty scheduler Process.reds, too, as one
	 * that does not rest between two has the same time for both. */
	uint64_t slice, reds;
	/* Collections that the scheduler has done before this one (dirty ones: 0); the reductions
	 * that are left to the process: a call of a NIF takes one. */
	uint64_t part;
};

/* Facts of a process that change with collections. */
struct running_process {
	uint64_t epid;
	uint32_t state, flags;
	uint32_t gen_gcs, max_gen_gcs;
	uint64_t heap, old_heap; /* words */
	/* Of its normal scheduler: collections, and words that they reclaimed. */
	uint64_t collections, reclaimed;
};

/* A port, as far as it can be read: 0 and "" = not. */
struct running_port {
	uint64_t id; /* term */
	char name[256], driver[64];
};

struct running_one {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp;
	bool known;	  /* its slice is */
	bool parts_known; /* and what it does in it */
	bool port;	  /* the slice is one of a port */
	struct running_key in[NR_RUNNING_SPANS];
	struct running_process process; /* if parts_known, and in a slice of one */
};

struct running;

/* Finds out once where to read, through `mem`, which is borrowed and may be another thread's than
 * the node's.  -ENOENT without *err: this build does not tell. */
int running_open(struct running **out, struct beam_node *n, struct mem *mem);
void running_close(struct running *r); /* NULL ok */

/* All schedulers: normal ones, dirty CPU, dirty IO; as of the last sample. */
const struct running_one *running_all(const struct running *r, uint32_t *nr);
void running_sample(struct running *r);
/* At `nr` of them, from running_all()[first] on: what takes long is to read many. */
void running_sample_some(struct running *r, size_t first, size_t nr);
/* Is what the later sample saw what the earlier one did? */
bool running_is_same(enum running_span span, const struct running_key *earlier,
		     const struct running_key *later);
/* Reads a process that was seen by an earlier sample.  False: it is gone. */
bool running_process_read(struct running *r, const struct running_one *one, raddr process,
			  uint64_t epid, struct running_process *out);
/* The same of a port; the caller checks afterwards whether it is still there. */
void running_port_read(struct running *r, raddr port, struct running_port *out);

#endif
