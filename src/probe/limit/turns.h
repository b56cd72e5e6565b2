/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who of the groups of probes is on when: measures what they take (tally.h), asks the budget what
 * may be (budget.h), brings it about, and tells from when to when each was watched.  Knows neither
 * kernel nor clock nor node but through what it is given.  For one thread.
 *
 * What is not to be on any more is first silenced, all of it, and that is told with the moment in
 * which it was; only then the probes are taken away, which takes the kernel a while, in which they
 * are still hit.
 */
#ifndef EBEAM_PROBE_TURNS_H
#define EBEAM_PROBE_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/limit/budget.h"
#include "probe/limit/keeper_changes.h"
#include "probe/limit/tally.h"

#define TURNS_NO_GROUP UINT32_MAX

struct turns_ops {
	uint64_t (*now)(void *arg); /* ns */
	/* Lets others run for so many ns; false = it is to end. */
	bool (*pause)(void *arg, uint64_t ns);
	/* As in attach.h. */
	int (*place)(void *arg, unsigned int group, struct error *err);
	void (*listen)(void *arg, unsigned int group);
	void (*mute)(void *arg, unsigned int group);
	void (*off)(void *arg, unsigned int group);
	bool (*is_closing)(void *arg);
	bool (*hits)(void *arg, unsigned int group, struct attach_hits *out);
	/* As in meter.h. */
	void (*clocks)(void *arg, struct tally_clocks *out);
	uint64_t (*node_ns)(void *arg);
	double (*work)(void *arg);
	/* Takes a change, without `kinds`, of a group or of none. */
	void (*tell)(void *arg, unsigned int group, struct keeper_change *change);
};

/* A group of probes. */
struct turn {
	bool on;
	bool leaving;	 /* off, and perf events of it are still in the kernel */
	uint64_t off_ns; /* the last time */
	/* While it is on. */
	uint64_t window_ns;
	double window_own, window_work;
	/* Without the open window. */
	double own_on_total, work_on_total;
	uint64_t on_total;
	double spent_ns; /* of the node, its part of tally.total.spent_ns */
	bool was_off, told_dropped;
	unsigned int failures; /* to place it, in a row */
	uint64_t retry_ns;
	bool failed; /* for good */
};

struct turns {
	const struct turns_ops *ops;
	void *arg;
	struct budget budget;
	struct tally tally;
	struct turn units[BUDGET_MAX_SOURCES];
	unsigned int nr, nr_leaving;
	bool by_perf, has_work;
	double hits_per_s, hit_ns; /* 0 = no such limit; what one costs of late */
	uint64_t priced_hits;	   /* of the total, when that was found out */
	double priced_ns;
	uint64_t start_ns, taken_ns, told_work_ns, told_log_ns;
	uint64_t log_hits; /* then */
	double log_spent, log_own;
};

struct turns_config {
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
void turns_init(struct turns *t, const struct turns_ops *ops, void *arg,
		const struct turns_config *config);
/* Puts all groups on, one after the other, and those off again at once that cost too much; errors
 * of place(). */
int turns_begin(struct turns *t, struct error *err);
/* What is due now; then again at turns_next(). */
void turns_step(struct turns *t);
uint64_t turns_next(const struct turns *t);
/* The last word of each that was ever off; groups stay as they are. */
void turns_end(struct turns *t);

#endif
