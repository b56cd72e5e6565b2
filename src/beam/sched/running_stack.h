/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction pointer and the Erlang stack pointer of JIT code are in registers, which the
 * kernel shows for threads that are off CPU.  While C code runs that JIT code called, the stack
 * pointer is in Process.stop or in a register that the C function has saved (callsite_stack_top()),
 * and the return address to JIT code is below the scheduler's registers (on dirty schedulers
 * Process.current is the function).  Whether C code runs cannot be seen for a thread that is on
 * CPU, but follows from `earlier` and `in_c`: see below.
 */
#ifndef EBEAM_BEAM_RUNNING_STACK_H
#define EBEAM_BEAM_RUNNING_STACK_H

#include "abi/record.h"
#include "beam/code/jit.h"
#include "beam/node/node.h"
#include "target/thread_state.h"

/* JIT code: `hull` is from its lowest to its highest address, `fragments` has shared fragments. */
struct running_code {
	struct address_range hull, fragments;
	int otp;
	bool c_stack; /* JIT code runs on the C stack: see bpf/sample.bpf.h */
};

struct running_scheduler {
	enum thread_type type;
	uint16_t number;
	int os_tid;		    /* 0 = unknown: no files of the thread are read */
	struct thread_files *files; /* of the thread, closed by the caller; NULL = none kept */
	raddr registers;	    /* of a normal scheduler: ErtsSchedulerData.registers */
};

/* The last call of C code from JIT code, the CPU time of the thread, and Process.i: the address
 * where the time slice began. */
struct running_call {
	bool known; /* cpu_ns is known */
	raddr ra, entry;
	raddr at;     /* address of the return address */
	raddr pushed; /* words that shared fragments pushed: see callsite_return_at() */
	uint64_t light_bif, cpu_ns;
};

#define RUNNING_STACK_FRAMES (EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES)
#define RUNNING_STACK_SIZE   (sizeof(struct rec_raw_sample) + 8 * RUNNING_STACK_FRAMES)

/*
 * Reads the stack of `process`, which runs on `s`, through `mem`.  *out has room for
 * RUNNING_STACK_SIZE; its h.ts_ns is not set.  `earlier` is *call of an earlier sample of the same
 * time slice (NULL: this is the first): if the call is the same and the thread has used more CPU
 * time since than 4000 reductions of Erlang code take, C code is still running.  `in_c`: C code is
 * known to run, a NIF or a GC.  If it is unknown where the thread runs, the place is PLACE_OTHER,
 * the status SAMPLE_STATUS_AMBIGUOUS, and the frames are those of the last context switch.
 *
 * False: the process cannot be read.  The caller must check afterwards that the slice is still the
 * same.
 */
bool running_stack_read(struct rec_raw_sample *out, struct running_call *call, struct mem *mem,
			const struct beam_layout *l, const struct running_code *code, int os_pid,
			const struct running_scheduler *s, raddr process, bool in_c,
			const struct running_call *earlier);
/* The same for a port's task, which has no Erlang stack: only C code, if the thread is off CPU. */
bool running_port_stack_read(struct rec_raw_sample *out, int os_pid,
			     const struct running_scheduler *s, uint64_t port_id);

#endif
