/* SPDX-License-Identifier: BSD-2-Clause */
/* What the probes of each kind cost the node, for rows of rates (model/stats/event_rates.h). */
#ifndef EBEAM_CMD_EVENT_COSTS_H
#define EBEAM_CMD_EVENT_COSTS_H

#include "model/stats/event_rates.h"
#include "probe/session/session.h"

struct event_costs {
	double spent_ns, own_ns, wall_ns; /* of the last seconds */
	struct controller_cost last;	  /* at the last step */
	struct {
		double spent_ns;    /* of the last seconds */
		uint64_t before_ns; /* at the last step */
	} by_kind[NR_EVENT_KINDS];
};

/* What was paid before does not count. */
void event_costs_begin(struct event_costs *c, struct session *s, const struct event_rates *rates);
/*
 * Of an interval of so many seconds that is not stepped yet: the cost of each row, in percent as
 * budget_share() says it, together with those before it, of which this part is left (0: none).
 * What all took; `otherwise` if that is not known.
 */
double event_costs_take(struct event_costs *c, struct session *s, struct event_rates *rates,
			double seconds, double left, double otherwise);

#endif
