/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam diff A B`: two captures as snapshots, their difference, an exporter. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "cmd/command.h"
#include "cmd/render.h"

/* One of the two captures. */
struct side {
	struct loaded loaded;
	struct snapshot *snapshot;
};

static int side_open(struct side *side, const char *path, const struct snapshot_options *options,
		     struct error *err)
{
	int rc;

	rc = render_load(&side->loaded, path, err);
	if (rc)
		return rc;
	if (side->loaded.damage[0])
		log_warn("ebeam: '%s' is damaged: %s. What stands before that is compared", path,
			 side->loaded.damage);
	return profile_snapshot(side->loaded.profile, options, &side->snapshot, err);
}

static void side_close(struct side *side)
{
	snapshot_close(side->snapshot);
	render_unload(&side->loaded);
}

/* Beside B: "dir/A-to-B". */
static char *stem_of(const char *a, const char *b)
{
	const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
	const char *base_a = slash_a ? slash_a + 1 : a, *base_b = slash_b ? slash_b + 1 : b;

	return xasprintf("%.*s%.*s-to-%.*s", (int)(base_b - b), b, (int)render_bare_len(base_a),
			 base_a, (int)render_bare_len(base_b), base_b);
}

int cmd_diff(struct command_context *ctx, struct error *err)
{
	struct side a = {0}, b = {0};
	struct diff *diff = NULL;
	struct snapshot_options options;
	struct render render;
	char *stem = NULL;
	int rc;

	rc = render_choose(&render, ctx->command, &ctx->opt, err);
	if (rc)
		return rc;
	options = render_snapshot_options(&render, &ctx->opt);
	rc = side_open(&a, ctx->args[0], &options, err);
	if (!rc)
		rc = side_open(&b, ctx->args[1], &options, err);
	if (!rc)
		rc = diff_open(&diff, a.snapshot, b.snapshot, err);
	if (rc)
		goto done;
	stem = stem_of(ctx->args[0], ctx->args[1]);
	render_name(&render, stem);
	rc = render_write(&render, &ctx->opt, NULL, diff, ctx->out, err);
	if (!rc && (a.loaded.damage[0] || b.loaded.damage[0]))
		rc = ERROR_KIND_PARTIAL;
done:
	free(stem);
	diff_close(diff);
	side_close(&a);
	side_close(&b);
	render_free(&render);
	return rc;
}
