/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node that a command looks into: -p NODE, or --core FILE [--exe BEAM]; and what the JSON
 * envelope says of it.
 */
#ifndef EBEAM_CMD_TARGET_H
#define EBEAM_CMD_TARGET_H

#include "base/jsonw.h"
#include "beam/node.h"
#include "cmd/command.h"

/* Opens the node that the options name; beam_node_close() is the caller's. */
int target_open(struct beam_node **out, const struct command_context *ctx, struct error *err);

/* Tables that a command cannot do without: ERROR_KIND_UNSUPPORTED if the anchor is 0, with
 * its name and what cannot be answered without it. */
int target_need(const struct beam_node *n, raddr anchor, const char *table, struct error *err);

/*
 * The envelope of a streamed answer: everything up to "data", the caller's one value with key
 * "data", then warnings and counters.
 *   target_json_begin(&w, ctx, node); jsonw_begin_rows(&w, "data"); ...; jsonw_end_array(&w);
 *   rc = target_json_end(&w, warnings, nr, counters, nr, err);
 */
struct target_counter {
	const char *name;
	uint64_t value;
};
void target_json_begin(struct jsonw *w, const struct command_context *ctx, struct beam_node *n);
int target_json_end(struct jsonw *w, const char *const *warnings, size_t nr_warnings,
		    const struct target_counter *counters, size_t nr_counters, struct error *err);

#endif
