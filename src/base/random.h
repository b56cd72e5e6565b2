/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that nothing periodic keeps step with (xorshift64); not for secrets. */
#ifndef EBEAM_BASE_RANDOM_H
#define EBEAM_BASE_RANDOM_H

#include <stdint.h>

/* Half of a 95 % confidence interval, in standard deviations of a normal distribution. */
#define NORMAL_95 1.96

/* The next one; *state is not 0, and the same sequence follows from the same. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
