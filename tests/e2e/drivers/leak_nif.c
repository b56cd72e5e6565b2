/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A NIF that gets memory of the C library in ways that are known, and counts the bytes, for
 * workloads/native_leak.erl.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "nif.h"

extern term enif_make_ulong(struct environment *, unsigned long);

#define STEP   __attribute__((noinline, noclone))
#define CACHED 8000
#define HELD   65536

enum kind {
	LEAK,
	CHURN,
	CACHE,
	CALLOC,
	REALLOC,
	ALIGNED,
	MAPPED,
	THREAD,
	TENTH,
	SECOND,
	TEN_SECONDS,
	TRIMMED,
	HALVED,
	UNMAPPED,
	NR_KINDS
};

/* Blocks are linked, so that no optimiser finds that nobody uses them. */
static void *kept;
static void *cached[CACHED];
static unsigned int cached_at;
static unsigned long bytes[NR_KINDS];

STEP void leak_keep(void *block, enum kind kind, size_t size)
{
	memcpy(block, &kept, sizeof(kept));
	kept = block;
	__atomic_fetch_add(&bytes[kind], size, __ATOMIC_RELAXED);
}

STEP void leak_plain(size_t size)
{
	leak_keep(malloc(size), LEAK, size);
}

STEP void leak_churn(size_t size)
{
	void *volatile block = malloc(size);

	*(volatile char *)block = 1;
	__atomic_fetch_add(&bytes[CHURN], size, __ATOMIC_RELAXED);
	free(block);
}

/* The blocks that are got last are kept, and older ones freed. */
STEP void leak_cache(size_t size)
{
	void **at = &cached[cached_at++ % CACHED];

	free(*at);
	*at = malloc(size);
	memset(*at, 1, size);
	__atomic_fetch_add(&bytes[CACHE], size, __ATOMIC_RELAXED);
}

/* Blocks that are freed after a time. */
struct held {
	void *block[HELD];
	uint64_t until_ns[HELD];
	unsigned int first, next;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Its place is the first that malloc gives away again. */
static void let_go(struct held *h)
{
	uint64_t now = now_ns();

	while (h->first != h->next && h->until_ns[h->first % HELD] <= now)
		free(h->block[h->first++ % HELD]);
}

static void hold(struct held *h, void *block, uint64_t ns, enum kind kind, size_t size)
{
	uint64_t now = now_ns();

	memcpy(block, &now, sizeof(now));
	if (h->next - h->first == HELD)
		free(h->block[h->first++ % HELD]);
	h->block[h->next % HELD] = block;
	h->until_ns[h->next++ % HELD] = now + ns;
	__atomic_fetch_add(&bytes[kind], size, __ATOMIC_RELAXED);
}

static struct held tenth, second, ten_seconds;

STEP void leak_tenth(size_t size)
{
	let_go(&tenth);
	hold(&tenth, malloc(size), 100000000, TENTH, size);
}

STEP void leak_second(size_t size)
{
	let_go(&second);
	hold(&second, malloc(size), 1000000000, SECOND, size);
}

STEP void leak_ten_seconds(size_t size)
{
	let_go(&ten_seconds);
	hold(&ten_seconds, malloc(size), 10000000000, TEN_SECONDS, size);
}

STEP void leak_calloc(size_t size)
{
	leak_keep(calloc(size / 8, 8), CALLOC, size);
}

STEP void leak_realloc(size_t size)
{
	void *block = malloc(size / 2);

	*(volatile char *)block = 1;
	leak_keep(realloc(block, size), REALLOC, size);
}

STEP void leak_aligned(size_t size)
{
	void *block;

	if (posix_memalign(&block, 64, size) == 0)
		leak_keep(block, ALIGNED, size);
}

STEP void leak_mapped(size_t size)
{
	leak_keep(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		  MAPPED, size);
}

static char *map_of(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Keeps a quarter, in the middle. */
STEP void leak_trimmed(size_t size)
{
	char *block = map_of(size);

	munmap(block, size / 2);
	munmap(block + size * 3 / 4, size / 4);
	leak_keep(block + size / 2, TRIMMED, size / 4);
}

STEP void leak_halved(size_t size)
{
	char *block = map_of(size);

	munmap(block + size / 2, size / 2);
	leak_keep(block, HALVED, size / 2);
}

STEP void leak_unmapped(size_t size)
{
	munmap(map_of(size), size);
}

STEP void leak_in_thread(size_t size)
{
	leak_keep(malloc(size), THREAD, size);
}

/* Leaks that many bytes each millisecond, as long as the node runs. */
static void *leak_thread(void *size)
{
	const struct timespec pause = {0, 1000000};

	for (;;) {
		leak_in_thread((size_t)size);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start_thread_of(size_t size)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, leak_thread, (void *)size) == 0)
		pthread_detach(thread);
}

/* nif(Kind, Size, Count) -> Size */
static term run(struct environment *env, int argc, const term argv[])
{
	static void (*const steps[NR_KINDS])(size_t) = {
		leak_plain,	  leak_churn,	leak_cache,	 leak_calloc,  leak_realloc,
		leak_aligned,	  leak_mapped,	start_thread_of, leak_tenth,   leak_second,
		leak_ten_seconds, leak_trimmed, leak_halved,	 leak_unmapped};
	int kind, size, count;

	(void)argc;
	if (!enif_get_int(env, argv[0], &kind) || !enif_get_int(env, argv[1], &size) ||
	    !enif_get_int(env, argv[2], &count) || kind < 0 || kind >= NR_KINDS)
		return enif_make_badarg(env);
	for (int i = 0; i < count; i++)
		steps[kind]((size_t)size);
	return argv[1];
}

/* bytes(Kind) -> bytes so far */
static term total(struct environment *env, int argc, const term argv[])
{
	int kind;

	(void)argc;
	if (!enif_get_int(env, argv[0], &kind) || kind < 0 || kind >= NR_KINDS)
		return enif_make_badarg(env);
	return enif_make_ulong(env, __atomic_load_n(&bytes[kind], __ATOMIC_RELAXED));
}

NIF_MODULE("native_leak", {"nif", 3, run, 0}, {"nif_bytes", 1, total, 0})
