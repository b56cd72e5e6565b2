/* SPDX-License-Identifier: BSD-2-Clause */
/* Privileges of ebeam itself, and advice on those it lacks. */
#ifndef EBEAM_TARGET_PRIVILEGE_H
#define EBEAM_TARGET_PRIVILEGE_H

#include <stdbool.h>

/* True if `capability` is in effect: a CAP_* of linux/capability.h.  CAP_BPF and CAP_PERFMON are
 * also implied by CAP_SYS_ADMIN, as in the kernel. */
bool privilege_has(int capability);

/* If ebeam may not see all nodes of the host (PID namespace, hidepid), a sentence for the user with
 * the reason and what to do; else NULL. */
const char *privilege_unseen(void);
/* As privilege_unseen(); also if ebeam may see nodes whose memory it must not read. */
const char *privilege_blind_spot(void);

enum privilege_use {
	PRIVILEGE_BPF,	  /* loading BPF programs */
	PRIVILEGE_MEMORY, /* reading the memory of other processes */
	PRIVILEGE_PERF,	  /* perf events: samples and breakpoints */
	PRIVILEGE_UPROBE,
};

/* Advice for a system call that failed with -ENOSYS, if a seccomp filter may have returned that
 * instead of the kernel; else NULL. */
const char *privilege_filter_fix(int code);

/* Advice for a user whom the kernel refused this use (EPERM or EACCES): which capability is
 * missing, or which other setting forbids it.  One or two sentences without full stop. */
const char *privilege_fix(enum privilege_use use);

#endif
