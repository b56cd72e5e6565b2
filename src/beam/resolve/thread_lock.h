/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock of the C library that a thread of a node waits for, as one of a NIF or a driver; the
 * VM's own locks do not note who has them. */
#ifndef EBEAM_BEAM_THREAD_LOCK_H
#define EBEAM_BEAM_THREAD_LOCK_H

#include "beam/node/node.h"
#include "target/libc_locks.h"

struct thread_lock {
	enum libc_lock_type type;
	raddr addr;
	int owner;  /* thread that has it, as ebeam numbers it; 0 = not known */
	bool ended; /* the thread that has it has ended */
};

/* Of a thread that waits in futex(2) (syscall_is_futex_wait()) with this address, called from these
 * functions (thread_stack_read()).  False: it waits for no lock, or for one whose owner is not
 * noted. */
bool thread_lock_find(struct beam_node *n, raddr futex, const raddr *frames, unsigned int nr,
		      struct thread_lock *out);

#endif
