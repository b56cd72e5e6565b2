/* SPDX-License-Identifier: BSD-2-Clause */
/* What the probes of each kind cost the node, for rows of rates (model/stats/event_rates.h). */
#ifndef EBEAM_CMD_EVENT_COSTS_H
#define EBEAM_CMD_EVENT_COSTS_H

#include "model/stats/event_rates.h"
#include "probe/session/session.h"

struct event_costs {
	double spent_ns, own_ns, wall_ns; /* sums in which older intervals weigh less (`left`) */
	struct controller_cost last;	  /* at the last event_costs_take() */
	struct {
		double spent_ns;    /* as above, of the probes of the kind */
		uint64_t before_ns; /* session_kind_ns() at the last event_costs_take() */
	} by_kind[NR_EVENT_KINDS];
};

/* Costs are counted from now on. */
void event_costs_begin(struct event_costs *c, struct session *s, const struct event_rates *rates);
/*
 * Adds the interval of `seconds` that ends now (before its event_rates_step()), and sets the cost
 * of each row, in percent as budget_share() has it.  Earlier intervals count too, multiplied by
 * `left` (0..1).  Returns the cost of all probes; `otherwise` if it is not known.
 */
double event_costs_take(struct event_costs *c, struct session *s, struct event_rates *rates,
			double seconds, double left, double otherwise);

#endif
