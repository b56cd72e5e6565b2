/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads for system calls that block.  All signals are masked in them, so that the thread with the
 * event loop handles every signal. */
#ifndef EBEAM_BASE_THREAD_H
#define EBEAM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Reasons and advice if a thread cannot be made: pthread_create() has EAGAIN for each reason. */
#define THREAD_FIX     "raise ulimit -u, pids.max of the cgroup, or ulimit -v"
#define THREAD_REFUSED "too many threads, or too little memory; " THREAD_FIX

/* A detached thread with a small stack.  False: it cannot be made. */
bool thread_start_detached(void *(*run)(void *arg), void *arg);
/* A thread to be joined. */
bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Makes a thread that ends at once, and joins it: true if that worked. */
bool thread_can_start(void);

/* Gives the calling thread, which must be mostly asleep, real-time priority (SCHED_RR), so that
 * it does not wait for a CPU.  0, or -errno. */
int thread_come_at_once(void);

/* Gives the calling thread, mostly asleep, a high priority without a real-time policy, so that
 * it runs before the threads that it watches, on an idle CPU if there is one.  Threads that it
 * starts do not inherit the priority.  0, or -errno with the priority unchanged. */
int thread_come_first(void);

#endif
