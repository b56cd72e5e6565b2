/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Typed growing arrays:  VEC(struct x) v = {0};  vec_push(&v, item);
 * v.data[0 .. v.len-1].  vec_free() leaves an empty vector.
 */
#ifndef EBEAM_BASE_VEC_H
#define EBEAM_BASE_VEC_H

#include <stdlib.h>
#include "base/xalloc.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t len, cap;                                                                   \
	}

#define vec_reserve(v, want)                                                                       \
	do {                                                                                       \
		size_t want_ = (want);                                                             \
		if (want_ > (v)->cap) {                                                            \
			size_t cap_ = (v)->cap ? (v)->cap : 16;                                    \
			while (cap_ < want_)                                                       \
				cap_ *= 2;                                                         \
			(v)->data = xrealloc((v)->data, cap_ * sizeof(*(v)->data));                \
			(v)->cap = cap_;                                                           \
		}                                                                                  \
	} while (0)

#define vec_push(v, item)                                                                          \
	do {                                                                                       \
		vec_reserve((v), (v)->len + 1);                                                    \
		(v)->data[(v)->len++] = (item);                                                    \
	} while (0)

#define vec_free(v)                                                                                \
	do {                                                                                       \
		free((v)->data);                                                                   \
		(v)->data = NULL;                                                                  \
		(v)->len = (v)->cap = 0;                                                           \
	} while (0)

#endif
