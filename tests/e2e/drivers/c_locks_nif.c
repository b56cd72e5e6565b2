/* SPDX-License-Identifier: BSD-2-Clause */
/* NIFs that take locks of the C library, for workloads/c_locks.erl. */
#include <pthread.h>
#include <time.h>

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

/* hold(Which, Seconds): takes the lock, and has it for so long */
static term hold(struct environment *env, int argc, const term argv[])
{
	int which, seconds;

	if (argc != 2 || !enif_get_int(env, argv[0], &which) ||
	    !enif_get_int(env, argv[1], &seconds))
		return enif_make_badarg(env);
	take(which);
	nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
	if (which == MUTEX)
		pthread_mutex_unlock(&mutex);
	else
		pthread_rwlock_unlock(&rwlock);
	return enif_make_long(env, which);
}

NIF_MODULE("c_locks", {"hold", 2, hold, 2}, {"want", 2, hold, 0})
