/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node that a command looks into: -p NODE, or --core FILE [--exe BEAM]; and what the JSON
 * envelope says of it.
 */
#ifndef EBEAM_CMD_TARGET_H
#define EBEAM_CMD_TARGET_H

#include "base/jsonw.h"
#include "beam/node/node.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"

/* How nodes are opened with these options: enum beam_open. */
unsigned int target_how(const struct options *opt);
/* Opens the node that the options name; target_close() is the caller's.  Of a core file a line on
 * stderr says so, and whether it is cut short; of a release that is not known how it is read. */
int target_open(struct beam_node **out, const struct command_context *ctx, struct error *err);
/* Returns rc.  If the node has exited, an error of reading or attaching to it (rc = -ESRCH) becomes
 * "the node has exited": what could not be read of a process that is gone says nothing else. */
int target_failed(const struct beam_node *n, int rc, struct error *err);
/* Closes it (NULL ok).  Returns rc, or if all went well: exit code 7 if the core file is cut short;
 * an error if the process ended meanwhile, as what was read may have been of another one with the
 * same number. */
int target_close(struct beam_node *n, int rc, struct error *err);

/* For doctor, which also takes nodes that are not supported: the core file of opt->core. */
int target_open_core(struct beam_node **out, const struct options *opt, struct error *err);
/* "by DWARF, untested release: ...", and what that means; NULL if release and build are known. */
enum { TARGET_UNTESTED_SIZE = 256 };
const char *target_untested(const struct beam_node *n, char *buf, size_t size);
/* Options that make no sense together: ERROR_KIND_USAGE. */
int target_check_options(const struct options *opt, struct error *err);

/* Tables that a command cannot do without: ERROR_KIND_UNSUPPORTED if the anchor is 0, with
 * its name and what cannot be answered without it. */
int target_need(const struct beam_node *n, raddr anchor, const char *table, struct error *err);

/* envelope_begin() of a node that is open; envelope_end() ends it. */
void target_json_begin(struct jsonw *w, const struct command_context *ctx, struct beam_node *n);

#endif
