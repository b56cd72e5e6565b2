/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of traced functions, added up: by function and caller, how long they took, which shapes of
 * arguments they had, and the slowest of them with their arguments.
 *
 * Bounded: CALL_STATS_ROWS pairs of function and caller, and as many shapes; what is beyond is one
 * row more each.  Ids are those of the dictionary that the events came with.
 */
#ifndef EBEAM_MODEL_CALL_STATS_H
#define EBEAM_MODEL_CALL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"

#define CALL_STATS_ROWS	       16384
#define CALL_STATS_SLOWEST     10
#define CALL_STATS_SLOWEST_MAX 1000

struct call_row {
	uint32_t function; /* 0: all that are beyond the bound */
	uint32_t what;	   /* caller (frame id) or shape (string id); 0 = not known */
	uint64_t calls, ends, exceptions;
	uint64_t total_ns, max_ns; /* of the calls whose ends were seen */
};

struct call_slow {
	uint64_t ns;
	uint32_t function;
	char *args; /* text */
};

struct call_stats;

/* Keeps so many of the slowest; 0 = CALL_STATS_SLOWEST, at most CALL_STATS_SLOWEST_MAX. */
void call_stats_open(struct call_stats **out, unsigned int slowest);
void call_stats_close(struct call_stats *s); /* NULL ok */

/* A call; shape 0 = not asked for. */
void call_stats_begin(struct call_stats *s, uint32_t function, uint32_t caller, uint32_t shape);
/* How a call ended; `args` is its text (copied if it is among the slowest). */
struct call_ended {
	uint32_t function, caller, shape;
	uint64_t ns;
	int exception;
	const char *args;
};
void call_stats_end(struct call_stats *s, const struct call_ended *end);

/* Most calls first; rows live until the next call of this module. */
const struct call_row *call_stats_callers(struct call_stats *s, size_t *nr);
const struct call_row *call_stats_shapes(struct call_stats *s, size_t *nr);
/* Slowest first. */
const struct call_slow *call_stats_slowest(struct call_stats *s, size_t *nr);
/* Durations of one function's calls; NULL: none ended. */
const struct histogram *call_stats_durations(struct call_stats *s, uint32_t function);

#endif
