/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NIFs that spend their time at the end of a chain of calls that is known, for
 * workloads/native_calls.erl: busy -> entry -> down (three times, one in the other) -> qsort() of
 * the C library -> compare -> large, whose frame has 20 KiB -> spin.  The interface of NIFs is
 * declared here as far as it is used, as in lasting_nif.c.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef size_t term;
struct environment;

extern int enif_get_int(struct environment *, term, int *);
extern term enif_make_badarg(struct environment *);

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

/* ErlNifFunc and ErlNifEntry, erl_nif.h */
struct function {
	const char *name;
	unsigned int arity;
	term (*function)(struct environment *, int, const term *);
	unsigned int flags; /* 1 = on a dirty CPU scheduler */
};

struct entry {
	int major, minor;
	const char *name;
	int nr_functions;
	struct function *functions;
	int (*load)(struct environment *, void **, term);
	int (*reload)(struct environment *, void **, term);
	int (*upgrade)(struct environment *, void **, void **, term);
	void (*unload)(struct environment *, void *);
	const char *vm_variant;
	unsigned int options;
	size_t resource_type_size;
	const char *min_erts;
};

struct entry *nif_init(void);

struct entry *nif_init(void)
{
	static struct function functions[] = {
		{"busy", 1, native_busy, 0},
		{"busy_dirty", 1, native_busy, 1},
	};
	static struct entry entry = {
		.major = 2,
		.minor = 14,
		.name = "native_calls",
		.nr_functions = 2,
		.functions = functions,
		.vm_variant = "beam.vanilla",
		.options = 1, /* dirty schedulers */
		.resource_type_size = 3 * sizeof(void *),
		.min_erts = "erts-10.0",
	};

	return &entry;
}
