/* SPDX-License-Identifier: BSD-2-Clause */
/* See distance.h.  Dynamic programming: three rows of the table of prefix distances are kept. */
#include "base/distance.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

size_t word_distance(const char *a, const char *b)
{
	size_t rows[3][DISTANCE_MAX_LEN + 1], la = strlen(a), lb = strlen(b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	if (la > DISTANCE_MAX_LEN || lb > DISTANCE_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *free_row = before;

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, last[j] + 1);
			best = MIN(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, before[j - 2] + 1);
			now[j] = best;
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[lb];
}
