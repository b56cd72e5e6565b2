/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node that a command reads: -p NODE, or --core FILE [--exe BEAM]; and the members of the JSON
 * envelope about it.
 */
#ifndef EBEAM_CMD_TARGET_H
#define EBEAM_CMD_TARGET_H

#include "base/jsonw.h"
#include "beam/node/node.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"

/* The flags of enum beam_open that follow from the options. */
unsigned int target_how(const struct options *opt);
/* Opens the node that the options name; the caller calls target_close().  Lines on stderr warn of a
 * core file and what it lacks, of a stopped node, and of a release that was not tested. */
int target_open(struct beam_node **out, const struct command_context *ctx, struct error *err);
/* Returns rc.  If the node has exited, an error of reading or attaching to it (rc = -ESRCH) is
 * replaced by "the node has exited". */
int target_failed(const struct beam_node *n, int rc, struct error *err);
/* Closes the node (NULL ok).  Returns rc; if rc is 0: exit code 7 if the core file is truncated, an
 * error if the process ended meanwhile, as another process may have got its pid and been read. */
int target_close(struct beam_node *n, int rc, struct error *err);

/* Opens the core file opt->core for `ebeam doctor`, also if the node is not supported. */
int target_open_core(struct beam_node **out, const struct options *opt, struct error *err);
/* "by DWARF, untested release: ...", and what it means; NULL if release and build were tested. */
enum { TARGET_UNTESTED_SIZE = 256 };
const char *target_untested(const struct beam_node *n, char *buf, size_t size);
/* ERROR_KIND_USAGE: options that make no sense together. */
int target_check_options(const struct options *opt, struct error *err);

/* For a table that a command cannot do without: ERROR_KIND_UNSUPPORTED, with the name `table`, if
 * its anchor is 0. */
int target_need(const struct beam_node *n, raddr anchor, const char *table, struct error *err);

/* The head of the JSON envelope, for an open node; envelope_end() writes the end. */
void target_json_begin(struct jsonw *w, const struct command_context *ctx, struct beam_node *n);

#endif
