/* SPDX-License-Identifier: BSD-2-Clause */
/* Edit distance of two words, to suggest the nearest known word for a misspelt one. */
#ifndef EBEAM_BASE_DISTANCE_H
#define EBEAM_BASE_DISTANCE_H

#include <stddef.h>

#define DISTANCE_MAX_LEN 64 /* bytes; a longer word has distance SIZE_MAX to any other */

/* Edit distance with swaps of neighbours (optimal string alignment), in bytes. */
size_t word_distance(const char *a, const char *b);

#endif
