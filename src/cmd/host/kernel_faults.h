/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known bugs of kernels with uprobes, perf events and BPF: which kernels have them, whether they
 * affect ebeam, and what it does about them.  Shown in the manual and as rows of doctor.
 */
#ifndef EBEAM_CMD_KERNEL_FAULTS_H
#define EBEAM_CMD_KERNEL_FAULTS_H

#include <stdbool.h>

enum fault_state {
	FAULT_ABSENT,
	FAULT_POSSIBLE, /* known from the version of the kernel only */
	FAULT_AVOIDED,	/* this kernel has it, but ebeam avoids it without a loss */
	FAULT_PRESENT,
};

struct kernel_fault {
	const char *name;
	const char *kernels;
	const char *what;  /* what happens, and which commits brought and repaired it */
	const char *ebeam; /* whether it affects ebeam, and what ebeam does */
	const char *seen;  /* text of doctor; NULL = that the kernel has it */
	const char *fix;   /* NULL = none is needed */
	enum fault_state (*find)(void); /* NULL: does not affect ebeam, so it is not checked */
	bool by_program;		/* find() loads a BPF program */
};

extern const struct kernel_fault kernel_faults[]; /* ends with name == NULL */

#endif
