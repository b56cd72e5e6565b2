/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam mem --carriers` and `--tags` share: the node, its allocators, and what of their
 * carriers was not read. */
#ifndef EBEAM_CMD_MEM_BLOCKS_H
#define EBEAM_CMD_MEM_BLOCKS_H

#include "beam/vm/carriers.h"
#include "cmd/command/command.h"
#include "cmd/inspect/mem_holders.h"
#include "cmd/run/target.h"

struct mem_blocks {
	struct command_context *ctx;
	struct beam_node *node;
	struct allocators allocators;
	struct carriers_count count;
	const struct mem_holders *holders; /* --carriers; else NULL */
};

/* Opens the node and reads its allocators; on failure nothing needs to be closed. */
int mem_blocks_open(struct mem_blocks *m, struct command_context *ctx, struct error *err);
/* Returns rc as watch_close() does. */
int mem_blocks_close(struct mem_blocks *m, int rc, struct error *err);
/* Lines on stderr about what is missing, after the text. */
void mem_blocks_warn(const struct mem_blocks *m);
/* The end of the JSON answer, after "data". */
int mem_blocks_end_json(const struct mem_blocks *m, struct jsonw *w, struct error *err);

#endif
