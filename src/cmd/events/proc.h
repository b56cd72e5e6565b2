/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam proc`: what its files share. */
#ifndef EBEAM_CMD_PROC_H
#define EBEAM_CMD_PROC_H

#include "cmd/run/event_run.h"
#include "model/stats/spawn_stats.h"

struct proc {
	struct command_context *ctx;
	struct event_run *run;
	struct spawn_stats stats;
	uint64_t kinds; /* that are watched */
	bool opened;
};

struct proc_row {
	const struct proc_view *view; /* for its numbers */
	uint32_t group;
	struct spawn_row n;
};

struct proc_view {
	const struct spawn_stats *stats;
	const struct process_groups *groups; /* of the rows that are written now */
	double seconds;
	unsigned int width;		/* of the terminal; 0 = none */
	double spawn_share, exit_share; /* parts that were seen */
	struct proc_row *rows, *parents;
	size_t nr_rows, nr_parents;
	const struct spawn_reason **reasons; /* most exits first */
	size_t nr_reasons;
};

/* -s and -c, before anything is watched. */
int proc_check(const struct options *o, enum process_group_by by, struct error *err);
/* One answer. */
int proc_show(struct proc *p, struct error *err);
int proc_json(struct proc *p, const struct proc_view *v, struct error *err);

/* Of all that were spawned some are not known to have exited if not all was seen. */
bool proc_living_known(const struct proc_view *v);

/* Indices of rows as -s and `limit` (0 = all) want them; malloc'ed. */
int proc_order(const struct proc *p, const struct proc_view *v, unsigned int limit, size_t **order,
	       size_t *nr, struct error *err);

/* Who starts so many at all, or so many that stay, that it must not be missed. */
bool proc_is_storm(const struct proc_view *v, const struct spawn_row *n);
bool proc_is_pile(const struct proc_view *v, const struct spawn_row *n);

#endif
