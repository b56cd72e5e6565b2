/* SPDX-License-Identifier: BSD-2-Clause */
/* What this kernel can do for BPF programs, found by trying and not by its version, as
 * distributions backport features.  For what is missing ebeam has another way, see struct
 * kernel_helpers. */
#ifndef EBEAM_PROBE_KERNEL_H
#define EBEAM_PROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "abi/config.h"

struct kernel_features {
	struct kernel_helpers helpers;
	/*
	 * Programs of perf events, such as breakpoints, may use hash maps that allocate their
	 * elements when needed (BPF_F_NO_PREALLOC).  Kernels before 6.1 refuse that, and warn of
	 * such maps in programs of uprobes, which taints them (check_map_prog_compatibility(),
	 * kernel/bpf/verifier.c).
	 */
	bool growing_maps;
};

/* Takes some ms; what cannot be tried, for want of privilege, is taken to be there. */
void kernel_features(struct kernel_features *out);

/* Whether machine code that the kernel compiled from a BPF program uses a stack per CPU. */
bool kernel_uses_private_stack(const void *code, size_t size);

enum kernel_stack {
	KERNEL_STACK_UNKNOWN, /* the kernel does not show its machine code */
	KERNEL_STACK_THREAD,  /* stack of the thread that runs the program */
	KERNEL_STACK_PRIVATE, /* one per CPU: safe only if the program cannot be preempted */
};
/* Why a uprobe program that uses such a stack is not attached. */
#define KERNEL_PRIVATE_STACK                                                                       \
	"the kernel gives this program a stack per CPU (private stack), which another thread may " \
	"overwrite when it preempts a uprobe: that has crashed hosts"
/* Which stack a loaded program uses, by its machine code. */
enum kernel_stack kernel_program_stack(int prog_fd);

#endif
