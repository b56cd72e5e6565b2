/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of rates of events (model/stats/event_rates.h) as JSON. */
#ifndef EBEAM_CMD_EVENT_RATE_JSON_H
#define EBEAM_CMD_EVENT_RATE_JSON_H

#include "base/jsonw.h"
#include "model/stats/event_rates.h"

/* An object of an array; what is not known is null. */
void event_rate_json(struct jsonw *w, const struct event_rate *r);

#endif
