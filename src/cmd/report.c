/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam report FILE`: capture -> events -> profile -> snapshot -> exporter.  Only the first step
 * differs from `ebeam record`, hence the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/render.h"
#include "cmd/summary.h"

/* The default output stands beside the capture. */
static char *stem_of(const char *path, const struct snapshot *s, uint64_t start_epoch_ns)
{
	const char *node = snapshot_meta(s, "node");

	if (strcmp(path, "-") == 0)
		return render_stem(node ? node : "capture", start_epoch_ns);
	return xstrndup(path, render_bare_len(path));
}

int cmd_report(struct command_context *ctx, struct error *err)
{
	const char *path = ctx->args[0];
	struct snapshot_options options;
	struct snapshot *snapshot = NULL;
	struct summary summary;
	const struct weight_mode *mode;
	struct loaded loaded = {0};
	struct render render;
	char *stem = NULL;
	int rc;

	rc = options_mode(&ctx->opt, &mode, err);
	rc = rc ? rc : render_choose(&render, ctx->command, &ctx->opt, err);
	if (rc)
		return rc;
	rc = render_load(&loaded, path, mode, err);
	if (rc)
		goto done;
	options = render_snapshot_options(&render, &ctx->opt, loaded.mode);
	rc = profile_snapshot(loaded.profile, &options, &snapshot, err);
	if (rc)
		goto done;
	if (loaded.damage[0])
		log_warn("ebeam: '%s' is damaged: %s. What stands before that is shown", path,
			 loaded.damage);
	stem = stem_of(path, snapshot, loaded.start_epoch_ns);
	render_name(&render, stem);
	rc = render_write(&render, &ctx->opt, snapshot, NULL, ctx->out, err);
	if (rc)
		goto done;
	summary_of_snapshot(&summary, snapshot);
	summary.path = strcmp(render.path, "-") != 0 ? render.path : NULL;
	summary_print(&summary);
	rc = summary_exit_code(&summary, ctx->opt.min_complete);
	if (loaded.damage[0])
		rc = ERROR_KIND_PARTIAL;
done:
	free(stem);
	snapshot_close(snapshot);
	render_unload(&loaded);
	render_free(&render);
	return rc;
}
