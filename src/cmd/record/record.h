/* SPDX-License-Identifier: BSD-2-Clause */
/* The modes of `ebeam record` that weigh events instead of taking samples. */
#ifndef EBEAM_CMD_RECORD_H
#define EBEAM_CMD_RECORD_H

#include "cmd/command/command.h"
#include "cmd/output/render.h"
#include "model/profile/event_weights.h"

/* To be called after render_choose().  0, negative errno, or a positive exit code. */
int record_events(struct command_context *ctx, struct render *render,
		  const struct weight_mode *mode, struct error *err);

#endif
