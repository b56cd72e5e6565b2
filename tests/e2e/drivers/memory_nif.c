/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A NIF that gets memory of the C library and of the kernel, writes to all of it and keeps it, for
 * workloads/native_memory.erl.  The interface of NIFs is declared as in native_nif.c.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef size_t term;
struct environment;

extern int enif_get_int(struct environment *, term, int *);
extern term enif_make_badarg(struct environment *);

enum kind { ONE_BLOCK, MANY_BLOCKS, OTHER_THREAD, MAPPED };
#define SMALL 1000

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
	}
	return argv[1];
}

struct function {
	const char *name;
	unsigned int arity;
	term (*function)(struct environment *, int, const term *);
	unsigned int flags;
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
	static struct function functions[] = {{"nif", 2, hold, 0}};
	static struct entry entry = {
		.major = 2,
		.minor = 14,
		.name = "native_memory",
		.nr_functions = 1,
		.functions = functions,
		.vm_variant = "beam.vanilla",
		.options = 1,
		.resource_type_size = 3 * sizeof(void *),
		.min_erts = "erts-10.0",
	};

	return &entry;
}
