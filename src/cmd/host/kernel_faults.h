/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults of kernels that users of uprobes, perf events and BPF have met: which kernels have them,
 * whether ebeam can meet them, and what it does then.  A section of the manual, and rows of doctor.
 */
#ifndef EBEAM_CMD_KERNEL_FAULTS_H
#define EBEAM_CMD_KERNEL_FAULTS_H

#include <stdbool.h>

enum fault_state {
	FAULT_ABSENT,
	FAULT_POSSIBLE, /* only the version of the kernel tells */
	FAULT_AVOIDED,	/* this kernel has it, and ebeam loses nothing */
	FAULT_PRESENT,
};

struct kernel_fault {
	const char *name;
	const char *kernels;
	const char *what;		/* happens, and which commits brought and repaired it */
	const char *ebeam;		/* whether it can meet that, and what it does */
	const char *seen;		/* by doctor; NULL = that the kernel has it */
	const char *fix;		/* NULL = none is needed */
	enum fault_state (*find)(void); /* NULL: ebeam cannot meet it, so it is not searched for */
	bool by_program;		/* finds it by loading a BPF program */
};

extern const struct kernel_fault kernel_faults[]; /* ends with name == NULL */

#endif
