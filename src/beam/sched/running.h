/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What schedulers are executing: a time slice of a process or a port, and within a process's slice
 * a garbage collection or a call of a NIF.  Each has a key, by which two samples show whether they
 * saw the same one.  Reads memory only.
 *
 * ErtsSchedulerData.current_nif is set while a NIF runs (call_nif() of beam_common.c and
 * beam_jit_call_nif(), erts_call_dirty_nif() of erl_nif.c), and ERTS_PSFLG_GC during a GC
 * (erl_gc.c): OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_RUNNING_H
#define EBEAM_BEAM_RUNNING_H

#include "abi/record.h"
#include "beam/node/node.h"

enum running_span { RUNNING_SLICE, RUNNING_GC, RUNNING_NIF, NR_RUNNING_SPANS };

struct running_key {
	raddr of; /* struct process or port; 0 = none, or unknown */
	/* Identify the slice, see sched_worker.slice; on a dirty scheduler with Process.reds, as
	 * two slices without a pause between them have the same time. */
	uint64_t slice, reds;
	/* Identifies a GC: number of GCs that the scheduler has done before (dirty ones: 0).
	 * Identifies a call of a NIF: reductions left to the process, as a call takes one. */
	uint64_t part;
};

/* Facts of a process that change with a GC. */
struct running_process {
	uint64_t epid;
	uint32_t state, flags;
	uint32_t gen_gcs, max_gen_gcs;
	uint64_t heap, old_heap; /* words */
	/* Counters of its scheduler, if that is a normal one: GCs, words that they reclaimed. */
	uint64_t collections, reclaimed;
};

/* Facts of a port; 0 and "" if they cannot be read. */
struct running_port {
	uint64_t id; /* term */
	char name[256], driver[64];
};

struct running_one {
	enum thread_type type;
	uint16_t number; /* 1.. of its type */
	raddr esdp;
	bool known;	  /* the slice is known */
	bool parts_known; /* what it executes within the slice is known, too */
	bool port;	  /* the slice is one of a port */
	struct running_key in[NR_RUNNING_SPANS];
	struct running_process process; /* if parts_known and the slice is of a process */
};

struct running;

/* Finds the addresses to read, once; reads through `mem`, which is borrowed and may belong to
 * another thread than the node's.  -ENOENT: arrays of schedulers, or fields of the layout, were not
 * found. */
int running_open(struct running **out, struct beam_node *n, struct mem *mem);
void running_close(struct running *r); /* NULL ok */

/* All schedulers: normal ones, dirty CPU, dirty IO; as of the last sample. */
const struct running_one *running_all(const struct running *r, uint32_t *nr);
void running_sample(struct running *r);
/* Samples `nr` schedulers from running_all()[first] on only, as reading many takes long. */
void running_sample_some(struct running *r, size_t first, size_t nr);
/* Do the keys of two samples show the same slice, GC or call of a NIF? */
bool running_is_same(enum running_span span, const struct running_key *earlier,
		     const struct running_key *later);
/* Reads a process that an earlier sample saw.  False: it has exited. */
bool running_process_read(struct running *r, const struct running_one *one, raddr process,
			  uint64_t epid, struct running_process *out);
/* Reads a port; the caller must check afterwards whether it still exists. */
void running_port_read(struct running *r, raddr port, struct running_port *out);

#endif
