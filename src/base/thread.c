/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread.h. */
#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

#define SMALL_STACK (256u << 10)

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
