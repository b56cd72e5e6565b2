/* SPDX-License-Identifier: BSD-2-Clause */
/* See histogram.h. */
#include "base/histogram.h"

#define HALF	  (HISTOGRAM_LINEAR / 2)
#define LOG2_HALF 4u

_Static_assert(HALF == 1u << LOG2_HALF, "parts of a power of two");

unsigned int histogram_bucket(uint64_t value)
{
	unsigned int log2;

	if (value < HISTOGRAM_LINEAR)
		return (unsigned int)value;
	log2 = 63u - (unsigned int)__builtin_clzll(value); /* 5 .. 63 */
	return HISTOGRAM_LINEAR + (log2 - LOG2_HALF - 1) * HALF +
	       (unsigned int)(value >> (log2 - LOG2_HALF)) - HALF;
}

unsigned int histogram_power(uint64_t value)
{
	return value ? 64u - (unsigned int)__builtin_clzll(value) : 0;
}

void histogram_bounds(unsigned int bucket, uint64_t *first, uint64_t *last)
{
	unsigned int shift;

	if (bucket < HISTOGRAM_LINEAR) {
		*first = *last = bucket;
		return;
	}
	shift = (bucket - HISTOGRAM_LINEAR) / HALF + 1;
	*first = (uint64_t)(HALF + (bucket - HISTOGRAM_LINEAR) % HALF) << shift;
	*last = *first + ((1ull << shift) - 1);
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t nr)
{
	uint64_t sum;

	if (!nr)
		return;
	if (!h->nr || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->nr += nr;
	h->counts[histogram_bucket(value)] += nr;
	if (__builtin_mul_overflow(value, nr, &sum) || __builtin_add_overflow(h->sum, sum, &h->sum))
		h->sum = UINT64_MAX;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	double want = (double)h->nr * percent / 100;
	uint64_t seen = 0, first, last;

	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->counts[i];
		if (!seen || (double)seen < want)
			continue;
		histogram_bounds(i, &first, &last);
		return last < h->max ? last : h->max;
	}
	return h->max;
}

uint64_t histogram_between(const struct histogram *h, uint64_t low, uint64_t high)
{
	uint64_t nr = 0, first, last;

	for (unsigned int i = histogram_bucket(low); i <= histogram_bucket(high); i++) {
		histogram_bounds(i, &first, &last);
		if (first >= low && last <= high)
			nr += h->counts[i];
	}
	return nr;
}
