/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam diff A B`: makes snapshots of two captures, and exports their difference. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/record/capture_load.h"
#include "cmd/run/capture_input.h"

/* One of the two captures. */
struct side {
	struct capture_profile loaded;
	struct snapshot *snapshot;
};

static int side_load(struct side *side, const char *path, const struct weight_mode *mode,
		     struct error *err)
{
	int rc = capture_load(&side->loaded, path, mode, err);

	if (rc == 0)
		capture_input_warn(path, side->loaded.damage, "compared");
	return rc;
}

static const char *what_of(const struct side *side)
{
	return side->loaded.mode ? side->loaded.mode->title : "samples of the CPU";
}

/* Captures of different modes cannot be compared, as their units differ. */
static int check_modes(const struct side *a, const struct side *b, char **paths, struct error *err)
{
	if (a->loaded.mode == b->loaded.mode)
		return 0;
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "'%s' holds %s, '%s' holds %s: only captures of one mode can be compared",
			 paths[0], what_of(a), paths[1], what_of(b));
}

static int load_both(struct side *a, struct side *b, const struct command_context *ctx,
		     const struct render *render, struct error *err)
{
	const struct weight_mode *mode = NULL;
	struct snapshot_options options;
	int rc = options_mode(&ctx->opt, &mode, err);

	rc = rc ? rc : side_load(a, ctx->args[0], mode, err);
	rc = rc ? rc : side_load(b, ctx->args[1], mode, err);
	rc = rc ? rc : check_modes(a, b, ctx->args, err);
	options = render_snapshot_options(render, &ctx->opt, a->loaded.mode);
	rc = rc ? rc : profile_snapshot(a->loaded.profile, &options, &a->snapshot, err);
	return rc ? rc : profile_snapshot(b->loaded.profile, &options, &b->snapshot, err);
}

static void side_close(struct side *side)
{
	snapshot_close(side->snapshot);
	capture_unload(&side->loaded);
}

/* The start of the output's name, in the directory of B: "dir/A-to-B". */
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
	struct render render;
	char *stem = NULL;
	int rc;

	rc = render_choose(&render, ctx->command, &ctx->opt, err);
	if (rc)
		return rc;
	rc = load_both(&a, &b, ctx, &render, err);
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
