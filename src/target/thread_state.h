/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread is doing now, by the kernel, without stopping it: /proc/PID/task/TID/{stat,
 * schedstat,wchan,syscall}.  The thread's instruction and stack pointer are known only while it is
 * off the CPU; those of a running thread are in the registers of its CPU.
 */
#ifndef EBEAM_TARGET_THREAD_STATE_H
#define EBEAM_TARGET_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/mem.h"
#include "target/proc.h"

enum { THREAD_IN_SYSCALL = 1, THREAD_OFF_CPU, THREAD_ON_CPU };

struct thread_state {
	char state;	/* of stat(5): R, S, D, T, t, Z, X; 0 = unknown (it has exited) */
	uint64_t at_ns; /* time of the reading, CLOCK_MONOTONIC */
	bool has_times;
	struct proc_thread_times times;
	char wchan[64]; /* kernel function it waits in; "" = none or unknown */
	/* THREAD_IN_SYSCALL; _OFF_CPU: blocked outside of a system call (a page fault, stopped);
	 * _ON_CPU: running or runnable; 0 = unknown. */
	int where;
	int64_t syscall;  /* number of the system call, if where == THREAD_IN_SYSCALL */
	uint64_t args[6]; /* its arguments, likewise */
	raddr sp, ip;	  /* 0 = unknown */
};

/* Fields whose files cannot be read are set to unknown. */
void thread_state_read(struct thread_state *out, int os_pid, int os_tid);
/* Files of a thread that stay open, as opening one takes ten times as long as reading it. */
struct thread_files {
	int syscall, schedstat; /* descriptors; -1 = not open */
};
#define THREAD_FILES_NONE ((struct thread_files){-1, -1})
void thread_files_close(struct thread_files *f);
/* Reads times, `where` and what depends on it; `state` and `wchan` stay empty.  files: descriptors
 * of this thread to keep open from call to call; NULL = none. */
void thread_state_read_where(struct thread_state *out, int os_pid, int os_tid,
			     struct thread_files *files);
/* Parses the text of /proc/PID/task/TID/syscall; false if it is malformed. */
bool thread_state_parse_syscall(struct thread_state *out, const char *text);

/* The thread has not run from one reading to the other; false also if that is not known. */
bool thread_state_stood(const struct thread_state *a, const struct thread_state *b);

/* Name as "read"; NULL if there is no such number; *fd: is its first argument a descriptor? */
const char *syscall_name(int64_t number, bool *fd);
/* futex(2) that waits for a lock or another word, by its second argument; not that of a condition,
 * which takes a lock of priorities later. */
bool syscall_is_futex_wait(int64_t number, uint64_t operation);

#endif
