/* SPDX-License-Identifier: BSD-2-Clause */
/* See slices.h. */
#include "event/slices.h"

struct last_slice {
	uint64_t epid; /* key */
	uint64_t slice;
};

void slices_open(struct slices *s)
{
	s->processes = (struct keytab)KEYTAB_INIT(struct last_slice);
}

void slices_close(struct slices *s)
{
	keytab_free(&s->processes);
}

bool slices_same(struct slices *s, uint64_t epid, uint64_t slice)
{
	struct last_slice *last = epid ? keytab_find(&s->processes, epid) : NULL;
	bool same = last && slice && last->slice == slice;

	if (!last && epid && s->processes.nr >= SLICES_MAX) {
		slices_close(s);
		slices_open(s);
	}
	if (!last && epid)
		last = keytab_add(&s->processes, epid);
	if (last)
		last->slice = slice;
	return same;
}
