/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_costs.h. */
#include "cmd/run/event_costs.h"

#include <string.h>

#include "probe/limit/budget.h"

void event_costs_begin(struct event_costs *c, struct session *s, const struct event_rates *rates)
{
	uint64_t kinds;

	memset(c, 0, sizeof(*c));
	session_event_cost(s, &c->last, NULL);
	for (unsigned int i = 0; i < rates->nr; i++) {
		enum event_kind kind = rates->rows[i].kind;

		c->by_kind[kind].before_ns = session_kind_ns(s, kind, &kinds);
	}
}

static double percent(const struct event_costs *c, double spent_ns)
{
	return budget_share(spent_ns, c->own_ns, c->wall_ns, NULL);
}

/* The cost of probes that several kinds share is divided among the kinds by their events. */
static void take_row(struct event_costs *c, struct session *s, struct event_rates *rates,
		     struct event_rate *row, double left)
{
	uint64_t kinds, ns = session_kind_ns(s, row->kind, &kinds), events = 0;
	double spent_ns = (double)(ns - c->by_kind[row->kind].before_ns);

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1)
			events += rates->now[kind].count + rates->now[kind].lost;
	}
	if (events)
		spent_ns *= (double)(rates->now[row->kind].count + rates->now[row->kind].lost) /
			    (double)events;
	else
		spent_ns /= __builtin_popcountll(kinds);
	c->by_kind[row->kind].spent_ns = c->by_kind[row->kind].spent_ns * left + spent_ns;
	c->by_kind[row->kind].before_ns = ns;
	row->cost = percent(c, c->by_kind[row->kind].spent_ns);
}

double event_costs_take(struct event_costs *c, struct session *s, struct event_rates *rates,
			double seconds, double left, double otherwise)
{
	struct controller_cost now;

	if (!session_event_cost(s, &now, NULL))
		return otherwise;
	c->spent_ns = c->spent_ns * left + (double)(now.spent_ns - c->last.spent_ns);
	c->own_ns = c->own_ns * left + (double)(now.own_ns - c->last.own_ns);
	c->wall_ns = c->wall_ns * left + 1e9 * seconds;
	c->last = now;
	for (unsigned int i = 0; i < rates->nr; i++) {
		if (rates->rows[i].state != EVENT_RATE_MISSING)
			take_row(c, s, rates, &rates->rows[i], left);
	}
	return percent(c, c->spent_ns);
}
