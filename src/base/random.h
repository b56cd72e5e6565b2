/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers for sampling (xorshift64; not for secrets), and confidence intervals. */
#ifndef EBEAM_BASE_RANDOM_H
#define EBEAM_BASE_RANDOM_H

#include <stdint.h>

/* Half width of a 95 % confidence interval, in standard deviations of a normal distribution. */
#define NORMAL_95 1.96

/* As NORMAL_95, for the mean of few values: Student's t with `freedom` degrees of freedom. */
static inline double student_95(unsigned int freedom)
{
	static const double first[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
	const unsigned int nr = sizeof(first) / sizeof(first[0]);

	return !freedom ? first[0] : freedom <= nr ? first[freedom - 1] : NORMAL_95 + 2.6 / freedom;
}

/* Next random number; *state is the seed, not 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Uniform in [0, 1). */
static inline double random_uniform(uint64_t *state)
{
	return (double)(random_next(state) >> 11) / (double)(1ull << 53);
}

#endif
