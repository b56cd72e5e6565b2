/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether this kernel has faults that probes can meet, by trying; true = it has.  What cannot be
 * tried, for want of privilege, is taken to be in order.  See also return_trial.h, multi.h; what is
 * known of each fault: cmd/host/kernel_faults.c.
 */
#ifndef EBEAM_PROBE_FAULT_TRIALS_H
#define EBEAM_PROBE_FAULT_TRIALS_H

#include <stdbool.h>

/* BPF programs of uprobes get a stack for each CPU. */
bool fault_trial_private_stacks(void);
/* A uprobe on a nop of five bytes overwrites what stands below the stack pointer. */
bool fault_trial_long_nop(void);
/* Hash maps that grow may not be used by all programs. */
bool fault_trial_growing_maps(void);

#endif
