/* SPDX-License-Identifier: BSD-2-Clause */
/* See source.h. */
#include "event/source.h"

#include "base/units.h"

#define BATCH 64 /* records between two readings of the clock */

int source_drain(struct source *s, uint64_t max_ns, const struct source_consumer *consumer,
		 struct error *err)
{
	uint64_t began_ns = max_ns == SOURCE_DRAIN_ALL ? 0 : clock_monotonic_ns();
	const struct rec_header *rec;
	int rc;

	for (uint64_t n = 1; (rc = s->next(s, &rec, err)) == 1; n++) {
		rc = consumer->take(consumer->arg, rec, err);
		if (rc)
			return rc;
		if (n % BATCH)
			continue;
		if (consumer->go_on && !consumer->go_on(consumer->arg))
			return 1;
		if (max_ns != SOURCE_DRAIN_ALL && clock_monotonic_ns() - began_ns >= max_ns)
			return 1;
	}
	return rc;
}
