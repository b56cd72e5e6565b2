/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process may do, and what to do about what it may not. */
#ifndef EBEAM_TARGET_PRIVILEGE_H
#define EBEAM_TARGET_PRIVILEGE_H

#include <stdbool.h>

/* `capability` is in effect: a CAP_* of linux/capability.h, or CAP_BPF or CAP_PERFMON, which stand
 * for CAP_SYS_ADMIN too, as in the kernel. */
bool privilege_has(int capability);

/* A sentence for the user if there may be nodes that this process does not see (PID namespace,
 * hidepid); else NULL. */
const char *privilege_unseen(void);
/* The same if nodes cannot be seen, or not be read. */
const char *privilege_blind_spot(void);

enum privilege_use {
	PRIVILEGE_BPF,	  /* loading programs */
	PRIVILEGE_MEMORY, /* reading that of other processes */
	PRIVILEGE_PERF,	  /* perf events: samples and breakpoints */
	PRIVILEGE_UPROBE,
};

/* What to do where the kernel seems not to have a system call (-ENOSYS), but a seccomp filter may
 * have said so in its place; else NULL. */
const char *privilege_filter_fix(int code);

/* One or two sentences without full stop, for somebody whom the kernel has just refused this (EPERM
 * or EACCES): what is missing of capabilities, or what forbids it beside them. */
const char *privilege_fix(enum privilege_use use);

#endif
