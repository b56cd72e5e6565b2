/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind of a sample, what the thread was doing, from the data of the sample.  Follows the states of
 * microstate accounting (erl_msacc.h): a process in garbage collection is "gc" whatever function
 * runs, code called by a BIF belongs to the BIF, and so on outwards; but taking or releasing a lock
 * is "lock" whatever it is for, unless that is a collection, a NIF, polling or going to sleep.
 * Some kinds need names of functions (native_function.h): without them a sample has a more general
 * kind.
 */
#ifndef EBEAM_BEAM_KIND_H
#define EBEAM_BEAM_KIND_H

#include <stdbool.h>

#include "abi/record.h"

/* What C functions say, added leaf first. */
struct native_kinds {
	enum sample_kind outermost; /* kind by the outermost that has one; NR_SAMPLE_KINDS = none */
	bool full_gc, lock;	    /* one of them is of a full-sweep collection, takes a lock */
	bool process_lock, mutex;   /* and that is one of a process, a mutex of the C library */
};
#define NATIVE_KINDS_NONE ((struct native_kinds){.outermost = NR_SAMPLE_KINDS})

struct kind_evidence {
	const struct rec_raw_sample *raw;
	enum thread_type thread; /* from BPF, or from the thread's name */
	const char *bif_module;	 /* module of the BIF or NIF that runs; NULL = none */
	const char *bif_name;
	bool nif;
	const char *fragment;	    /* shared fragment that called C, NUL terminated; NULL = none */
	struct native_kinds native; /* of the native stack, or of its leaf if that is all */
	const char *entry;	    /* symbol of the C function that JIT code entered, or NULL */
	const char *const *kernel;  /* names of kernel frames, leaf first */
	unsigned int nr_kernel;
};

/*
 * Before a scheduler runs the code of a process, it does work on it that others have requested:
 * signals, and system tasks (execute_sys_tasks(), erl_process.c).  SAMPLE_TASK: garbage_collect/1
 * or a code purge; SAMPLE_LITERAL_GC: collection of the literals of a module or persistent term
 * that is being removed.  NR_SAMPLE_KINDS: no such work; or a dirty scheduler, whose GCs do not
 * show what they are for.
 */
enum sample_kind kind_of_task(const struct rec_raw_sample *raw, enum thread_type thread);
/* Adds a C function by its symbol; NULL: it has none. */
void native_kinds_add(struct native_kinds *k, const char *symbol);
enum sample_kind kind_of_sample(const struct kind_evidence *e);

#endif
