/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of events (model/stats/event_rates.h) as columns of a table. */
#ifndef EBEAM_VIEW_EVENT_RATE_COLUMNS_H
#define EBEAM_VIEW_EVENT_RATE_COLUMNS_H

#include "view/screen/screen.h"
#include "view/table/table.h"

/* Rows are struct event_rate. */
extern const struct table_column event_rate_columns[];

/* For panel_source.style: the style shows kinds that are not observed, or only sampled. */
enum screen_style event_rate_style(const void *row, const void *ctx,
				   const struct table_column *column);

#endif
