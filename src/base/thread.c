/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SMALL_STACK (256u << 10)
#define FIRST_NICE  (-20)
/* From Linux 6.12 on, a thread that wakes up preempts one with a longer time slice; on earlier
 * kernels only its nice value counts. */
#define SHORT_SLICE_NS 100000u

/* The kernel's struct sched_attr.  Its header, linux/sched/types.h, cannot be included with
 * sched.h: both define struct sched_param. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool start(pthread_t *thread, bool detached, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	bool started;

	pthread_attr_init(&attr);
	if (detached) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, SMALL_STACK);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(thread, &attr, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return started;
}

bool thread_start_detached(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;

	return start(&thread, true, run, arg);
}

bool thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	return start(thread, false, run, arg);
}

static void *do_nothing(void *arg)
{
	return arg;
}

bool thread_can_start(void)
{
	pthread_t thread;

	return thread_start(&thread, do_nothing, NULL) && pthread_join(thread, NULL) == 0;
}

int thread_come_at_once(void)
{
	struct sched_param first = {.sched_priority = 1};

	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first) == 0 ? 0 : -errno;
}

/* Not a real-time policy: a real-time thread wakes up on the CPU where it slept, and would preempt
 * a scheduler of the node there although another CPU is idle. */
int thread_come_first(void)
{
	struct scheduling first = {
		.size = sizeof(first),
		.policy = SCHED_OTHER,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.nice = FIRST_NICE,
		.runtime_ns = SHORT_SLICE_NS,
	};

	return syscall(SYS_sched_setattr, 0, &first, 0) == 0 ? 0 : -errno;
}
