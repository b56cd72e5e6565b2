/* SPDX-License-Identifier: BSD-2-Clause */
/* What a time off a CPU weighs: for itself and for those that were not copied or not emitted. */
#ifndef EBEAM_EVENT_OFF_CPU_H
#define EBEAM_EVENT_OFF_CPU_H

#include <stdbool.h>

#include "abi/record.h"

struct off_cpu_part {
	enum sample_kind kind;
	uint64_t ns;	 /* weight; 0 = there is no such part */
	double variance; /* of the sum of weights, as estimated by this one, ns^2 */
};

/* The part in which the thread waited (of `kind`), and the part in which it was runnable.  False =
 * the record cannot be right. */
bool off_cpu_parts(const struct rec_raw_off_cpu *raw, enum sample_kind kind,
		   struct off_cpu_part *waited, struct off_cpu_part *runnable);

/* Variance of the sum of both parts' weights. */
double off_cpu_variance(const struct off_cpu_part *waited, const struct off_cpu_part *runnable);

/* Probability with which it was emitted, of a record that off_cpu_parts() has accepted. */
double off_cpu_chance(const struct rec_raw_off_cpu *raw);
/* A sample without a stack, of a thread that was not copied. */
struct rec_raw_sample off_cpu_sample(const struct rec_raw_off_cpu *raw);

#endif
