/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line on stderr that ends every run which samples:
 *   Samples: 9,874  complete 99.6%  truncated 0.2%  bad_bounds 0.2%  lost 12 (ring_full 12)
 *   own CPU 0.21%  cost to the node ~0.03% of its own CPU  -> ebeam-a@b-20260131-120000.html
 * (one line).
 * It has each status of samples that are not complete, and each counter of losses, by the names
 * in status.def and counters.def, if it is not 0.
 */
#ifndef EBEAM_CMD_SUMMARY_H
#define EBEAM_CMD_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cmd/run/live.h"
#include "model/profile/snapshot.h"

struct summary {
	uint64_t samples;
	uint64_t by_status[NR_SAMPLE_STATUSES];
	uint64_t counters[NR_COUNTERS];
	uint64_t dropped_unknown; /* samples that referred to undefined ids */
	double own_cpu;		  /* of ebeam, percent of one core; negative = unknown */
	struct live_cost cost;	  /* to the node */
	const char *unit, *title; /* of the weight, as meta values; NULL = samples */
	uint64_t margin_ns;	  /* half of the 95 % confidence interval of `samples`; 0 = none */
	const char *warnings;	  /* the meta value, one a line; NULL = none */
	const char *path;	  /* the file of the result; NULL = not shown */
	bool no_losses;		  /* leave losses out: they are shown elsewhere */
};

/* Fills in everything but own_cpu, cost (unknown) and path (NULL). */
void summary_of_snapshot(struct summary *out, const struct snapshot *s);

double summary_complete(const struct summary *s); /* percent; 100 without samples */

/* Appends the summary, with no newline at its end. */
void summary_format(struct strbuf *out, const struct summary *s);
/* Only its end, "  lost 12 ...". */
void summary_format_end(struct strbuf *out, const struct summary *s);

/* Logs the warnings, and what to do about losses, where counters.def has an advice. */
void summary_advise(const struct summary *s);
/* summary_advise(), then the line (not with -q). */
void summary_print(const struct summary *s);

/* 0, or 7 with a warning if fewer than `min_complete` percent of the samples are complete. */
int summary_exit_code(const struct summary *s, double min_complete);

#endif
