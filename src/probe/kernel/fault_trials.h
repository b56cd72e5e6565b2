/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries whether this kernel has faults that affect probes; true = it has.  What cannot be tried,
 * for want of privilege, is taken to be in order.  See also return_trial.h, multi.h; what is
 * known of each fault: cmd/host/kernel_faults.c. */
#ifndef EBEAM_PROBE_FAULT_TRIALS_H
#define EBEAM_PROBE_FAULT_TRIALS_H

#include <stdbool.h>

/* The kernel gives BPF programs of uprobes a stack per CPU (private stack). */
bool fault_trial_private_stacks(void);
/* A uprobe on a nop of five bytes overwrites memory below the stack pointer. */
bool fault_trial_long_nop(void);
/* Programs of perf events may not use hash maps that allocate their elements when needed. */
bool fault_trial_growing_maps(void);
/* By the kernel's BTF: the lock of ring buffers is a spinlock_t, which sleeps in real-time
 * kernels. */
bool fault_trial_sleeping_rings(void);

#endif
