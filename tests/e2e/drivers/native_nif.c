/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NIFs that spend their time at the end of a chain of calls that is known, for
 * workloads/native_calls.erl: busy -> entry -> down (three times, one in the other) -> qsort() of
 * the C library -> compare -> large, whose frame has 20 KiB -> spin.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "nif.h"

#define STEP __attribute__((noinline, noclone))

volatile uint64_t native_count;
static int milliseconds;

/* No call is the last thing that a function does: none becomes a jump. */
STEP void native_spin(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 10000; i++)
			native_count += (uint64_t)i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 milliseconds);
}

STEP void native_large(void)
{
	volatile char room[20000];

	room[0] = 1;
	native_spin();
	native_count += (uint64_t)room[0];
}

STEP int native_compare(const void *a, const void *b)
{
	if (*(const int *)a != *(const int *)b)
		native_large();
	native_count++;
	return *(const int *)a - *(const int *)b;
}

STEP void native_down(int depth)
{
	int two[] = {2, 1};

	if (depth)
		native_down(depth - 1);
	else
		qsort(two, 2, sizeof(two[0]), native_compare);
	native_count += (uint64_t)two[0];
}

STEP void native_entry(void)
{
	native_down(2);
	native_count++;
}

/* busy(Milliseconds) -> Milliseconds */
static term native_busy(struct environment *env, int argc, const term argv[])
{
	(void)argc;
	if (!enif_get_int(env, argv[0], &milliseconds))
		return enif_make_badarg(env);
	native_entry();
	native_count++;
	return argv[0];
}

NIF_MODULE("native_calls", {"busy", 1, native_busy, 0}, {"busy_dirty", 1, native_busy, 1})
