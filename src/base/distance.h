/* SPDX-License-Identifier: BSD-2-Clause */
/* Distance between two words, for hints about misspelt ones. */
#ifndef EBEAM_BASE_DISTANCE_H
#define EBEAM_BASE_DISTANCE_H

#include <stddef.h>

#define DISTANCE_MAX_LEN 64 /* longer words have the distance SIZE_MAX */

/* Edit distance with swaps of neighbours (optimal string alignment), in bytes. */
size_t word_distance(const char *a, const char *b);

#endif
