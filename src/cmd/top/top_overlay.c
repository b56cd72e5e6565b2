/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_overlay.h. */
#include "cmd/top/top_overlay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cmd/inspect/inspect.h"
#include "cmd/output/render.h"
#include "cmd/top/top_samples.h"
#include "view/top/top_keys.h"

struct top_overlay {
	enum top_overlay_kind kind;
	struct pager *pager;
	struct tree *tree;
	struct snapshot *snapshot;	/* shown by the tree */
	char process[PROCESS_PID_SIZE]; /* "" = the node */
	char title[128], message[1100];
	bool gone; /* the process has exited: its last text stays */
};

/* ---- a process ---------------------------------------------------------------------------- */

/* The text of `ebeam inspect` of a process, malloc'ed; NULL with *err if it cannot be read. */
static char *inspect_text_of(struct top *t, const char *pid, size_t *len, struct error *err)
{
	struct command_context ctx = *t->ctx;
	char *text = NULL;
	int rc;

	ctx.out = open_memstream(&text, len);
	if (!ctx.out) {
		error_set(err, ERROR_KIND_FAILED, -errno, "no memory for the text of %s", pid);
		return NULL;
	}
	memset(&ctx.opt, 0, sizeof(ctx.opt));
	ctx.opt.color = COLOR_NEVER;
	rc = inspect_process(&ctx, t->node, pid, err);
	fclose(ctx.out);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static int show_process(struct top_overlay *o, struct top *t, struct error *err)
{
	size_t len;
	char *text = inspect_text_of(t, o->process, &len, err);

	if (!text)
		return err->code ? err->code : -ESRCH;
	pager_set_text(o->pager, text, len);
	free(text);
	return 0;
}

static int open_process(struct top_overlay *o, struct top *t, struct error *err)
{
	if (!t->node)
		return error_set(err, ERROR_KIND_FAILED, -ENOTSUP,
				 "a capture has no details of a process, only its samples");
	if (!o->process[0])
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "Enter shows a process: select one in the panel of processes");
	snprintf(o->title, sizeof(o->title), "Process %s", o->process);
	pager_open(&o->pager, true);
	return show_process(o, t, err);
}

/* ---- a flame graph ------------------------------------------------------------------------ */

static int write_html(FILE *f, const void *snapshot, struct error *err)
{
	return exporter_find("html")->write(f, snapshot, err);
}

static void save_html(struct top_overlay *o, const struct top_frame *f)
{
	struct error err = {0};
	char *path = render_save(f->node.name, f->epoch_ns, exporter_find("html")->suffix,
				 write_html, o->snapshot, &err);

	if (path)
		snprintf(o->message, sizeof(o->message), "flame graph: %s", path);
	else
		snprintf(o->message, sizeof(o->message), "no HTML file: %s", err.msg);
	free(path);
}

static int open_flame(struct top_overlay *o, struct top *t, struct error *err)
{
	struct snapshot_options options = {
		.by = o->process[0] ? SNAPSHOT_BY_NONE : SNAPSHOT_BY_NAME,
		.only_process = o->process[0] ? o->process : NULL,
		.lines = true,
	};
	int rc = t->samples ? top_samples_take(t->samples, &options, &o->snapshot, err)
			    : error_set(err, ERROR_KIND_FAILED, -ENODATA, "%s", t->samples_error);

	if (rc)
		return rc;
	if (!o->snapshot->samples)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "no samples of %s in the last seconds: it used no CPU",
				 o->process[0] ? o->process : "the node");
	snprintf(o->title, sizeof(o->title), "Calls of %s, the last %.0f s",
		 o->process[0] ? o->process : "the node", t->frame.window_s);
	tree_open(&o->tree);
	tree_set(o->tree, o->snapshot);
	save_html(o, &t->frame); /* if it fails, the tree is shown all the same */
	return 0;
}

/* ---- all of them -------------------------------------------------------------------------- */

static void open_help(struct top_overlay *o)
{
	struct strbuf text = STRBUF_INIT;

	snprintf(o->title, sizeof(o->title), "Keys");
	pager_open(&o->pager, true);
	top_keys_text(&text);
	pager_set_text(o->pager, text.buf, text.len);
	strbuf_free(&text);
}

int top_overlay_open(struct top_overlay **out, enum top_overlay_kind kind, struct top *t,
		     const void *row, struct error *err)
{
	struct top_overlay *o = xcalloc(1, sizeof(*o));
	int rc = 0;

	o->kind = kind;
	if (row && top_panels[t->shown].process)
		top_panels[t->shown].process(t, row, o->process);
	if (kind == TOP_OVERLAY_HELP)
		open_help(o);
	else if (kind == TOP_OVERLAY_ROW)
		rc = open_process(o, t, err);
	else
		rc = open_flame(o, t, err);
	if (rc) {
		top_overlay_close(o);
		o = NULL;
	}
	*out = o;
	return rc;
}

void top_overlay_close(struct top_overlay *o)
{
	if (!o)
		return;
	pager_close(o->pager);
	tree_close(o->tree);
	snapshot_close(o->snapshot);
	free(o);
}

void top_overlay_refresh(struct top_overlay *o, struct top *t)
{
	struct error err = {0};

	if (o->kind != TOP_OVERLAY_ROW || o->gone || show_process(o, t, &err) == 0 ||
	    err.kind != ERROR_KIND_NO_NODE) /* not readable at the moment: keep the text */
		return;
	o->gone = true;
	snprintf(o->title, sizeof(o->title), "Process %s, which has exited; as it was last",
		 o->process);
}

enum top_overlay_result top_overlay_key(struct top_overlay *o, const struct terminal_key *key,
					bool *handled)
{
	enum pager_result in_text;
	enum tree_result in_tree;

	if (o->pager) {
		in_text = pager_key(o->pager, key);
		*handled = in_text != PAGER_IGNORED;
		return in_text == PAGER_CLOSE ? TOP_OVERLAY_CLOSED : TOP_OVERLAY_OPEN;
	}
	in_tree = tree_key(o->tree, key);
	*handled = in_tree != TREE_IGNORED;
	return in_tree == TREE_CLOSE ? TOP_OVERLAY_CLOSED : TOP_OVERLAY_OPEN;
}

struct pager *top_overlay_pager(const struct top_overlay *o)
{
	return o ? o->pager : NULL;
}

struct tree *top_overlay_tree(const struct top_overlay *o)
{
	return o ? o->tree : NULL;
}

const char *top_overlay_title(const struct top_overlay *o)
{
	return o ? o->title : NULL;
}

const char *top_overlay_message(const struct top_overlay *o)
{
	return o->message;
}
