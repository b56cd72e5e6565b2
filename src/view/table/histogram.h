/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram as text: a line with count and percentiles, then a line for each power of two. */
#ifndef EBEAM_VIEW_HISTOGRAM_H
#define EBEAM_VIEW_HISTOGRAM_H

#include <stdio.h>

#include "base/histogram.h"
#include "base/jsonw.h"
#include "base/strbuf.h"

enum histogram_unit {
	HISTOGRAM_NS,
	HISTOGRAM_BYTES,
	HISTOGRAM_WORDS,
	HISTOGRAM_WORDS_AS_BYTES, /* values are words (of 8 bytes), shown as bytes */
	HISTOGRAM_COUNT
};

/*
 *   run-queue latency  12,345  p50 4.1 us  p90 12 us  p99 130 us  max 2.1 ms
 *        2 us .. 4 us    1,234 |##########                              |
 * Three or more empty lines are replaced by a line "...".  Counts are multiplied by `scale` (>= 1:
 * the events were sampled).  Of an empty histogram only the first line is written.
 */
void histogram_write(FILE *f, const char *title, const struct histogram *h,
		     enum histogram_unit unit, double scale);
/* {"count", "sum", "min", "p50", "p90", "p99", "p999", "max", "buckets": [{"from", "to", "count"}]}
 * with counts and sum times `scale`; the buckets are powers of two. */
void histogram_json(struct jsonw *w, const char *key, const struct histogram *h, double scale);
/* The same of counts that are estimates: margins[] = half of the 95 % confidence interval of that
 * of each power of two (histogram_power()). */
void histogram_write_estimated(FILE *f, const char *title, const struct histogram *h,
			       enum histogram_unit unit, const uint64_t *margins);
void histogram_json_estimated(struct jsonw *w, const char *key, const struct histogram *h,
			      const uint64_t *margins);
/* A value with its unit: "4.1 us", "1.2 KiB", "12,345 words", "7". */
void histogram_format_value(struct strbuf *out, uint64_t value, enum histogram_unit unit);

#endif
