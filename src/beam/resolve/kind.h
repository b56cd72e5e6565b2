/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread was doing, from the evidence that a sample carries.  The states of microstate
 * accounting (erl_msacc.h) are the model: a process that collects is "gc" whatever function runs,
 * code called by a BIF belongs to the BIF, and so on outwards.  Evidence by symbol is there only
 * where the executable has symbols (not in OTP 29): without it a sample stays in the wider kind.
 */
#ifndef EBEAM_BEAM_KIND_H
#define EBEAM_BEAM_KIND_H

#include <stdbool.h>

#include "abi/record.h"

struct kind_evidence {
	const struct rec_raw_sample *raw;
	enum thread_type thread; /* after the thread's name was asked, too */
	const char *bif_module;	 /* module of the BIF or NIF that runs; NULL = none */
	const char *bif_name;
	bool nif;
	const char *fragment;	   /* shared fragment that called C, NUL terminated; NULL = none */
	const char *native;	   /* symbol of the leaf, or NULL */
	const char *entry;	   /* symbol of the C function that JIT code entered, or NULL */
	const char *const *kernel; /* names of kernel frames, leaf first */
	unsigned int nr_kernel;
};

/*
 * A scheduler does what others had the process do, before it goes on with its code: signals, and
 * system tasks (execute_sys_tasks(), erl_process.c): SAMPLE_TASK of garbage_collect/1 and code that
 * is purged, SAMPLE_LITERAL_GC while literals are collected that go away with a persistent term or
 * a module.  Else NR_SAMPLE_KINDS, as on dirty schedulers, which only collect, whatever for.
 */
enum sample_kind kind_of_task(const struct rec_raw_sample *raw, enum thread_type thread);
enum sample_kind kind_of_sample(const struct kind_evidence *e);

#endif
