/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_rate_columns.h. */
#include "view/table/event_rate_columns.h"

#include <math.h>
#include <string.h>

#include "model/stats/event_rates.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct event_rate *)(p))

static int by_number(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static void add_percent(struct strbuf *out, double share, int decimals)
{
	if (!isnan(share))
		strbuf_addf(out, "%.*f%%", decimals, 100 * share);
}

static void col_event(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ROW(row)->name);
}

static void col_group(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ROW(row)->group);
}

static void col_rate(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (!isnan(ROW(row)->rate))
		cell_rate(out, ROW(row)->rate);
}

/* What is watched too seldom to have a rate yet, or no more, is what happens most. */
static double rank(const struct event_rate *r)
{
	if (!isnan(r->rate))
		return r->rate;
	return r->state == EVENT_RATE_SAMPLED || r->state == EVENT_RATE_DROPPED ? INFINITY : NAN;
}

static int by_rate(const void *a, const void *b)
{
	return cell_by_number(rank(ROW(a)), rank(ROW(b)));
}

static double lost(const struct event_rate *r)
{
	return r->lost == EVENT_UNKNOWN ? 0 : (double)r->lost;
}

/* What was scaled is no exact number. */
static void col_total(struct strbuf *out, const void *row, const void *ctx)
{
	const struct event_rate *r = ROW(row);

	(void)ctx;
	if (isnan(r->total))
		return;
	if (r->total > ((double)r->seen + lost(r)) * 1.0005)
		strbuf_addch(out, '~');
	cell_count(out, (uint64_t)llround(r->total));
}

static int by_total(const void *a, const void *b)
{
	return cell_by_number(ROW(a)->total, ROW(b)->total);
}

static void col_bytes(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (isnan(ROW(row)->bytes))
		return;
	cell_bytes(out, ROW(row)->bytes);
	strbuf_addstr(out, "/s");
}

static int by_bytes(const void *a, const void *b)
{
	return cell_by_number(ROW(a)->bytes, ROW(b)->bytes);
}

static void col_time(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_percent(out, ROW(row)->time, 2);
}

static int by_time(const void *a, const void *b)
{
	return cell_by_number(ROW(a)->time, ROW(b)->time);
}

static void col_longest(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->longest_ns)
		cell_ns(out, (double)ROW(row)->longest_ns);
}

static int by_longest(const void *a, const void *b)
{
	return by_number(ROW(a)->longest_ns, ROW(b)->longest_ns);
}

static void col_share(struct strbuf *out, const void *row, const void *ctx)
{
	double share = ROW(row)->share;

	(void)ctx;
	add_percent(out, share, share > 0 && share < 0.0995 ? 1 : 0);
}

static int by_share(const void *a, const void *b)
{
	return cell_by_number(ROW(a)->share, ROW(b)->share);
}

static void col_seen(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	cell_count(out, ROW(row)->seen);
}

static int by_seen(const void *a, const void *b)
{
	return by_number(ROW(a)->seen, ROW(b)->seen);
}

static void col_lost(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->lost != EVENT_UNKNOWN)
		cell_count(out, ROW(row)->lost);
}

static int by_lost(const void *a, const void *b)
{
	return cell_by_number(lost(ROW(a)), lost(ROW(b)));
}

static void col_cost(struct strbuf *out, const void *row, const void *ctx)
{
	double cost = ROW(row)->cost;

	(void)ctx;
	if (!isnan(cost))
		strbuf_addf(out, "%.*f%%", cost > 0.0005 && cost < 0.1 ? 3 : 2, cost);
}

static int by_cost(const void *a, const void *b)
{
	return cell_by_number(ROW(a)->cost, ROW(b)->cost);
}

static void col_state(struct strbuf *out, const void *row, const void *ctx)
{
	const struct event_rate *r = ROW(row);

	(void)ctx;
	strbuf_addstr(out, event_rate_state_name(r->state));
	if (*r->why)
		strbuf_addf(out, ": %s", r->why);
}

static int by_state(const void *a, const void *b)
{
	return (int)ROW(a)->state - (int)ROW(b)->state;
}

const struct table_column event_rate_columns[] = {
	{"event", "EVENT", TABLE_LEFT, false, col_event, NULL},
	{"group", "GROUP", TABLE_LEFT, true, col_group, NULL},
	{"rate", "RATE/S", TABLE_RIGHT, false, col_rate, by_rate},
	{"total", "TOTAL", TABLE_RIGHT, false, col_total, by_total},
	{"bytes_per_s", "BYTES/S", TABLE_RIGHT, false, col_bytes, by_bytes},
	{"time", "TIME", TABLE_RIGHT, false, col_time, by_time},
	{"longest_ns", "LONGEST", TABLE_RIGHT, false, col_longest, by_longest},
	{"share", "WATCHED", TABLE_RIGHT, false, col_share, by_share},
	{"seen", "SEEN", TABLE_RIGHT, true, col_seen, by_seen},
	{"lost", "LOST", TABLE_RIGHT, false, col_lost, by_lost},
	{"cost", "COST", TABLE_RIGHT, false, col_cost, by_cost},
	{"state", "STATE", TABLE_LEFT, false, col_state, by_state},
	{0},
};

enum screen_style event_rate_style(const void *row, const void *ctx,
				   const struct table_column *column)
{
	static const enum screen_style styles[NR_EVENT_RATE_STATES] = {
		[EVENT_RATE_ON] = SCREEN_GOOD,	   [EVENT_RATE_SAMPLED] = SCREEN_WARN,
		[EVENT_RATE_DROPPED] = SCREEN_BAD, [EVENT_RATE_MISSING] = SCREEN_DIM,
		[EVENT_RATE_WAITING] = SCREEN_DIM,
	};
	const struct event_rate *r = ROW(row);

	(void)ctx;
	if (r->state == EVENT_RATE_MISSING || strcmp(column->name, "state") == 0)
		return styles[r->state];
	return strcmp(column->name, "lost") == 0 && lost(r) > 0 ? SCREEN_BAD : SCREEN_PLAIN;
}
