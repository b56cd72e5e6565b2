/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overhead budget, a token bucket: keeps the CPU time that probes take from a node below a
 * share of what the node itself uses.  Pure logic: it is given how much time passed and what probes
 * cost in it, and decides which sources are to be enabled now.
 *
 * Tokens are ns of CPU.  The bucket is filled with the share of each ns of CPU that the node uses
 * for itself, and each ns that probes take is drawn from it.  It holds at most the income of
 * BUDGET_SAVED_S seconds, or twice the cost of a round if that is more.  A source is enabled all
 * the time as long as the bucket pays for that.  If not, the most expensive sources are sampled:
 * enabled for sampling windows (window_ns), all of them at once in a round, and a round begins only
 * when the bucket holds its expected cost.  So in the long run no more is spent than was allowed.
 * For a while it may be more, by costs that could not be known: of enabled sources between two
 * steps (a burst that begins), of a round that costs more than the one before it (it ends when the
 * bucket is empty), and of hits after its end.  Each is a debt, and it is paid before the next
 * round; only short windows that measure whether a source has become cheap, or has to be dropped,
 * are taken on credit.
 *
 * All sources have the same limit, so the most expensive are sampled, and cheap ones stay enabled.
 * A source for which even the shortest windows would come too seldom is dropped for good, if that
 * was measured BUDGET_DROP_AFTER times.
 */
#ifndef EBEAM_PROBE_BUDGET_H
#define EBEAM_PROBE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_MAX_SOURCES 128
#define BUDGET_SAVED_S	   1.0
/* A source whose duty cycle would be less than this with the shortest windows is dropped. */
#define BUDGET_MIN_DUTY	  0.0005
#define BUDGET_DROP_AFTER 3
/* An idle node counts as one that uses this share of one CPU.  Otherwise a handful of hits would
 * exceed the income of a node on which overhead matters least. */
#define BUDGET_MIN_BUSY 0.1

struct budget_source {
	bool sampled, dropped; /* dropped: will not come back */

	/* Window in the current round: 0 = none. */
	double window_ns;
	uint64_t began_ns; /* 0 = not yet */
	bool done, ended;  /* done: to be disabled; ended: is disabled */

	/* ns of CPU a second: while enabled if it is sampled, else on average. */
	double rate;
	/* Since the last period began, or in this window. */
	double cost_ns, on_ns;
	double unspent_on_ns;			 /* part of on_ns that budget_pass() has not seen */
	double busy_ns;				 /* CPU of the node, probes included, in on_ns */
	double chunk_cost_ns, chunk_on_ns, peak; /* peak: the most expensive few ms, ns a second */
	double tail_ns; /* cost after the end of its last window, and while it was attached */
	bool was_hit;	/* it was hit in its last window */

	unsigned int starved; /* times in a row that it was measured as too expensive to sample */
	unsigned int relaxed; /* rounds in a row in which it was cheap enough to be always on */
};

struct budget {
	double percent;	   /* of the node's own CPU time */
	double most_per_s; /* ns of CPU a second, whatever the node uses; 0 = no such limit */
	unsigned int nr;
	struct budget_source sources[BUDGET_MAX_SOURCES];
	double least_window_ns;
	double own_per_s;  /* ns of CPU a second that the node uses for itself, smoothed */
	double busy_per_s; /* ns of CPU a second with probes, smoothed over a shorter time */
	double credit_ns;  /* negative = debt */
	double tail_ns;	   /* mean time for which probes are hit after a window */
	double period_ns;  /* since sources that are always on were last averaged */

	bool in_round, on_credit;
	double round_cost_ns;  /* least cost of the next round */
	uint64_t round_end_ns; /* end of the last round */
	uint64_t due_ns;       /* beginning of the next round, once it is paid; else 0 */
	uint64_t random;

	/* Windows are so long that attaching and detaching probes is a small part of what a round
	 * costs, though there are fewer. */
	bool long_windows;
	double hits_ns;	   /* of budget_hits(), up to the next budget_pass() */
	double other_ns;   /* what was spent in this round, and since, other than by hits */
	double placing_ns; /* the same of a round, smoothed */
};

/* percent > 0; nr <= BUDGET_MAX_SOURCES, more are left out.  All begin enabled.  Windows shorter
 * than least_window_ns are not worth attaching probes for.  own_per_s: ns of CPU a second that the
 * node has used before. */
void budget_init(struct budget *b, double percent, unsigned int nr, double least_window_ns,
		 double own_per_s, uint64_t random);

/* Time has passed, in which the node used own_ns of CPU for itself and probes took spent_ns of
 * it. */
void budget_pass(struct budget *b, double wall_ns, double own_ns, double spent_ns);
/* One source's part of spent_ns, and for how long it was enabled (0: hits while it was not). */
void budget_hits(struct budget *b, unsigned int i, double cost_ns, double on_ns);

/* Call after budget_pass() and budget_hits(): decides by now_ns (CLOCK_MONOTONIC) what
 * budget_wants() returns: whether a source is to be enabled. */
void budget_step(struct budget *b, uint64_t now_ns);
bool budget_wants(const struct budget *b, unsigned int i);
/* Longest time until the next measurement, ns. */
uint64_t budget_check_ns(const struct budget *b);
/* When the next window ends, or a round that is paid begins; at most limit_ns. */
uint64_t budget_next(const struct budget *b, uint64_t now_ns, uint64_t limit_ns);
/* budget_began(): a sampled source was enabled.  budget_ended(): it was detached and its hits have
 * been counted, or it could not be attached. */
void budget_began(struct budget *b, unsigned int i, uint64_t now_ns);
void budget_ended(struct budget *b, unsigned int i);
/* The source cannot be attached any more: counts as dropped. */
void budget_drop(struct budget *b, unsigned int i);

/* Cost of probes in percent of the CPU that the node used for itself.  If it used less than
 * BUDGET_MIN_BUSY of a core: in percent of one core (*of_core; NULL ok), as a large share of
 * next to nothing would mislead.  NAN if no time has passed. */
double budget_share(double spent_ns, double own_ns, double wall_ns, bool *of_core);

/* ns of CPU a second that probes may take now. */
double budget_allowed(const struct budget *b);

#endif
