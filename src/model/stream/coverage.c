/* SPDX-License-Identifier: BSD-2-Clause */
/* See coverage.h. */
#include "model/stream/coverage.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/random.h"

/* Least share that is reported, as counts are divided by it. */
#define LEAST_SHARE 1e-6
/* Sampling windows that last longer are divided into pieces. */
#define PIECE_NS 50000000u
/* Shares below this are computed from steps of work, see struct rec_coverage. */
#define FINE_PPM 1000u
/* If events come evenly, the rate in long pieces is at least this part of the overall rate. */
#define ALIKE 0.9

void coverage_init(struct coverage *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t kind = 0; kind < ARRAY_SIZE(c->kinds); kind++) {
		c->kinds[kind].state = COVERAGE_ON;
		c->kinds[kind].share_ppm = 1000000;
	}
}

/* ---- how much sampling windows differ -------------------------------------------------------- */

/* Steps missed up to the last record of any kind: a kind that is off misses all steps. */
static uint64_t missed_now(const struct coverage *c, enum event_kind kind)
{
	bool on = c->kinds[kind].state == COVERAGE_ON;

	return c->kinds[kind].missed + (on ? 0 : c->work - c->kinds[kind].work_then);
}

static uint64_t watched_steps(const struct coverage *c, enum event_kind kind)
{
	uint64_t missed = missed_now(c, kind);

	return c->work - MIN(missed, c->work);
}

static void open_piece(struct coverage *c, enum event_kind kind, uint64_t ts_ns)
{
	struct coverage_spread *s = &c->kinds[kind].spread;

	s->seen = 0;
	s->steps = watched_steps(c, kind);
	s->since_ns = ts_ns;
}

/* Adds the gap since the last window: the steps missed since then. */
static void add_gap(struct coverage_spread *s, uint64_t missed)
{
	double gap = missed > s->missed ? (double)(missed - s->missed) : 0;

	s->gap += gap;
	s->gaps += gap * gap;
	s->missed = missed;
}

/* Effective number of windows: windows that follow each other closely, and then none for long, have
 * little more information than one.  As many as there would be with gaps of equal length. */
static double independent(const struct coverage_spread *s)
{
	return s->gaps > 0 ? MIN(s->gap * s->gap / s->gaps, s->nr) : s->nr;
}

/* The sums, with the open piece. */
static struct coverage_spread spread_now(const struct coverage *c, enum event_kind kind)
{
	struct coverage_spread s = c->kinds[kind].spread;
	uint64_t steps = watched_steps(c, kind);
	double n = (double)s.seen, w = (double)(steps - MIN(s.steps, steps));

	if (n + w <= 0)
		return s;
	s.nr++;
	s.n += n;
	s.w += w;
	s.nn += n * n;
	s.nw += n * w;
	s.ww += w * w;
	return s;
}

static void close_piece(struct coverage *c, enum event_kind kind, uint64_t ts_ns)
{
	c->kinds[kind].spread = spread_now(c, kind);
	open_piece(c, kind, ts_ns);
}

void coverage_seen(struct coverage *c, enum event_kind kind)
{
	c->kinds[kind].spread.seen++;
}

bool coverage_any_seen(const struct coverage *c, enum event_kind kind)
{
	return c->kinds[kind].spread.seen || c->kinds[kind].spread.n > 0;
}

double coverage_error(const struct coverage *c, enum event_kind kind)
{
	struct coverage_spread s = spread_now(c, kind);
	double share = coverage_share(c, kind), rate, square, nr; /* nr: windows */

	if (!c->kinds[kind].known || share >= 1)
		return 1;
	add_gap(&s, missed_now(c, kind));
	nr = independent(&s);
	if (s.nr < 2 || s.n <= 0 || s.w <= 0)
		return 0;
	/* Standard error of a ratio of sums; at least that of a Poisson distribution. */
	rate = s.n / s.w;
	square = (s.nn - 2 * rate * s.nw + rate * rate * s.ww) * s.nr / (s.nr - 1);
	square *= s.nr / nr;
	square = MAX(square, s.n) * (1 - share);
	return exp(student_95((unsigned int)MAX(nr, 1) - 1) * sqrt(square) / s.n);
}

bool coverage_is_cut(const struct coverage *c, enum event_kind kind)
{
	const struct coverage_spread s = spread_now(c, kind);

	return s.nw * s.w < ALIKE * s.n * s.ww;
}

