/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer of `ebeam proc`: spawn storms and restart loops, then processes by initial call, by
 * parent, by reason; names, lifetimes.  Numbers are estimates, if not all processes were seen.
 */
#ifndef EBEAM_VIEW_PROC_H
#define EBEAM_VIEW_PROC_H

#include "base/histogram.h"
#include "model/process/process_group.h"
#include "view/table/answer_view.h"

struct proc_row {
	const char *group; /* or the parent, in a row of parents */
	uint64_t spawned, exited, crashed;
	uint64_t living; /* UINT64_MAX = not known */
	double spawned_per_s;
	double mean_lifetime_ns, max_lifetime_ns; /* NAN = none ended */
	const char *last_crash;			  /* exit reason, not escaped; NULL = none */
	/* Set in rows of parents; see spawn_stats.h. */
	bool restart_loop, spawn_storm, piles_up;
};

struct proc_reason {
	const char *text; /* not escaped */
	bool crash;
	uint64_t exits;
	double exits_per_s;
};

struct proc_name {
	const char *name;
	uint64_t registered, unregistered;
	bool again; /* was registered more than once */
};

/* A number and its word in the line at the top: "~1,200 spawned". */
struct proc_count {
	const char *word, *estimate; /* estimate: n as text, "~" if scaled up */
	uint64_t n;
};

#define PROC_COUNTS 6

struct proc_answer {
	uint64_t span_ns;
	double share_seen; /* coverage of the event kind with the lowest one, 0 .. 1 */
	enum process_group_by by;
	struct proc_count counts[PROC_COUNTS];
	size_t nr_counts;
	struct proc_row all;
	uint64_t links, unlinks, registered, unregistered;
	uint64_t overflows, not_followed;
	uint64_t parent_unknown;	 /* processes that exited and whose parent is not known */
	struct proc_row *rows, *parents; /* most processes first */
	struct proc_reason *reasons;	 /* most exits first */
	struct proc_name *names;
	size_t nr_rows, nr_parents, nr_reasons, nr_names;
	const struct histogram *lifetimes;
	double lifetimes_scale;
};

/* The columns of struct proc_row. */
const struct table_column *proc_columns(enum process_group_by by);
extern const struct answer_view proc_view; /* of struct proc_answer */

#endif
