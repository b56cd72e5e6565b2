/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a return probe would kill a process that filters its system calls (seccomp), as most
 * processes in containers do.
 *
 * From Linux 6.11 on (ff474a78cef5, "uprobe: Add uretprobe syscall to speed up return probe") a
 * function with a return probe returns by a system call that exists for that.  Filters that do not
 * know the call refuse it, and the process goes on at a wrong address; until cf6cb56ef244
 * ("seccomp: passthrough uretprobe systemcall without filtering"; 6.14, 6.12.14).
 */
#ifndef EBEAM_PROBE_RETURN_TRIAL_H
#define EBEAM_PROBE_RETURN_TRIAL_H

#include "base/error.h"

enum return_trial {
	RETURN_PASSES,
	RETURN_KILLS,
	RETURN_FORBIDDEN, /* no privilege for return probes, in other processes either */
	RETURN_UNTRIED,	  /* something else failed */
};

/* Tries it in a child of ebeam; takes some 0.1 s. */
enum return_trial return_trial(void);
/* Like return_trial(), with a filter for another system call than RETURN_TRIAL_SYSCALL.  For tests:
 * the child calls getppid() in the function that is probed. */
enum return_trial return_trial_of(int filtered);
#define RETURN_TRIAL_SYSCALL 335 /* __NR_uretprobe, x86-64 */

/* Call before return probes are placed in a process: ERROR_KIND_KERNEL if they might kill it, or if
 * that could not be tried. */
int return_trial_check(int os_pid, struct error *err);

#endif
