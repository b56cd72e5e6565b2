/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON object around the data of every command:
 *   {"schema", "tool", "version", "command", "node", "time", "data", "warnings", "counters"}
 * It is written as a stream: envelope_begin() writes all before "data", the caller writes the value
 * with that key, and envelope_end() the rest.
 *   envelope_begin(&w, "list", NULL); jsonw_begin_rows(&w, "data"); ...; jsonw_end_array(&w);
 *   rc = envelope_end(&w, warnings, nr, counters, nr, err);
 */
#ifndef EBEAM_CMD_ENVELOPE_H
#define EBEAM_CMD_ENVELOPE_H

#include "base/error.h"
#include "base/jsonw.h"

/* "", NULL and 0 = not known. */
struct envelope_node {
	int os_pid;
	const char *name, *otp, *erts, *flavor, *untested;
	uint64_t epoch_ns; /* for "time"; 0 = now */
};

struct envelope_counter {
	const char *name;
	uint64_t value;
};

/* of == NULL: the data is about no node, or about several. */
void envelope_begin(struct jsonw *w, const char *command, const struct envelope_node *of);
int envelope_end(struct jsonw *w, const char *const *warnings, size_t nr_warnings,
		 const struct envelope_counter *counters, size_t nr_counters, struct error *err);

/* The parts of envelope_begin(), for callers that write "node" between them. */
void envelope_head(struct jsonw *w, const char *command);
void envelope_time(struct jsonw *w, uint64_t epoch_ns); /* 0: now */

#endif
