/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions by which allocators get and free carriers, and add them to and remove them from
 * use.  They are static in the VM, but each allocator has pointers to those it uses, in every
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
	} v[ALLOCATOR_CALLS_MAX]; /* without duplicates */
	size_t nr;
};

/* Fails if the allocators cannot be found or read. */
int allocator_calls_read(struct allocator_calls *out, struct beam_node *n, struct error *err);

#endif
