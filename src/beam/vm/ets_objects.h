/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of an ETS table, the first ones of a walk through it: hashes by bucket, ordered sets by
 * key.  The table may change meanwhile: an object may be missing or come twice, but what is given
 * was an object of this table when it was copied.
 *
 * erl_db_hash.c, erl_db_tree.c, erl_db_catree.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_ETS_OBJECTS_H
#define EBEAM_BEAM_ETS_OBJECTS_H

#include "base/vec.h"
#include "beam/vm/ets.h"

struct ets_object {
	raddr addr; /* of the tuple's header */
	/* What stands there, and behind it all that it refers to on the heap; the tuple is always
	 * whole, of the rest there is a limit for each object (8 MiB) and for all (256 MiB). */
	uint64_t *words;
	uint32_t nr_words; /* at least arity + 1 */
	uint32_t arity;
};

struct ets_objects {
	VEC(struct ets_object) v;
	uint64_t torn; /* places where the walk met what is no object of this table */
};

/* At most `max` objects.  0, or negative errno (-ESRCH: the node is gone). */
int ets_objects_read(struct beam_node *n, const struct ets_table *t, size_t max,
		     struct ets_objects *out);
void ets_objects_free(struct ets_objects *o);

#endif
