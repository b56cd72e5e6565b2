/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A NIF that gets memory of the C library and of the kernel, writes to it and keeps it, for
 * workloads/native_memory.erl.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nif.h"

extern void *enif_alloc(size_t);

enum kind { ONE_BLOCK, MANY_BLOCKS, OTHER_THREAD, MAPPED, RESERVED, OF_THE_VM };
#define SMALL	 1000
#define LARGE	 4000
#define RESERVES ((size_t)16 << 40)

/* Blocks are linked, so that no optimiser finds that nobody uses them. */
static void *kept;

static void keep(void *block, size_t size)
{
	memset(block, 1, size);
	memcpy(block, &kept, sizeof(kept));
	kept = block;
}

static void *small_blocks(void *size)
{
	for (size_t i = 0; i < *(size_t *)size / SMALL; i++)
		keep(malloc(SMALL), SMALL);
	return NULL;
}

/* Reserves terabytes, and writes to so much at their begin, in the middle and at their end. */
static void reserve(size_t size)
{
	char *at = mmap(NULL, RESERVES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (int i = 0; i < 3 && at != MAP_FAILED; i++)
		keep(at + (RESERVES - size) / 2 / 4096 * 4096 * (size_t)i, size);
}

/* hold(Kind, MiB) -> MiB */
static term hold(struct environment *env, int argc, const term argv[])
{
	pthread_t thread;
	int kind, mib;
	size_t size;

	(void)argc;
	if (!enif_get_int(env, argv[0], &kind) || !enif_get_int(env, argv[1], &mib))
		return enif_make_badarg(env);
	size = (size_t)mib << 20;
	switch ((enum kind)kind) {
	case ONE_BLOCK:
		keep(malloc(size), size);
		break;
	case MANY_BLOCKS:
		small_blocks(&size);
		break;
	case OTHER_THREAD:
		if (pthread_create(&thread, NULL, small_blocks, &size) == 0)
			pthread_join(thread, NULL);
		break;
	case MAPPED:
		keep(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		     size);
		break;
	case RESERVED:
		reserve(size);
		break;
	case OF_THE_VM:
		for (size_t i = 0; i < size / LARGE; i++)
			keep(enif_alloc(LARGE), LARGE);
		break;
	}
	return argv[1];
}

NIF_MODULE("native_memory", {"nif", 2, hold, 0})
