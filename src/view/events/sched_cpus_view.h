/* SPDX-License-Identifier: BSD-2-Clause */
/* Of the answer of `ebeam sched`: how busy each scheduler was. */
#ifndef EBEAM_VIEW_SCHED_CPUS_VIEW_H
#define EBEAM_VIEW_SCHED_CPUS_VIEW_H

#include "view/events/sched_view.h"

/* Mean of those of a type that are online, in percent; NaN if nothing is known. */
double sched_percent_of_type(const struct sched_stats *s, enum thread_type type);
/* The table of schedulers, and what to bear in mind when reading it. */
int sched_cpus_write(FILE *f, const struct sched_answer *a, bool color, struct error *err);
/* "utilization" by type, and "schedulers". */
void sched_cpus_json(struct jsonw *w, const struct sched_answer *a);

#endif