/* ---- records --------------------------------------------------------------------------------- */

void coverage_take(struct coverage *c, enum event_kind kind, enum coverage_state state,
		   uint32_t share_ppm, uint64_t ts_ns)
{
	/* A record of "on" while the kind was on already is no gap. */
	bool was_on = c->kinds[kind].known && c->kinds[kind].state == COVERAGE_ON;

	if (c->kinds[kind].state == COVERAGE_ON)
		close_piece(c, kind, ts_ns);
	c->kinds[kind].watched_ns = coverage_clock(c, kind, ts_ns, NULL);
	c->kinds[kind].since_ns = ts_ns;
	c->kinds[kind].known = true;
	c->kinds[kind].state = state;
	c->kinds[kind].share_ppm = share_ppm;
	/* Events may have been missed up to now, unless the kind was on and stays on. */
	if (state != COVERAGE_ON || (c->kinds[kind].last_off_ns && !was_on))
		c->kinds[kind].last_off_ns = ts_ns;
	if (state == COVERAGE_ON) {
		add_gap(&c->kinds[kind].spread, c->kinds[kind].missed);
		open_piece(c, kind, ts_ns);
	}
}

void coverage_take_work(struct coverage *c, uint64_t work, uint64_t ts_ns)
{
	if (work > c->work)
		c->work = work;
	if (ts_ns <= c->reported_ns)
		return;
	c->reported_ns = ts_ns;
	for (size_t i = 0; i < ARRAY_SIZE(c->kinds); i++) {
		if (c->kinds[i].state == COVERAGE_ON &&
		    ts_ns - c->kinds[i].spread.since_ns >= PIECE_NS)
			close_piece(c, (enum event_kind)i, ts_ns);
	}
}

void coverage_take_missed(struct coverage *c, enum event_kind kind, uint64_t missed)
{
	c->kinds[kind].missed = missed;
	c->kinds[kind].work_then = c->work;
}

void coverage_mark(struct coverage *c)
{
	c->marked = true;
	c->mark_work = c->work;
	c->mark_ns = c->reported_ns;
	for (size_t i = 0; i < ARRAY_SIZE(c->kinds); i++) {
		enum event_kind kind = (enum event_kind)i;

		/* The open piece belongs to the interval in which it ends. */
		c->kinds[i].spread = (struct coverage_spread){
			.seen = c->kinds[i].spread.seen,
			.steps = c->kinds[i].spread.steps,
			.since_ns = c->kinds[i].spread.since_ns,
			.missed = missed_now(c, kind),
		};
		c->kinds[i].mark_missed = missed_now(c, kind);
		c->kinds[i].mark_watched_ns = coverage_clock(c, kind, c->reported_ns, NULL);
	}
}

/* Share since the mark, by the node's work; by time if it did hardly any. */
static double share_since_mark(const struct coverage *c, enum event_kind kind)
{
	uint64_t work = c->work - c->mark_work, ns = c->reported_ns - c->mark_ns, missed, watched;

	if (!c->kinds[kind].known)
		return 1;
	if (work >= COVERAGE_LEAST_STEPS) {
		missed = missed_now(c, kind);
		missed -= MIN(missed, c->kinds[kind].mark_missed);
		return 1 - (double)MIN(missed, work) / (double)work;
	}
	watched = coverage_clock(c, kind, c->reported_ns, NULL) - c->kinds[kind].mark_watched_ns;
	if (ns == 0)
		return c->kinds[kind].state == COVERAGE_ON;
	return (double)MIN(watched, ns) / (double)ns;
}

/* share_ppm is too coarse for shares below FINE_PPM. */
double coverage_share_total(const struct coverage *c, enum event_kind kind)
{
	uint64_t watched = watched_steps(c, kind);

	if (c->kinds[kind].share_ppm < FINE_PPM && c->work >= COVERAGE_LEAST_STEPS && watched)
		return (double)watched / (double)c->work;
	return MAX(c->kinds[kind].share_ppm / 1e6, LEAST_SHARE);
}

double coverage_share(const struct coverage *c, enum event_kind kind)
{
	/* A kind that was off since the mark may have events from the end of its last window. */
	if (!c->marked || !coverage_watched(c, kind))
		return coverage_share_total(c, kind);
	return share_since_mark(c, kind);
}

bool coverage_watched(const struct coverage *c, enum event_kind kind)
{
	return !c->marked || share_since_mark(c, kind) > LEAST_SHARE;
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
