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
	struct jsonw w = JSONW(ctx->out);

	if (ctx->opt.json) {
		envelope_begin(&w, ctx->command->name, NULL);
		jsonw_begin_object(&w, "data");
		jsonw_end_object(&w);
		return envelope_end(&w, NULL, 0, NULL, 0, err);
	}
	version_write(ctx->out);
	return 0;
}
