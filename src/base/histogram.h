/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of values in buckets, for percentiles: exact below HISTOGRAM_LINEAR; above, each power
 * of two has HISTOGRAM_LINEAR / 2 equal buckets, so that a percentile has an error of 1/16 at
 * most.  No allocation. */
#ifndef EBEAM_BASE_HISTOGRAM_H
#define EBEAM_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_LINEAR  32u
#define HISTOGRAM_BUCKETS (HISTOGRAM_LINEAR + 59 * HISTOGRAM_LINEAR / 2)

/* Powers of two: 0; 1; 2 .. 3; 4 .. 7; ... */
#define HISTOGRAM_POWERS 65u

struct histogram {
	uint64_t nr, sum; /* sum saturates */
	uint64_t min, max;
	uint64_t counts[HISTOGRAM_BUCKETS];
};

/* All zero is an empty histogram. */
void histogram_add(struct histogram *h, uint64_t value, uint64_t nr);
/* Smallest value that `percent` (0 .. 100) of the values do not exceed, rounded up to the end of
 * its bucket but never above max; 0 if empty. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
/* Number of values low .. high.  low must be the first value of a bucket, as powers of two are, and
 * high the last value of one, as powers of two minus one are. */
uint64_t histogram_between(const struct histogram *h, uint64_t low, uint64_t high);
/* Index of a value's bucket in counts[]. */
unsigned int histogram_bucket(uint64_t value);
/* Which power of two a value belongs to. */
unsigned int histogram_power(uint64_t value);
/* First and last value of a bucket. */
void histogram_bounds(unsigned int bucket, uint64_t *first, uint64_t *last);

#endif
