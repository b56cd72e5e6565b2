/* SPDX-License-Identifier: BSD-2-Clause */
/* Schedulers (model/top/top_frame.h) as columns of a table. */
#ifndef EBEAM_VIEW_SCHEDULER_COLUMNS_H
#define EBEAM_VIEW_SCHEDULER_COLUMNS_H

#include "view/table/table.h"

/* Rows are struct top_scheduler; shares are percent of the scheduler's time. */
extern const struct table_column scheduler_columns[];

#endif
