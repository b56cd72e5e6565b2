/* SPDX-License-Identifier: BSD-2-Clause */
/* See coverage.h. */
#include "model/coverage.h"

#include <string.h>

#include "base/compiler.h"

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
	/* Told again that it is on, nothing was missed. */
	bool was_on = c->kinds[kind].told && c->kinds[kind].state == COVERAGE_ON;

	c->kinds[kind].watched_ns = coverage_clock(c, kind, ts_ns, NULL);
	c->kinds[kind].since_ns = ts_ns;
	c->kinds[kind].told = true;
	c->kinds[kind].state = state;
	c->kinds[kind].share_ppm = share_ppm;
	/* Up to the moment when it is on again nothing is seen. */
	if (state != COVERAGE_ON || (c->kinds[kind].last_off_ns && !was_on))
		c->kinds[kind].last_off_ns = ts_ns;
}

void coverage_take_work(struct coverage *c, uint64_t work, uint64_t ts_ns)
{
	if (work > c->work)
		c->work = work;
	if (ts_ns > c->told_ns)
		c->told_ns = ts_ns;
}

void coverage_take_missed(struct coverage *c, enum event_kind kind, uint64_t missed)
{
	c->kinds[kind].missed = missed;
	c->kinds[kind].work_then = c->work;
}

/* Up to the last record of any kind: what is off misses all that is done. */
static uint64_t missed_now(const struct coverage *c, enum event_kind kind)
{
	bool on = c->kinds[kind].state == COVERAGE_ON;

	return c->kinds[kind].missed + (on ? 0 : c->work - c->kinds[kind].work_then);
}

void coverage_mark(struct coverage *c)
{
	c->marked = true;
	c->mark_work = c->work;
	c->mark_ns = c->told_ns;
	for (int i = 0; i < NR_EVENT_KINDS; i++) {
		enum event_kind kind = (enum event_kind)i;

		c->kinds[i].mark_missed = missed_now(c, kind);
		c->kinds[i].mark_watched_ns = coverage_clock(c, kind, c->told_ns, NULL);
	}
}

/* By the work of the node; of one that hardly did any, by time. */
static double share_since_mark(const struct coverage *c, enum event_kind kind)
{
	uint64_t work = c->work - c->mark_work, ns = c->told_ns - c->mark_ns, missed, watched;

	if (!c->kinds[kind].told)
		return 1;
	if (work >= COVERAGE_LEAST_STEPS) {
		missed = missed_now(c, kind);
		missed -= MIN(missed, c->kinds[kind].mark_missed);
		return 1 - (double)MIN(missed, work) / (double)work;
	}
	watched = coverage_clock(c, kind, c->told_ns, NULL) - c->kinds[kind].mark_watched_ns;
	if (ns == 0)
		return c->kinds[kind].state == COVERAGE_ON;
	return (double)MIN(watched, ns) / (double)ns;
}

double coverage_share_total(const struct coverage *c, enum event_kind kind)
{
	return MAX(c->kinds[kind].share_ppm / 1e6, LEAST_SHARE);
}

double coverage_share(const struct coverage *c, enum event_kind kind)
{
	/* What was not on since may have been told of something at the edge of its last slice. */
	if (!c->marked || !coverage_watched(c, kind))
		return coverage_share_total(c, kind);
	return share_since_mark(c, kind);
}

bool coverage_watched(const struct coverage *c, enum event_kind kind)
{
	return !c->marked || share_since_mark(c, kind) > LEAST_SHARE;
}

uint64_t coverage_watched_ns(const struct coverage *c, enum event_kind kind, bool total)
{
	if (!c->kinds[kind].told)
		return UINT64_MAX;
	return coverage_clock(c, kind, c->told_ns, NULL) -
	       (!total && c->marked ? c->kinds[kind].mark_watched_ns : 0);
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
	return c->kinds[kind].state == COVERAGE_DROPPED || coverage_failed(c, kind);
}

bool coverage_failed(const struct coverage *c, enum event_kind kind)
{
	return c->kinds[kind].state == COVERAGE_FAILED;
}
