/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a node as `top` reads them: again and again, a million of them if need be, each
 * row kept once and updated in place (model/process/process_table.h).
 */
#ifndef EBEAM_CMD_TOP_PROCESSES_H
#define EBEAM_CMD_TOP_PROCESSES_H

#include "cmd/inspect/process_source.h"
#include "model/process/process_table.h"

struct top_processes {
	struct process_source source;
	struct process_table table;
	struct process_totals totals; /* of the last reading */
	struct process_totals sums;   /* of all */
	char warning[512];	      /* "" = all is there */
	uint64_t renewed_ns;	      /* when names were last forgotten */
	bool is_open;
	/* Called every few milliseconds of a long reading: keys are answered meanwhile.  Not 0
	 * ends it. */
	int (*yield)(void *arg, struct error *err);
	void *arg;
	struct error *err; /* of the reading that goes on */
	uint64_t yielded_ns;
};

int top_processes_open(struct top_processes *p, struct beam_node *n, struct error *err);
void top_processes_close(struct top_processes *p);
/* Of the readings to come: bit set of enum process_field. */
void top_processes_want(struct top_processes *p, uint64_t fields);
/* Rates are against the reading before, unless that was before since_ns.  0; what yield() returned;
 * negative errno (-ESRCH: the node has exited). */
int top_processes_read(struct top_processes *p, uint64_t since_ns, struct error *err);

#endif
