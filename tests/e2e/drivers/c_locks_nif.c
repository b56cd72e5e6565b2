/* SPDX-License-Identifier: BSD-2-Clause */
/* NIFs that take locks of the C library, for workloads/c_locks.erl. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "nif.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

enum { MUTEX, RWLOCK };

static void take(int which)
{
	if (which == MUTEX)
		pthread_mutex_lock(&mutex);
	else
		pthread_rwlock_wrlock(&rwlock);
}

/* Not inlined, as ebeam is to find it on the stack. */
__attribute__((noinline)) static void spin_with_lock(time_t seconds)
{
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end)
		;
}

/* hold(Which, Seconds): has the lock for so long, on a CPU */
static term hold(struct environment *env, int argc, const term argv[])
{
	int which, seconds;

	if (argc != 2 || !enif_get_int(env, argv[0], &which) ||
	    !enif_get_int(env, argv[1], &seconds))
		return enif_make_badarg(env);
	take(which);
	spin_with_lock(seconds);
	if (which == MUTEX)
		pthread_mutex_unlock(&mutex);
	else
		pthread_rwlock_unlock(&rwlock);
	return enif_make_long(env, which);
}

/* want(Which, _): takes the lock */
static term want(struct environment *env, int argc, const term argv[])
{
	return hold(env, argc, argv);
}

NIF_MODULE("c_locks", {"hold", 2, hold, 0}, {"want", 2, want, 0})
