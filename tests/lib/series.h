/* SPDX-License-Identifier: BSD-2-Clause */
/* SERIES(1, 2, 3): a struct series of these numbers, read one after the other. */
#ifndef EBEAM_TESTS_LIB_SERIES_H
#define EBEAM_TESTS_LIB_SERIES_H

#include "model/diagnosis/diagnosis.h"

static inline struct series series(unsigned int nr, const double *v)
{
	struct series s = {.nr = 0};

	for (unsigned int i = 0; i < nr; i++)
		series_add(&s, v[i]);
	return s;
}
#define SERIES(...)                                                                                \
	series(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

#endif
