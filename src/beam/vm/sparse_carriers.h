/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carriers of which little is in use, their blocks, and who holds these: what keeps the carriers
 * from being given back.
 *
 *   carriers_walk(): sparse_add(&s, carrier) for each; sparse_order(&s);
 *   for each address that a holder refers to: sparse_find(), sparse_hold(&s, &at, holder);
 *   sparse_rest(&s, carrier, holder): all that nobody was found for; then sparse_sums().
 *
 * Holders are numbers of the caller's; one may hold blocks of one allocator only.
 */
#ifndef EBEAM_BEAM_SPARSE_CARRIERS_H
#define EBEAM_BEAM_SPARSE_CARRIERS_H

#include "base/keytab.h"
#include "base/vec.h"
#include "beam/vm/carriers.h"

#define SPARSE_PERCENT	   30 /* less than that of a carrier is in use */
#define SPARSE_BLOCKS_MAX  (1u << 22)
#define SPARSE_HOLDERS_MAX (1u << 16)

struct sparse_carrier {
	const struct allocator *owner;
	raddr start, end;
	uint64_t size, blocks_size;
	size_t first, nr; /* its blocks */
	size_t held;	  /* of these, those that somebody holds */
	uint32_t holders;
};

struct sparse_block {
	raddr addr;
	uint64_t size;
	uint32_t holder; /* the first one + 1; 0 = none yet */
};

struct sparse_carriers {
	VEC(struct sparse_carrier) v;
	VEC(struct sparse_block) blocks;
	struct keytab shared; /* block and holder, where a block has several */
	struct keytab pairs;  /* struct sparse_pair */
	uint64_t left_out;    /* carriers: there are more than SPARSE_BLOCKS_MAX blocks */
};

/* What a holder has in a carrier. */
struct sparse_pair {
	uint64_t key; /* holder + 1, carrier + 1 */
	uint64_t blocks;
};

#define SPARSE_CARRIERS_INIT                                                                       \
	{                                                                                          \
		.shared = KEYTAB_INIT(uint64_t), .pairs = KEYTAB_INIT(struct sparse_pair)          \
	}

struct sparse_place {
	struct sparse_carrier *carrier;
	struct sparse_block *block;
};

/* What a holder has in all of them; bytes. */
struct sparse_sum {
	uint64_t carriers, size, unused; /* in which it has a block */
	uint64_t alone;			 /* carriers in which nobody else has one */
	uint64_t blocks, blocks_size;
};

/* Takes the carrier if little of it is in use; the visitor has `extents`. */
void sparse_add(struct sparse_carriers *s, const struct carrier *c);
void sparse_order(struct sparse_carriers *s);
/* Which block has this address in it?  False: none of them. */
bool sparse_find(struct sparse_carriers *s, raddr addr, struct sparse_place *out);
/* Each block counts once for a holder.  sums[] are by holder. */
void sparse_hold(struct sparse_carriers *s, const struct sparse_place *at, uint32_t holder,
		 struct sparse_sum *sum);
/* The same of all blocks of the carrier that nobody holds. */
void sparse_rest(struct sparse_carriers *s, struct sparse_carrier *c, uint32_t holder,
		 struct sparse_sum *sum);
/* At the end: carriers, size, unused and alone of sums[nr]. */
void sparse_sums(struct sparse_carriers *s, struct sparse_sum *sums, size_t nr);
void sparse_free(struct sparse_carriers *s);

#endif
