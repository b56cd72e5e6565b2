/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of --dry-run of commands with events: probe sites, and what a hit costs. */
#ifndef EBEAM_VIEW_PROBES_VIEW_H
#define EBEAM_VIEW_PROBES_VIEW_H

#include "view/table/table.h"

struct probes_row {
	const char *symbol;
	bool is_instruction; /* not a function: the symbol describes the instruction */
	const char *at;	     /* "call", "return", "instruction" */
	uint32_t offset;     /* bytes from the function's start to the probe */
	const char *path;    /* NULL = the node's executable */
	uint64_t file_offset;
	const char *instruction; /* "" = not known */
	bool emulated;
	const char *stepped_because; /* why it is single-stepped; "" = it is not, or not known */
	uint32_t trap_ns;	     /* cost of a hit without its program; UINT32_MAX = not known */
	const char *program;
	uint32_t group;		  /* from 1; probes of a group are enabled together */
	const char *const *kinds; /* names of events */
	size_t nr_kinds;
};

struct probes_answer {
	struct probes_row *rows;
	unsigned int nr, nr_links, nr_groups;
	double max_overhead; /* percent */
	const char *no_cost; /* why trap_ns is not known; NULL = it is */
};

int probes_view_write(FILE *out, const struct probes_answer *a, bool color, struct error *err);
/* Writes the member "data" of the JSON answer. */
void probes_view_json(struct jsonw *w, const struct probes_answer *a);

#endif
