/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions through which allocators get carriers and give them back, and take them in and out
 * of use.  They are static in the VM, but each allocator points to those that it uses, in every
 * release, with or without symbols.
 */
#ifndef EBEAM_BEAM_ALLOCATOR_CALLS_H
#define EBEAM_BEAM_ALLOCATOR_CALLS_H

#include <stddef.h>

#include "beam/node/node.h"

#define ALLOCATOR_CALLS_MAX 32

struct allocator_calls {
	struct {
		const char *name; /* "Allctr_t.mseg_alloc" */
		raddr addr;
	} v[ALLOCATOR_CALLS_MAX]; /* each once */
	size_t nr;
};

/* Error: the allocators cannot be found or read. */
int allocator_calls_read(struct allocator_calls *out, struct beam_node *n, struct error *err);

#endif
