/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of nodes by shape: a Hash with name "dist_table" that has as many entries as it counts,
 * each with an atom as name, and one of them this node's.  erl_node_tables.c, hash.h, OTP 25 to 29.
 */
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/locate/anchors.h"
#include "beam/vm/dist.h"

static bool is_dist_table(const struct anchor_space *s, size_t at, uint64_t this_entry)
{
	const struct beam_layout *l = s->layout;
	struct dist_hash hash;
	uint64_t nr = 0;
	bool found = false, good = true;
	raddr *buckets;

	if (dist_hash_read(s->mem, l, s->data_addr + at, &hash) != 0 || hash.nr_entries == 0 ||
	    !space_is_pointer(s, hash.buckets, hash.nr_buckets * 8))
		return false;
	buckets = xmalloc(hash.nr_buckets * sizeof(*buckets));
	good = mem_read(s->mem, hash.buckets, buckets, hash.nr_buckets * sizeof(*buckets)) == 0;
	for (uint64_t i = 0; good && i < hash.nr_buckets; i++) {
		for (raddr entry = buckets[i]; good && entry;) {
			uint64_t name;

			found |= entry == this_entry;
			good = nr++ < hash.nr_entries &&
			       space_is_pointer(s, entry, (size_t)l->dist_size) &&
			       mem_read_u64(s->mem, entry + (raddr)l->dist_sysname, &name) == 0 &&
			       TERM_IS_ATOM(name) && mem_read_u64(s->mem, entry, &entry) == 0;
		}
	}
	free(buckets);
	return good && found && nr == hash.nr_entries;
}

raddr shape_find_dist_table(const struct anchor_space *s, raddr this_node)
{
	raddr this_entry;

	if (mem_read_u64(s->mem, this_node + (raddr)s->layout->node_dist_entry, &this_entry) != 0)
		return 0;
	return space_find_only(s, "dist_table", 0, is_dist_table, this_entry);
}
