/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What doctor finds: rows.  Whoever checks something adds a row; which exit code follows from them
 * is decided in one place (doctor.c).
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

/* Adds a row that is available; the caller changes what is different.  Valid until the next. */
struct doctor_row *doctor_add(struct doctor_rows *rows, const char *group, const char *feature);
/* What was found. */
void doctor_see(struct doctor_row *row, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* It is degraded or missing, and why; fix may be NULL. */
void doctor_lack(struct doctor_row *row, enum doctor_state state, const char *fix, const char *fmt,
		 ...) __attribute__((format(printf, 4, 5)));

struct doctor_tried;

/* What commands depend on beside nodes. */
struct doctor_host {
	struct probe_features features;
	struct error no_breakpoints; /* code 0: there are some */
	VEC(struct doctor_tried *) tried;
};

/* What to do about an error of perf events: of privileges, limits and filters; NULL of others. */
const char *doctor_error_fix(const struct error *err);
/* What to do about a feature that is missing; NULL = nothing can be done. */
const char *doctor_feature_fix(const struct probe_feature *f);
/* doctor_host.c: kernel, privileges and limits. */
void doctor_check_host(struct doctor_rows *rows, struct doctor_host *host,
		       const struct options *opt);
/* doctor_commands.c: what loads BPF programs; of a node, or without (NULL) as of the newest
 * release.  `unreadable`: why no node can be looked into, and so nothing works; code 0: one can. */
void doctor_check_commands(struct doctor_rows *rows, struct doctor_host *host,
			   const struct options *opt, struct beam_node *node,
			   const struct error *unreadable);
void doctor_host_free(struct doctor_host *host);
/* Debug registers that are free on all schedulers of a node, on how many, and why not all. */
unsigned int doctor_free_breakpoints(const struct beam_node *node, unsigned int *nr_threads,
				     struct error *err);
/* doctor_node.c: everything about one opened node. */
void doctor_check_node(struct doctor_rows *rows, struct beam_node *node, bool force);

#endif
