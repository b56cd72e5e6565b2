/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this kernel can do for BPF programs, found out by trying, never by a version: distributions
 * carry features of later kernels.  What is missing is done in another way, see struct
 * kernel_helpers.
 */
#ifndef EBEAM_PROBE_KERNEL_H
#define EBEAM_PROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/config.h"

struct kernel_features {
	struct kernel_helpers helpers;
	/*
	 * Maps that grow may be used by programs of perf events, which breakpoints are.  Kernels of
	 * before 6.1 refuse that, and warn of such maps in programs of uprobes, which taints them
	 * (check_map_prog_compatibility(), kernel/bpf/verifier.c).
	 */
	bool growing_maps;
};

/* Some ms; what cannot be tried, for want of privilege, is taken to be there. */
void kernel_features(struct kernel_features *out);

/* Whether machine code that the kernel made of a program uses a stack per CPU. */
bool kernel_uses_private_stack(const void *code, size_t size);

enum kernel_stack {
	KERNEL_STACK_UNKNOWN, /* the kernel does not show what it made of the program */
	KERNEL_STACK_THREAD,  /* of the thread that runs it */
	KERNEL_STACK_PRIVATE, /* one per CPU: only for what cannot be preempted */
};
/* Why a program of a uprobe with such a stack is not attached. */
#define KERNEL_PRIVATE_STACK                                                                       \
	"the kernel gives this program a stack per CPU (private stack), which another thread may " \
	"overwrite when it preempts a uprobe: that has crashed hosts"
/* Which stack a loaded program uses, by the machine code that the kernel made of it. */
enum kernel_stack kernel_program_stack(int prog_fd);

#endif
