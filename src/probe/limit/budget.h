/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The overhead budget, a token bucket: keeps what probes take of a node's CPU below a share of what
 * the node itself uses.  Pure logic: it gets how much time passed and what that cost, and answers
 * which sources are to be enabled now.
 *
 * Tokens are ns of CPU.  The bucket is filled with the share of each ns of CPU that the node uses
 * for itself, and each ns that probes take is drawn from it.  It holds at most the income of
 * BUDGET_SAVED_S seconds, or twice what a round costs if that is more.  A source is enabled all the
 * time as long as the bucket pays for that.  If not, the most expensive are sampled: enabled for
 * sampling windows (window_ns), all of them at once in a round, and a round begins only when the
 * bucket holds what it is going to cost.  So in the long run no more is spent than was allowed.
 * For a while it may be more, by what could not be known: what is spent between two steps by
 * sources that are enabled (a storm that begins), what a round costs more than the one before it
 * (it ends when the bucket is empty), and what is hit after its end.  Each is a debt, and it is
 * paid before the next round; only short windows that measure whether a source has become cheap, or
 * has to be dropped, are taken on credit.
 *
 * Every source may cost the same at most, so the most expensive are sampled, and cheap ones stay
 * enabled.  A source for which even the shortest windows would come too seldom is dropped for good,
 * if that was measured BUDGET_DROP_AFTER times.
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
/* An idle node counts as one that uses this share of one CPU: it costs nobody anything, and would
 * have its probes taken away for a handful of hits. */
#define BUDGET_MIN_BUSY 0.1

struct budget_source {
	bool sampled, dropped; /* dropped: will not come back */

	/* In the round under way: 0 = not in it. */
	double window_ns;
	uint64_t began_ns; /* 0 = not yet */
	bool done, ended;  /* to be off; is off */

	/* ns of CPU a second: sampled, while it is on; else on average. */
	double rate;
	/* Since the last step, or in this window. */
	double cost_ns, on_ns;
	double unspent_on_ns; /* part of on_ns that budget_pass() has not seen */
	double busy_ns;	      /* CPU that the node used, with what probes took, in on_ns */
	double chunk_cost_ns, chunk_on_ns, peak; /* the dearest few ms in it */
	double tail_ns; /* cost after the end of its last window, and before it was on */
	bool was_hit;	/* in its last window */

	unsigned int starved; /* measured in a row as too dear even for samples */
	unsigned int relaxed; /* rounds in a row in which it might have been on all the time */
};

struct budget {
	double percent;	   /* of the node's own CPU time */
	double most_per_s; /* ns of CPU a second, whatever the node uses; 0 = no such limit */
	unsigned int nr;
	struct budget_source sources[BUDGET_MAX_SOURCES];
	double least_window_ns;
	double own_per_s;  /* ns of CPU a second that the node uses for itself, smoothed */
	double busy_per_s; /* the same with what probes take, of the last moments */
	double credit_ns;  /* negative = debt */
	double tail_ns;	   /* for so long probes are hit after a window, on average */
	double period_ns;  /* since sources that are on all the time were judged */

	bool in_round, on_credit;
	double round_cost_ns;  /* what the next one will cost at least */
	uint64_t round_end_ns; /* of the last one */
	uint64_t due_ns;       /* of the next, which is paid; 0 = is not */
	uint64_t random;
};

/* percent > 0; nr <= BUDGET_MAX_SOURCES, more are left out.  All are on.  Shorter windows than
 * least_window_ns are not worth placing probes for; own_per_s: as known from before. */
void budget_init(struct budget *b, double percent, unsigned int nr, double least_window_ns,
		 double own_per_s, uint64_t random);

/* Time has passed: CPU that the node used for itself in it, and what the probes took of it. */
void budget_pass(struct budget *b, double wall_ns, double own_ns, double spent_ns);
/* The part of that which a source took, and for how long it was on, if it was. */
void budget_hits(struct budget *b, unsigned int i, double cost_ns, double on_ns);

/* After those: what is due at now_ns (CLOCK_MONOTONIC).  Then budget_wants() is what should be. */
void budget_step(struct budget *b, uint64_t now_ns);
bool budget_wants(const struct budget *b, unsigned int i);
/* For so long what is on may be left to itself. */
uint64_t budget_check_ns(const struct budget *b);
/* When a window ends, or a round begins that is paid; limit_ns if neither is before that. */
uint64_t budget_next(const struct budget *b, uint64_t now_ns, uint64_t limit_ns);
/* A source that is sampled was put on, or taken off after its hits were counted (or could not be
 * put on). */
void budget_began(struct budget *b, unsigned int i, uint64_t now_ns);
void budget_ended(struct budget *b, unsigned int i);
/* It cannot be put on any more: counts as dropped. */
void budget_drop(struct budget *b, unsigned int i);

/*
 * What probes took of a span of time, in percent of what `percent` is of: the CPU that the node
 * used for itself.  Of one core (*of_core; NULL ok) if it used less than BUDGET_MIN_BUSY of one: it
 * would show a large share of next to nothing.  NAN = no time.
 */
double budget_share(double spent_ns, double own_ns, double wall_ns, bool *of_core);

/* ns of CPU a second that probes may take. */
double budget_allowed(const struct budget *b);

#endif
