/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What doctor finds: rows.  Whoever checks something adds a row; how rows are shown, and which exit
 * code follows from them, is decided in one place (doctor.c).
 */
#ifndef EBEAM_CMD_DOCTOR_H
#define EBEAM_CMD_DOCTOR_H

#include "base/vec.h"
#include "beam/node.h"

enum doctor_state { DOCTOR_AVAILABLE, DOCTOR_DEGRADED, DOCTOR_MISSING };

struct doctor_row {
	const char *group;   /* "kernel", "privileges", "limits", "node" */
	int os_pid;	     /* of the node, 0 = about the host */
	const char *feature; /* "BPF ring buffer" */
	const char *purpose; /* "samples reach ebeam"; NULL = the name says it */
	enum doctor_state state;
	char seen[256];	 /* what was found: "6.1.0-13-amd64", "2" */
	char why[1024];	 /* what does not work without it, or because of it; "" if available */
	const char *fix; /* NULL = none, or nothing to fix */
	int blocks;	 /* exit code that `record` would have because of it; 0 = it works */
};

struct doctor_rows {
	VEC(struct doctor_row) v;
};

/* Adds a row that is available; the caller changes what is different.  Valid until the next. */
struct doctor_row *doctor_add(struct doctor_rows *rows, const char *group, const char *feature);

/* doctor_host.c: kernel, privileges and limits. */
void doctor_check_host(struct doctor_rows *rows);
/* doctor_node.c: everything about one opened node. */
void doctor_check_node(struct doctor_rows *rows, struct beam_node *node);

#endif
