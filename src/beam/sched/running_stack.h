/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of a process that runs, as a raw sample, read from memory while it runs: the samples of
 * BPF programs without a BPF program, for what stays where it is.
 *
 * Where JIT code stands and its Erlang stack pointer are in registers.  The kernel shows those of a
 * thread that is off its CPU; while C code runs that JIT code called, Process.stop holds the stack
 * pointer, or a register that the C function has saved (callsite_stack_top()), and the return
 * address into JIT code stands below the scheduler's registers (on dirty schedulers Process.current
 * is the function).  Whether C code runs is shown by nothing of a thread
 * that is on its CPU, but by `called`: see below.
 */
#ifndef EBEAM_BEAM_RUNNING_STACK_H
#define EBEAM_BEAM_RUNNING_STACK_H

#include "abi/record.h"
#include "beam/code/jit.h"
#include "beam/node/node.h"
#include "target/thread_state.h"

/* Where JIT code lies, and of which release it is. */
struct running_code {
	struct address_range hull, fragments;
	int otp;
	bool c_stack; /* it runs on the C stack: see bpf/sample.bpf.h */
};

struct running_scheduler {
	enum thread_type type;
	uint16_t number;
	int os_tid;		    /* 0 = not known: then nothing is read of it */
	struct thread_files *files; /* of it, which the caller closes; NULL = opened each time */
	raddr registers;	    /* of a normal one: ErtsSchedulerData.registers */
};

/* The last call of C code from JIT code, how much CPU the thread had, and Process.i: where the
 * time slice began. */
struct running_call {
	bool known; /* the time is */
	raddr ra, entry;
	raddr at;     /* where its return address stands */
	raddr pushed; /* what shared fragments have pushed: see callsite_return_at() */
	uint64_t light_bif, cpu_ns;
};

#define RUNNING_STACK_FRAMES (EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES)
#define RUNNING_STACK_SIZE   (sizeof(struct rec_raw_sample) + 8 * RUNNING_STACK_FRAMES)

/*
 * Reads the stack of `process`, which `s` runs, through `mem`.  *out has room for
 * RUNNING_STACK_SIZE; its h.ts_ns is not set.  `earlier` is what an earlier such sample of the same
 * time slice gave as *call (NULL: this is the first): a call that is the same since then, while the
 * thread had more of a CPU than 4000 reductions of Erlang code take, is under way.  `in_c`: it is
 * known to be, as the process is in a NIF, or is collected.  If it is not
 * known where the process is, the place is PLACE_OTHER, the status SAMPLE_STATUS_AMBIGUOUS, and the
 * frames are those of its last stop.
 *
 * False: it cannot be read.  The caller samples afterwards whether it was the same slice.
 */
bool running_stack_read(struct rec_raw_sample *out, struct running_call *call, struct mem *mem,
			const struct beam_layout *l, const struct running_code *code, int os_pid,
			const struct running_scheduler *s, raddr process, bool in_c,
			const struct running_call *earlier);
/* The same of a port's task: it has no Erlang stack, so only where the thread is in C code, if it
 * is off its CPU. */
bool running_port_stack_read(struct rec_raw_sample *out, int os_pid,
			     const struct running_scheduler *s, uint64_t port_id);

#endif
