/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers of `ebeam mem` that have a file of their own. */
#ifndef EBEAM_CMD_MEM_H
#define EBEAM_CMD_MEM_H

#include "cmd/command/command.h"

/* --persistent-terms */
int mem_show_persistent(struct command_context *ctx, struct error *err);

#endif
