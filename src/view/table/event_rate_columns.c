/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_rate_columns.h. */
#include "view/table/event_rate_columns.h"

#include <math.h>
#include <string.h>

#include "model/stats/event_rates.h"
#include "view/table/cells.h"

#define ROW(p) ((const struct event_rate *)(p))

/* The rate to sort by.  Kinds that are sampled and have no rate yet, or that were dropped as too
 * frequent, come first: only the most frequent kinds are sampled or dropped. */
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

/* The total, with "~" if it was scaled up from samples. */
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

static void col_bytes(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (isnan(ROW(row)->bytes))
		return;
	cell_bytes(out, ROW(row)->bytes);
	strbuf_addstr(out, "/s");
}

static void col_time(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (!isnan(ROW(row)->time))
		strbuf_addf(out, "%.2f%%", 100 * ROW(row)->time);
}

static void col_longest(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->longest_ns)
		cell_ns(out, (double)ROW(row)->longest_ns);
}

static void col_share(struct strbuf *out, const void *row, const void *ctx)
{
	double share = ROW(row)->share;

	(void)ctx;
	if (!isnan(share))
		strbuf_addf(out, "%.*f%%", share > 0 && share < 0.0995 ? 1 : 0, 100 * share);
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

static void col_state(struct strbuf *out, const void *row, const void *ctx)
{
	const struct event_rate *r = ROW(row);

	(void)ctx;
	strbuf_addstr(out, event_rate_state_name(r->state));
	if (*r->why)
		strbuf_addf(out, ": %s", r->why);
}

static void json_state(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)ctx;
	jsonw_string(w, name, event_rate_state_name(ROW(row)->state));
}

static void json_longest(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)ctx;
	jsonw_uint_if(w, name, ROW(row)->longest_ns != 0, ROW(row)->longest_ns);
}

static void json_missing(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)name;
	(void)ctx;
	jsonw_string(w, "missing", *ROW(row)->why ? ROW(row)->why : NULL);
}

static int by_state(const void *a, const void *b)
{
	return (int)ROW(a)->state - (int)ROW(b)->state;
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct event_rate, member)

const struct table_column event_rate_columns[] = {
	{FIELD("event", "EVENT", TEXT, name)},
	{FIELD("group", "GROUP", TEXT, group), .hidden = true, .json = table_json_none},
	{FIELD("rate", "RATE/S", RATE, rate), .compare = by_rate},
	{FIELD("total", "TOTAL", RATE, total), .text = col_total},
	{FIELD("bytes_per_s", "BYTES/S", RATE, bytes), .text = col_bytes},
	{FIELD("time", "TIME", SHARE, time), .text = col_time},
	{FIELD("longest_ns", "LONGEST", NS, longest_ns), .text = col_longest, .json = json_longest},
	{FIELD("share", "WATCHED", SHARE, share), .text = col_share},
	{FIELD("seen", "SEEN", COUNT, seen), .hidden = true},
	{FIELD("lost", "LOST", COUNT, lost), .compare = by_lost},
	{FIELD("cost", "COST", PERCENT, cost), .text = col_cost},
	{"state", "STATE", .text = col_state, .compare = by_state, .json = json_state},
	{.json = json_missing},
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
