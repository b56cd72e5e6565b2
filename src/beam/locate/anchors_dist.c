/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of nodes by shape: a Hash whose name is "dist_table".  What proves it: every entry that
 * its buckets lead to has an atom for a name, there are as many as it counts, and this node's own
 * entry is one of them.  erl_node_tables.c, hash.h, OTP 25 to 29.
 */
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/locate/anchors.h"
#include "beam/vm/dist.h"

#define NAMES_MAX 64

static bool is_dist_table(const struct anchor_space *s, raddr table, raddr this_entry)
{
	const struct beam_layout *l = s->layout;
	struct dist_hash hash;
	uint64_t nr = 0;
	bool found = false, good = true;
	raddr *buckets;

	if (dist_hash_read(s->mem, l, table, &hash) != 0 || hash.nr_entries == 0 ||
	    !space_is_pointer(s, hash.buckets, hash.nr_buckets * 8))
		return false;
	buckets = xmalloc(hash.nr_buckets * sizeof(*buckets));
	good = mem_read(s->mem, hash.buckets, buckets, hash.nr_buckets * sizeof(*buckets)) == 0;
	for (uint64_t i = 0; good && i < hash.nr_buckets; i++) {
		for (raddr at = buckets[i]; good && at;) {
			uint64_t name;

			found |= at == this_entry;
			good = nr++ < hash.nr_entries &&
			       space_is_pointer(s, at, (size_t)l->dist_size) &&
			       mem_read_u64(s->mem, at + (raddr)l->dist_sysname, &name) == 0 &&
			       TERM_IS_ATOM(name) && mem_read_u64(s->mem, at, &at) == 0;
		}
	}
	free(buckets);
	return good && found && nr == hash.nr_entries;
}

raddr shape_find_dist_table(const struct anchor_space *s, raddr this_node)
{
	size_t name_at = (size_t)s->layout->index_table_name;
	raddr names[NAMES_MAX], this_entry, found = 0;
	size_t nr = space_find_strings(s, "dist_table", names, NAMES_MAX);

	if (nr == 0 ||
	    mem_read_u64(s->mem, this_node + (raddr)s->layout->node_dist_entry, &this_entry) != 0)
		return 0;
	for (size_t at = 0; at + name_at + 8 <= s->data_size; at += 8) {
		uint64_t word = space_u64(s, at + name_at);
		bool named = false;

		for (size_t i = 0; i < nr && !named; i++)
			named = word == names[i];
		if (!named || !is_dist_table(s, s->data_addr + at, this_entry))
			continue;
		if (found)
			return 0;
		found = s->data_addr + at;
	}
	return found;
}
