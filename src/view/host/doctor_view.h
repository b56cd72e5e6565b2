/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam doctor`: rows about the host and its nodes. */
#ifndef EBEAM_VIEW_DOCTOR_VIEW_H
#define EBEAM_VIEW_DOCTOR_VIEW_H

#include "view/table/table.h"

enum doctor_state { DOCTOR_AVAILABLE, DOCTOR_DEGRADED, DOCTOR_MISSING };

struct doctor_row {
	const char *group;   /* "kernel", "privileges", "limits", "program", "node" */
	int os_pid;	     /* of the node, 0 = about the host */
	const char *feature; /* "BPF ring buffer" */
	const char *purpose; /* "samples reach ebeam"; NULL = the feature's name says it */
	enum doctor_state state;
	char seen[256];	 /* what was found: "6.1.0-13-amd64", "2" */
	char why[1024];	 /* what does not work because of this row; "" if available */
	const char *fix; /* NULL = none, or nothing to fix */
	int blocks;	 /* exit code with which `record` fails for this row; 0 = it works */
};

/* Texts: NULL = not known; borrowed. */
struct doctor_node {
	uint32_t os_pid;
	const char *name, *otp, *erts, *flavor, *layout, *untested;
	bool supported;
};

struct doctor_report {
	const struct doctor_row *rows; /* rows of a group follow each other */
	const struct doctor_node *nodes;
	size_t nr_rows, nr_nodes;
	int exit_code;	 /* with which `record` would end; 0 = it would work */
	bool is_core;	 /* the report is about a core file */
	bool none_found; /* no node runs on this host */
};

/* all: with several nodes, writes also rows of groups in which all is available. */
void doctor_view_write(FILE *f, const struct doctor_report *r, bool color, bool all);
/* Writes the member "data" of the JSON answer. */
void doctor_view_json(struct jsonw *w, const struct doctor_report *r);

#endif
