/* SPDX-License-Identifier: BSD-2-Clause */
/* See slices.h. */
#include "event/slices.h"

struct last_slice {
	uint64_t epid; /* key */
	uint64_t slice;
	uint32_t number;
};

void slices_open(struct slices *s)
{
	s->processes = (struct keytab)KEYTAB_INIT(struct last_slice);
	s->last = 0;
}

void slices_close(struct slices *s)
{
	keytab_free(&s->processes);
}

static struct last_slice *last_of(struct slices *s, uint64_t epid)
{
	struct last_slice *last = keytab_find(&s->processes, epid);

	if (last)
		return last;
	if (s->processes.nr >= SLICES_MAX) {
		keytab_free(&s->processes);
		s->processes = (struct keytab)KEYTAB_INIT(struct last_slice);
	}
	return keytab_add(&s->processes, epid);
}

uint32_t slices_number(struct slices *s, uint64_t epid, uint64_t slice)
{
	struct last_slice *last;

	if (!epid || !slice)
		return 0;
	last = last_of(s, epid);
	if (last->slice != slice) {
		s->last = s->last == (1u << SLICES_BITS) - 1 ? 1 : s->last + 1;
		last->slice = slice;
		last->number = s->last;
	}
	return last->number;
}
