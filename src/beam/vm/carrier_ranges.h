/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the carriers of the VM's allocators are: the lists of each instance, and the pools of
 * abandoned carriers.
 *
 * A running node changes the lists while they are followed: what is found are carriers that were
 * there, but some may be missing.
 */
#ifndef EBEAM_BEAM_CARRIER_RANGES_H
#define EBEAM_BEAM_CARRIER_RANGES_H

#include "base/vec.h"
#include "beam/node/node.h"
#include "beam/vm/allocators.h"

/* Carrier_t of erl_alloc_util.h {UWord chdr; next, prev; allctr; ErtsAlcCPoolData_t cpool}, and in
 * the latter {16 bytes; next, prev; ...}; OTP 24 to 29.  chdr is size | flags. */
#define CARRIER_HEAD_SIZE 56
#define CARRIER_NEXT	  8
#define CARRIER_ALLCTR	  24
#define CARRIER_POOL	  32
#define CARRIER_POOL_NEXT 48
#define CARRIER_FLAGS	  ((uint64_t)7) /* of chdr and allctr */
#define CARRIER_MSEG	  ((uint64_t)1) /* of chdr: a mapping of its own, not from malloc */

struct carrier {
	raddr addr;
	uint64_t size; /* bytes */
	bool mseg;
};

struct carriers {
	VEC(struct carrier) v;	  /* by address, without overlaps */
	uint64_t lists_truncated; /* lists and pools that could not be followed to their end */
};

void carriers_read(struct carriers *out, struct beam_node *n, const struct allocators *a);
void carriers_free(struct carriers *c);

#endif
