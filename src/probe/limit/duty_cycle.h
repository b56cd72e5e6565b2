/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which groups of probes are enabled when: measures what they cost (hit_account.h), asks the token
 * bucket which may be (budget.h), attaches, enables, disables and detaches them, and reports the
 * sampling windows of each.  Knows kernel, clock and node only through the operations that it is
 * given.  For one thread.
 *
 * All that is to go is disabled first, and reported with the time of that; only then the probes are
 * detached, which takes the kernel a while, in which they are still hit.
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
	/* Lets others run for so many ns; false = it is to end. */
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
	/* Takes a change, without `kinds`, of a group or of none. */
	void (*report)(void *arg, unsigned int group, struct controller_change *change);
};

/* A group of probes. */
struct duty_cycle_group {
	bool on;
	bool leaving;	 /* off, and perf events of it are still in the kernel */
	uint64_t off_ns; /* the last time */
	/* While it is on. */
	uint64_t window_ns;
	double window_own, window_work;
	/* Without the open window. */
	double own_on_total, work_on_total;
	uint64_t on_total;
	double spent_ns; /* of the node, its part of account.total.spent_ns */
	bool was_off, reported_dropped;
	unsigned int failures; /* to attach it, in a row */
	uint64_t retry_ns;
	bool failed; /* for good */
};

struct duty_cycle {
	const struct duty_cycle_ops *ops;
	void *arg;
	struct budget budget;
	struct hit_account account;
	struct duty_cycle_group groups[BUDGET_MAX_SOURCES];
	unsigned int nr, nr_leaving;
	bool by_perf, has_work;
	double hits_per_s, hit_ns; /* 0 = no such limit; what one costs of late */
	uint64_t priced_hits;	   /* of the total, when that was found out */
	double priced_ns;
	uint64_t start_ns, taken_ns, reported_work_ns, logged_ns;
	uint64_t log_hits; /* then */
	double log_spent, log_own;
};

struct duty_cycle_config {
	unsigned int nr;  /* groups */
	bool by_perf;	  /* each probe is a perf event of its own */
	bool has_work;	  /* the node's own count of its work can be read */
	bool long_runs;	  /* programs walk stacks, or copy terms */
	double percent;	  /* of the node's own CPU; 100 or more = no limit, only measures */
	double own_per_s; /* ns of CPU a second, as known from before */
	/* Hits of all groups together, 0 = as many as there are; and what one costs, until some
	 * were measured. */
	double hits_per_s, hit_ns;
};

/* Borrows ops and arg. */
void duty_cycle_init(struct duty_cycle *d, const struct duty_cycle_ops *ops, void *arg,
		     const struct duty_cycle_config *config);
/* Puts all groups on, one after the other, and those off again at once that cost too much; errors
 * of attach(). */
int duty_cycle_begin(struct duty_cycle *d, struct error *err);
/* What is due now; then again at duty_cycle_next(). */
void duty_cycle_step(struct duty_cycle *d);
uint64_t duty_cycle_next(const struct duty_cycle *d);
/* The last word of each that was ever off; groups stay as they are. */
void duty_cycle_end(struct duty_cycle *d);

#endif
