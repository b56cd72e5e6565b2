/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of `ebeam doctor`.  Each check adds a row; doctor.c computes the exit code from all
 * rows.
 */
#ifndef EBEAM_CMD_DOCTOR_H
#define EBEAM_CMD_DOCTOR_H

#include "base/vec.h"
#include "beam/node/node.h"
#include "cmd/command/command.h"
#include "probe/kernel/features.h"
#include "view/host/doctor_view.h"

struct doctor_rows {
	VEC(struct doctor_row) v;
};

/* Adds a row in the state DOCTOR_AVAILABLE; the pointer is valid until the next call. */
struct doctor_row *doctor_add(struct doctor_rows *rows, const char *group, const char *feature);
/* Sets row->seen, what was found. */
void doctor_see(struct doctor_row *row, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the state to degraded or missing, with the reason; fix may be NULL. */
void doctor_lack(struct doctor_row *row, enum doctor_state state, const char *fix, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

struct doctor_tried;

/* What commands need of the host. */
struct doctor_host {
	struct probe_features features;
	struct error no_breakpoints; /* code 0: there are some */
	VEC(struct doctor_tried *) tried;
};

/* The fix for an error of perf events (privileges, limits, filters); NULL for other errors. */
const char *doctor_error_fix(const struct error *err);
/* The fix for a missing feature; NULL = there is none. */
const char *doctor_feature_fix(const struct probe_feature *f);
/* doctor_host.c: kernel, privileges and limits. */
void doctor_check_host(struct doctor_rows *rows, struct doctor_host *host,
		       const struct options *opt);
/* doctor_commands.c: commands that load BPF programs; for a node, or (NULL) for one of the newest
 * release.  `unreadable`: why no node can be read, so that no command works; code 0: nodes can. */
void doctor_check_commands(struct doctor_rows *rows, struct doctor_host *host,
			   const struct options *opt, struct beam_node *node,
			   const struct error *unreadable);
void doctor_host_free(struct doctor_host *host);
/* Debug registers free on all *nr_threads schedulers of a node; *err = why not all are. */
unsigned int doctor_free_breakpoints(const struct beam_node *node, unsigned int *nr_threads,
				     struct error *err);
/* doctor_node.c: everything about one opened node. */
void doctor_check_node(struct doctor_rows *rows, struct beam_node *node, bool force);

#endif
