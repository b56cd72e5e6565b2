/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames of two snapshots are the same function, as defined in diff.h: gives each a key,
 * equal for the same function.  Private to the model; names are borrowed from the snapshots. */
#ifndef EBEAM_MODEL_DIFF_MATCH_H
#define EBEAM_MODEL_DIFF_MATCH_H

#include "model/profile/snapshot.h"

enum { DIFF_A, DIFF_B, NR_DIFF_SIDES };

struct diff_key {
	const char *name; /* as in B; as in A if B does not have it */
	enum frame_kind kind;
};

struct diff_match {
	struct diff_key *keys;
	uint32_t nr_keys;
	uint32_t *key_of[NR_DIFF_SIDES]; /* key of each frame */
};

void diff_match_init(struct diff_match *m, const struct snapshot *a, const struct snapshot *b);
void diff_match_free(struct diff_match *m);

#endif
