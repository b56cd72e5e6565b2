/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_rates.h. */
#include "model/stats/event_rates.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "model/stream/event_stream.h"
#include "model/stream/event_sums.h"

const char *event_rate_state_name(enum event_rate_state state)
{
	static const char *const names[NR_EVENT_RATE_STATES] = {
		[EVENT_RATE_ON] = "on",		  [EVENT_RATE_SAMPLED] = "sampled",
		[EVENT_RATE_DROPPED] = "dropped", [EVENT_RATE_MISSING] = "missing",
		[EVENT_RATE_WAITING] = "waiting",
	};

	return names[state];
}

void event_rates_init(struct event_rates *r, uint64_t kinds)
{
	memset(r, 0, sizeof(*r));
	event_rates_add(r, kinds);
}

void event_rates_add(struct event_rates *r, uint64_t kinds)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!((kinds & ~r->kinds) >> kind & 1))
			continue;
		r->rows[r->nr++] = (struct event_rate){
			.kind = (enum event_kind)kind,
			.name = event_rows[kind].name,
			.group = event_group_name(event_rows[kind].group),
			.state = EVENT_RATE_WAITING,
			.rate = NAN,
			.bytes = NAN,
			.time = NAN,
			.total = NAN,
			.lost = EVENT_UNKNOWN,
			.share = NAN,
			.cost = NAN,
		};
		r->kinds |= 1ull << kind;
	}
}

struct event_rate *event_rates_row(struct event_rates *r, enum event_kind kind)
{
	for (unsigned int i = 0; i < r->nr; i++) {
		if (r->rows[i].kind == kind)
			return &r->rows[i];
	}
	return NULL;
}

static void leave_out(struct event_rate *row, enum event_rate_state state, const char *why)
{
	size_t len = MIN(strlen(why), sizeof(row->why) - 1);

	row->state = state;
	memcpy(row->why, why, len);
	row->why[len] = '\0';
}

void event_rates_miss(struct event_rates *r, enum event_kind kind, const char *why)
{
	struct event_rate *row = event_rates_row(r, kind);

	if (row)
		leave_out(row, EVENT_RATE_MISSING, why);
}

/* Values of a capture may be anything: sums saturate. */
static void add_up(uint64_t *sum, uint64_t value, uint64_t unit)
{
	if (__builtin_mul_overflow(value, unit, &value) || __builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void event_rates_take(struct event_rates *r, enum event_kind kind, const struct event *ev)
{
	uint64_t value = event_size(kind, ev);

	r->now[kind].count++;
	r->seen[kind]++;
	if (value != EVENT_UNKNOWN)
		add_up(&r->now[kind].bytes, value, event_size_unit(kind));
	value = event_duration(kind, ev);
	if (value == EVENT_UNKNOWN)
		return;
	add_up(&r->now[kind].ns, value, 1);
	r->longest_ns[kind] = MAX(r->longest_ns[kind], value);
}

void event_rates_count(struct event_rates *r, enum event_kind kind, const struct event_count *all)
{
	struct event_count *before = &r->counted[kind];
	uint64_t count = all->produced - MIN(before->produced, all->produced);

	r->now[kind].count += count;
	r->seen[kind] += count;
	add_up(&r->now[kind].bytes, all->size - MIN(before->size, all->size),
	       event_size_unit(kind));
	add_up(&r->now[kind].ns, all->ns - MIN(before->ns, all->ns), 1);
	r->longest_ns[kind] = MAX(r->longest_ns[kind], all->longest_ns);
	*before = *all;
}

void event_rates_lost(struct event_rates *r, enum event_kind kind, uint64_t lost)
{
	r->lost_known = true;
	if (lost > r->lost[kind]) {
		r->now[kind].lost += lost - r->lost[kind];
		r->lost[kind] = lost;
	}
}

/* Sets the rates of a row for an interval in which its kind was watched for some time. */
static void scale_row(struct event_rates *r, struct event_rate *row, const struct coverage *c,
		      double seconds)
{
	enum event_kind kind = row->kind;
	double all = (double)r->now[kind].count + (double)r->now[kind].lost, scale;

	row->share = coverage_share(c, kind);
	row->state = row->share < 0.9995 ? EVENT_RATE_SAMPLED : EVENT_RATE_ON;
	scale = 1 / row->share / seconds;
	row->rate = all * scale;
	row->total =
		(isnan(row->total) ? 0 : row->total) + row->rate * (seconds + r->unwatched_s[kind]);
	r->unwatched_s[kind] = 0;
	/* Lost events are assumed to have the mean size and duration of those that were seen. */
	if (r->now[kind].count)
		scale *= all / (double)r->now[kind].count;
	row->bytes = event_has_size(kind) && !r->no_sums ? (double)r->now[kind].bytes * scale : NAN;
	row->time = event_has_duration(kind) && !r->no_sums ? (double)r->now[kind].ns / 1e9 * scale
							    : NAN;
}

static void forget_row(struct event_rate *row)
{
	row->rate = row->bytes = row->time = NAN;
}

static void step_row(struct event_rates *r, struct event_rate *row, const struct coverage *c,
		     double seconds)
{
	enum event_kind kind = row->kind;
	bool dropped = coverage_dropped(c, kind);
	/* In the interval in which a kind is dropped it may have been watched at first. */
	bool watched = coverage_watched(c, kind) && !(dropped && row->state == EVENT_RATE_DROPPED);

	row->seen = r->seen[kind];
	row->lost = r->lost_known ? r->lost[kind] : EVENT_UNKNOWN;
	row->longest_ns = r->longest_ns[kind];
	row->why[0] = '\0';
	if (watched) {
		scale_row(r, row, c, seconds);
	} else {
		/* Not watched in this interval, as far as coverage records say: the last values
		 * stay.  Events are counted at once, but these records are drained later: events
		 * counted now belong to a sampling window that is reported in the next interval. */
		row->state = EVENT_RATE_SAMPLED;
		r->unwatched_s[kind] += seconds;
	}
	if (watched || dropped)
		memset(&r->now[kind], 0, sizeof(r->now[kind]));
	if (!dropped)
		return;
	leave_out(row, EVENT_RATE_DROPPED,
		  coverage_failed(c, kind)
			  ? "its probes could not be placed again"
			  : "costs more than --max-overhead even in short sampling windows");
	forget_row(row);
	row->share = 0;
}

void event_rates_forget(struct event_rates *r)
{
	for (unsigned int i = 0; i < r->nr; i++)
		forget_row(&r->rows[i]);
}

void event_rates_step(struct event_rates *r, struct coverage *c, double seconds)
{
	for (unsigned int i = 0; i < r->nr; i++) {
		if (r->rows[i].state != EVENT_RATE_MISSING)
			step_row(r, &r->rows[i], c, seconds);
	}
	coverage_mark(c);
}

static double rate_of(struct event_rates *r, enum event_kind kind)
{
	const struct event_rate *row = event_rates_row(r, kind);

	return row ? row->rate : NAN;
}

double event_rates_messages(struct event_rates *r)
{
	double sent = rate_of(r, EVENT_MESSAGE_SEND);

	return isnan(sent) ? rate_of(r, EVENT_MESSAGE_QUEUED) : sent;
}
