/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NIFs that last as long as they are told, and say when they began and ended, for
 * workloads/lasting.erl.
 */
#include <stdint.h>
#include <time.h>

#include "nif.h"

struct mutex;
extern struct mutex *enif_mutex_create(char *);
extern void enif_mutex_lock(struct mutex *);
extern void enif_mutex_unlock(struct mutex *);

enum { SPIN, SLEEP, CONSUME };

/* Beside what the workload takes from os:system_time/1. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin_until(int64_t end)
{
	while (now() < end)
		;
}

/* last(Microseconds, How) -> {Begin, End}, in nanoseconds */
static term last(struct environment *env, int argc, const term argv[])
{
	int64_t begin = now(), end;
	int us, how;

	if (argc != 2 || !enif_get_int(env, argv[0], &us) || !enif_get_int(env, argv[1], &how))
		return enif_make_badarg(env);
	end = begin + (int64_t)us * 1000;
	if (how == SLEEP)
		nanosleep(&(struct timespec){.tv_sec = us / 1000000,
					     .tv_nsec = (long)(us % 1000000) * 1000},
			  NULL);
	/* A millisecond of work is a time slice. */
	while (how == CONSUME && now() < end) {
		spin_until(now() + 1000000);
		enif_consume_timeslice(env, 100);
	}
	spin_until(end);
	return enif_make_tuple(env, 2, enif_make_long(env, begin), enif_make_long(env, now()));
}

static struct mutex *shared;

/* locked(Microseconds, _) -> {Begin, Taken}, in nanoseconds: takes a lock, and sleeps */
static term locked(struct environment *env, int argc, const term argv[])
{
	int64_t begin = now(), taken;
	int us;

	if (argc != 2 || !enif_get_int(env, argv[0], &us))
		return enif_make_badarg(env);
	enif_mutex_lock(shared);
	taken = now();
	nanosleep(
		&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000},
		NULL);
	enif_mutex_unlock(shared);
	return enif_make_tuple(env, 2, enif_make_long(env, begin), enif_make_long(env, taken));
}

static int load(struct environment *env, void **data, term info)
{
	(void)env;
	(void)data;
	(void)info;
	shared = enif_mutex_create("lasting");
	return !shared;
}

NIF_MODULE_LOAD("lasting", load, {"normal", 2, last, 0}, {"dirty_cpu", 2, last, 1},
		{"dirty_io", 2, last, 2}, {"locked", 2, locked, 2})
