/* SPDX-License-Identifier: BSD-2-Clause */
/* See coverage.h. */
#include "model/coverage.h"

#include <string.h>

/* Of a kind that was dropped before anything was seen of it. */
#define LEAST_SHARE 1e-6

void coverage_init(struct coverage *c)
{
	memset(c, 0, sizeof(*c));
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		c->kinds[kind].state = COVERAGE_ON;
		c->kinds[kind].share_ppm = 1000000;
	}
}

void coverage_take(struct coverage *c, enum event_kind kind, enum coverage_state state,
		   uint32_t share_ppm, uint64_t ts_ns)
{
	c->kinds[kind].watched_ns = coverage_clock(c, kind, ts_ns, NULL);
	c->kinds[kind].since_ns = ts_ns;
	c->kinds[kind].told = true;
	c->kinds[kind].state = state;
	c->kinds[kind].share_ppm = share_ppm;
	/* Up to the moment when it is on again nothing is seen. */
	if (state != COVERAGE_ON || c->kinds[kind].last_off_ns)
		c->kinds[kind].last_off_ns = ts_ns;
}

double coverage_share(const struct coverage *c, enum event_kind kind)
{
	double share = c->kinds[kind].share_ppm / 1e6;

	return share > LEAST_SHARE ? share : LEAST_SHARE;
}

double coverage_share_of(const struct coverage *c, uint64_t kinds)
{
	double least = 1;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		double share = coverage_share(c, (enum event_kind)kind);

		if (kinds >> kind & 1 && share < least)
			least = share;
	}
	return least;
}

bool coverage_gap(const struct coverage *c, enum event_kind kind, uint64_t since_ns)
{
	return c->kinds[kind].state != COVERAGE_ON || c->kinds[kind].last_off_ns > since_ns;
}

uint64_t coverage_clock(const struct coverage *c, enum event_kind kind, uint64_t ts_ns,
			uint64_t *resumed)
{
	uint64_t since_ns = c->kinds[kind].since_ns;
	bool on = c->kinds[kind].state == COVERAGE_ON;

	if (resumed)
		*resumed = c->kinds[kind].last_off_ns ? c->kinds[kind].watched_ns : 0;
	return c->kinds[kind].watched_ns + (on && ts_ns > since_ns ? ts_ns - since_ns : 0);
}

bool coverage_dropped(const struct coverage *c, enum event_kind kind)
{
	return c->kinds[kind].state == COVERAGE_DROPPED;
}
