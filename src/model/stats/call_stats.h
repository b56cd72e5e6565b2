/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of traced functions, added up: by function and caller, with durations, shapes of arguments,
 * and the slowest calls with their arguments.
 *
 * Bounded: CALL_STATS_ROWS pairs of function and caller, and as many of function and shape; each
 * table has one more row for the calls beyond.  Ids are those of the dictionary of the events.
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
	uint32_t function; /* 0: all calls beyond the limit */
	uint32_t what;	   /* caller (frame id) or shape (string id); 0 = not known */
	uint64_t calls, ends, exceptions;
	uint64_t total_ns, max_ns; /* of calls whose end was seen */
};

struct call_slow {
	uint64_t ns;
	uint32_t function;
	char *args; /* text */
};

struct call_stats;

/* `slowest`: number of calls to keep; 0 = CALL_STATS_SLOWEST, at most CALL_STATS_SLOWEST_MAX. */
void call_stats_open(struct call_stats **out, unsigned int slowest);
void call_stats_close(struct call_stats *s); /* NULL ok */

/* Counts a call; shape 0 = shapes are not needed. */
void call_stats_begin(struct call_stats *s, uint32_t function, uint32_t caller, uint32_t shape);
/* A call that has ended; `args` is text, and copied if the call is among the slowest. */
struct call_ended {
	uint32_t function, caller, shape;
	uint64_t ns;
	int exception;
	const char *args;
};
void call_stats_end(struct call_stats *s, const struct call_ended *end);

/* Rows, most calls first; valid until the next call of this module. */
const struct call_row *call_stats_callers(struct call_stats *s, size_t *nr);
const struct call_row *call_stats_shapes(struct call_stats *s, size_t *nr);
/* The slowest calls, slowest first. */
const struct call_slow *call_stats_slowest(struct call_stats *s, size_t *nr);
/* Histogram of the durations of one function's calls, ns; NULL if none has ended. */
const struct histogram *call_stats_durations(struct call_stats *s, uint32_t function);

#endif
