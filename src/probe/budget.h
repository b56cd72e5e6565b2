/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what probes take of a node's CPU below a share of what the node itself uses.  Pure logic:
 * it is told how often each source was hit and answers what share of the time (`duty`) each source
 * may be on in the next interval.
 *
 * The limit is cut at one height: every source may cost the same amount at most, so the most
 * expensive are sampled first, and cheap ones stay on.  A source that would be left with less than
 * BUDGET_MIN_DUTY is dropped for good, and what it had goes to the others.
 *
 * Duties fall at once and rise slowly, and only when it is worth it, so that a load that stays the
 * same gets duties that stay the same.
 */
#ifndef EBEAM_PROBE_BUDGET_H
#define EBEAM_PROBE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_MAX_SOURCES 128
#define BUDGET_MIN_DUTY	   0.0025
/* Intervals in a row in which a source is left with less than that before it is dropped. */
#define BUDGET_DROP_AFTER 6
/* An idle node counts as one that uses this share of one CPU: it costs nobody anything, and would
 * have its probes taken away for a handful of hits. */
#define BUDGET_MIN_BUSY 0.1

struct budget_source {
	double ns_per_hit; /* set by the caller, may change: calibrated cost and BPF run time */

	/* Answers. */
	double duty;  /* 1 = always on, 0 = dropped, else share of the time */
	bool dropped; /* will not come back */

	/* Estimates, scaled to a source that was always on. */
	double hits_per_s; /* smoothed */
	double last_rate;  /* hits per second in the last interval in which it was on */
	double total_hits; /* since the start */
	uint64_t counted;  /* hits that were seen */
	double on_ns, all_ns;

	unsigned int starved; /* intervals in a row below BUDGET_MIN_DUTY */
	unsigned int relaxed; /* intervals in a row in which it might have had more */
};

struct budget {
	double percent; /* of the node's own busy CPU time */
	unsigned int nr;
	struct budget_source sources[BUDGET_MAX_SOURCES];
	double own_per_s;     /* ns of CPU per second that the node uses for itself, smoothed */
	double spent_percent; /* in the last interval, of the node's own CPU time */
	bool is_sampling;     /* a source has a duty below 1 */
};

/* What was seen of a source in an interval. */
struct budget_seen {
	uint64_t hits;
	uint64_t on_ns; /* for how long it was on */
	/*
	 * CPU time that the node used for itself, without what probes took, while the source was
	 * on; 0 = not known.  Totals are scaled by it rather than by time: a node that is busy all
	 * the time does less while it is probed.
	 */
	uint64_t own_on_ns;
};

/* percent > 0; nr <= BUDGET_MAX_SOURCES, more are left out.  All duties are 1. */
void budget_init(struct budget *b, double percent, unsigned int nr);

/*
 * At the end of an interval: seen[b->nr], its length, and the CPU time of the node in it, which
 * includes what the probes took.  Sets the duties of the next; true if one has changed.  An
 * interval of no length changes nothing.
 */
bool budget_update(struct budget *b, const struct budget_seen *seen, uint64_t interval_ns,
		   uint64_t busy_ns);

/* Share of all its time that a source was on, in percent: the 12 of "sampled 12 %". */
double budget_sampled_percent(const struct budget_source *s);

#endif
