/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads for what the kernel makes one wait for.  All signals are blocked in them: those are for
 * the thread that runs the event loop.
 */
#ifndef EBEAM_BASE_THREAD_H
#define EBEAM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Why, and what to do, where none could be made: the system says EAGAIN to each of these. */
#define THREAD_FIX     "raise ulimit -u, pids.max of the cgroup, or ulimit -v"
#define THREAD_REFUSED "too many threads, or too little memory; " THREAD_FIX

/* False: no thread could be made.  With a small stack; nobody waits for it. */
bool thread_start_detached(void *(*run)(void *arg), void *arg);
/* To be joined. */
bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* One could be made now. */
bool thread_can_start(void);

/*
 * The calling thread, which must be mostly asleep, waits for nobody when it wakes (SCHED_RR).
 * 0, or -errno.
 */
int thread_come_at_once(void);

/*
 * The calling thread, mostly asleep, need not wait behind those it watches, and takes an idle CPU
 * where there is one.  The threads that it starts are usual ones.  0, or -errno: it waits its turn.
 */
int thread_come_first(void);

#endif
