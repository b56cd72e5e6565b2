/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a node as `top` reads them: again and again, maybe a million.  Each has one row,
 * which is updated in place (model/process/process_table.h).
 */
#ifndef EBEAM_CMD_TOP_PROCESSES_H
#define EBEAM_CMD_TOP_PROCESSES_H

#include "cmd/inspect/process_source.h"
#include "model/process/process_table.h"

struct top_processes {
	struct process_source source;
	struct process_table table;
	struct process_totals totals; /* of the last reading */
	struct process_totals sums;   /* of all readings */
	char warning[512];	      /* of process_source_open(); "" = none */
	uint64_t renewed_ns;	      /* when process_source_renew() was last called */
	bool is_open;
	/* Called every few milliseconds of a long reading, so that keys can be handled.  Anything
	 * but 0 ends the reading. */
	int (*yield)(void *arg, struct error *err);
	void *arg;
	struct error *err; /* of the reading under way */
	uint64_t yielded_ns;
};

int top_processes_open(struct top_processes *p, struct beam_node *n, struct error *err);
void top_processes_close(struct top_processes *p);
/* Sets the fields that the next readings need: bit set of enum process_field. */
void top_processes_want(struct top_processes *p, uint64_t fields);
/* Reads all processes.  Rates are computed against the last reading, unless that is older than
 * since_ns.  0; what yield() returned; negative errno (-ESRCH: the node has exited). */
int top_processes_read(struct top_processes *p, uint64_t since_ns, struct error *err);

#endif
