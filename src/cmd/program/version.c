/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam version` and `ebeam --version`. */
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/program/help.h"

void version_write(FILE *f)
{
	fprintf(f, "ebeam %s\n", EBEAM_VERSION);
}

int cmd_version(struct command_context *ctx, struct error *err)
{
	if (ctx->opt.json)
		return envelope_write(ctx->out, envelope_new("version", NULL, json_object()), err);
	version_write(ctx->out);
	return 0;
}
