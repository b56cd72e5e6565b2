/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of the answer of `ebeam sched`: how busy each scheduler was. */
#ifndef EBEAM_VIEW_SCHED_CPUS_VIEW_H
#define EBEAM_VIEW_SCHED_CPUS_VIEW_H

#include "view/events/sched_view.h"

/* Mean utilization of the schedulers of a type that are online, in percent; NaN = not known. */
double sched_percent_of_type(const struct sched_stats *s, enum thread_type type);
/* Writes the table of schedulers, and notes below it. */
int sched_cpus_write(FILE *f, const struct sched_answer *a, bool color, struct error *err);
/* Writes two members of the JSON answer: "utilization", by type, and "schedulers". */
void sched_cpus_json(struct jsonw *w, const struct sched_answer *a);

#endif
