/* SPDX-License-Identifier: BSD-2-Clause */
/* Which probes are not needed to count events: see source_plan_count(). */
#include <string.h>

#include "base/compiler.h"
#include "probe/site/sources.h"

#define KIND(kind) (1ull << EVENT_##kind)

/* Programs at entries that count nothing themselves: they only provide fields, or the program at
 * the return counts. */
static const struct {
	const char *program;
	uint64_t kinds; /* kinds that need the program even so */
	bool sums;	/* needed for sums of sizes */
} by_return[] = {
	{"event_spawn", KIND(PROCESS_LINK), false},
	{"event_register", 0, false},
	{"event_port_open", 0, false},
	{"event_alloc_message", 0, true},
	{"event_port_kept", 0, false},
};

static bool is_needed(const struct source_point *point, bool sums)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_return); i++) {
		if (strcmp(by_return[i].program, point->program) == 0)
			return point->kinds & by_return[i].kinds || (sums && by_return[i].sums);
	}
	return true;
}

void source_plan_count(struct source_plan *p, bool sums)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < p->nr_points; i++) {
		if (is_needed(&p->points[i], sums))
			p->points[nr++] = p->points[i];
	}
	p->nr_points = nr;
}
