/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel says that a thread does now, without stopping it: /proc/PID/task/TID/{stat,
 * schedstat,wchan,syscall}.  Where a thread stands in its own code is known only while it is off
 * the CPU: that of one that runs is in the registers of its CPU.
 */
#ifndef EBEAM_TARGET_THREAD_STATE_H
#define EBEAM_TARGET_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/mem.h"
#include "target/proc.h"

enum { THREAD_IN_SYSCALL = 1, THREAD_OFF_CPU, THREAD_ON_CPU };

struct thread_state {
	char state;	/* of stat(5): R, S, D, T, t, Z, X; 0 = not known (it is gone) */
	uint64_t at_ns; /* when it was read: CLOCK_MONOTONIC */
	bool has_times;
	struct proc_thread_times times;
	char wchan[64]; /* "" = none, or not known */
	/* THREAD_IN_SYSCALL; _OFF_CPU: blocked elsewhere (a page fault, stopped); _ON_CPU: it runs,
	 * or is to run; 0 = not known. */
	int where;
	int64_t syscall;  /* its number, if where == THREAD_IN_SYSCALL */
	uint64_t args[6]; /* likewise */
	raddr sp, ip;	  /* 0 = not known */
};

/* What cannot be read is as if not known. */
void thread_state_read(struct thread_state *out, int os_pid, int os_tid);
/* Files of a thread that stay open: to open one takes ten times as long as to read it. */
struct thread_files {
	int syscall, schedstat; /* descriptors; -1 = not open */
};
#define THREAD_FILES_NONE ((struct thread_files){-1, -1})
void thread_files_close(struct thread_files *f);
/* Only times and where it is: `state` and `wchan` stay empty.  `files` of this thread, NULL ok. */
void thread_state_read_where(struct thread_state *out, int os_pid, int os_tid,
			     struct thread_files *files);
/* The text of .../syscall; false if it is none. */
bool thread_state_parse_syscall(struct thread_state *out, const char *text);

/* "read", NULL if there is no such number; *fd: whether its first argument is a descriptor. */
const char *syscall_name(int64_t number, bool *fd);

#endif
