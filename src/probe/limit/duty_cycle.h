/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which groups of probes are enabled when: measures what they cost (hit_account.h), asks
 * the token bucket (budget.h), attaches, enables, disables and detaches them, and reports the
 * sampling windows of each.  Uses kernel, clock and node only through the operations that it is
 * given.  For one thread.
 *
 * Groups are disabled first, all of them, and reported with the time of that; only then they are
 * detached, for which the kernel takes a while in which the probes are still hit.
 */
#ifndef EBEAM_PROBE_DUTY_CYCLE_H
#define EBEAM_PROBE_DUTY_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/limit/budget.h"
#include "probe/limit/controller_changes.h"
#include "probe/limit/hit_account.h"

#define DUTY_CYCLE_NO_GROUP UINT32_MAX

struct duty_cycle_ops {
	uint64_t (*now)(void *arg); /* ns */
	/* Sleeps for `ns`, so that other threads run; false = the thread is to end. */
	bool (*pause)(void *arg, uint64_t ns);
	/* As in attach.h. */
	int (*attach)(void *arg, unsigned int group, struct error *err);
	void (*enable)(void *arg, unsigned int group);
	void (*disable)(void *arg, unsigned int group);
	void (*off)(void *arg, unsigned int group);
	bool (*is_closing)(void *arg);
	bool (*hits)(void *arg, unsigned int group, struct attach_hits *out);
	/* As in meter.h. */
	void (*clocks)(void *arg, struct hit_account_clocks *out);
	uint64_t (*node_ns)(void *arg);
	double (*work)(void *arg);
	/* Gets a change, in which `kinds` is not set, of a group or of none
	 * (DUTY_CYCLE_NO_GROUP). */
	void (*report)(void *arg, unsigned int group, struct controller_change *change);
};

/* A group of probes. */
struct duty_cycle_group {
	bool on;
	bool leaving;	 /* off, but the kernel has not removed its perf events yet */
	uint64_t off_ns; /* when it was last switched off */
	/* Beginning of the open window, if on. */
	uint64_t window_ns;
	double window_own, window_work;
	/* Sums over all windows but the open one. */
	double own_on_total, work_on_total;
	uint64_t on_total;
	double spent_ns; /* its part of account.total.spent_ns */
	bool was_off, reported_dropped;
	unsigned int failures; /* failed attaches in a row */
	uint64_t retry_ns;
	bool failed; /* given up */
};

struct duty_cycle {
	const struct duty_cycle_ops *ops;
	void *arg;
	struct budget budget;
	struct hit_account account;
	struct duty_cycle_group groups[BUDGET_MAX_SOURCES];
	unsigned int nr, nr_leaving;
	bool by_perf, has_work;
	double hits_per_s, hit_ns; /* limit, 0 = none; recent cost of a hit */
	uint64_t priced_hits;	   /* total hits when hit_ns was last updated */
	double priced_ns;
	/* taken_ns: when hits and clocks were last read */
	uint64_t start_ns, taken_ns, reported_work_ns, logged_ns;
	uint64_t log_hits; /* total hits when the cost was last logged */
	double log_spent, log_own;
};

struct duty_cycle_config {
	unsigned int nr;   /* groups */
	bool by_perf;	   /* each probe is a perf event of its own */
	bool has_work;	   /* the node's own count of its work can be read */
	bool long_runs;	   /* programs walk stacks, or copy terms */
	bool long_windows; /* of struct budget */
	double percent;	   /* of the node's own CPU; 100 or more = no limit, only measures */
	double own_per_s;  /* ns of CPU a second that the node used before there were probes */
	/* Most hits a second of all groups together, 0 = no limit; and ns that a hit is assumed to
	 * cost until some were measured. */
	double hits_per_s, hit_ns;
};

/* Borrows ops and arg. */
void duty_cycle_init(struct duty_cycle *d, const struct duty_cycle_ops *ops, void *arg,
		     const struct duty_cycle_config *config);
/* Attaches and enables all groups, one after the other, and disables those at once that cost too
 * much; errors of attach(). */
int duty_cycle_begin(struct duty_cycle *d, struct error *err);
/* Does what is due now; to be called again at duty_cycle_next(). */
void duty_cycle_step(struct duty_cycle *d);
uint64_t duty_cycle_next(const struct duty_cycle *d);
/* Reports the last state of each group that was ever off; groups stay as they are. */
void duty_cycle_end(struct duty_cycle *d);

#endif
