/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary search in items that are sorted by a number. */
#ifndef EBEAM_BASE_SEARCH_H
#define EBEAM_BASE_SEARCH_H

#include <stddef.h>

/*
 * Number of items, of `nr` in ascending order, whose key is at most `value`; `key` is an expression
 * of the index `at`:
 *
 *   size_t n = COUNT_UP_TO(maps->len, i, maps->data[i].start, addr);
 */
#define COUNT_UP_TO(nr, at, key, value)                                                            \
	({                                                                                         \
		size_t low_ = 0, high_ = (nr);                                                     \
		while (low_ < high_) {                                                             \
			size_t at = low_ + (high_ - low_) / 2;                                     \
			if ((key) <= (value))                                                      \
				low_ = at + 1;                                                     \
			else                                                                       \
				high_ = at;                                                        \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
