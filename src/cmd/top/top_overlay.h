/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` shows on top of a panel: the help, a process, a flame graph as a tree.  Only one is
 * open at a time.
 */
#ifndef EBEAM_CMD_TOP_OVERLAY_H
#define EBEAM_CMD_TOP_OVERLAY_H

#include "cmd/top/top.h"
#include "view/top/pager.h"
#include "view/top/tree.h"

enum top_overlay_kind {
	TOP_OVERLAY_HELP,
	TOP_OVERLAY_ROW,   /* all of the selected process, as `ebeam inspect` shows it */
	TOP_OVERLAY_FLAME, /* of the process of the row; without one, of the node */
};

enum top_overlay_result { TOP_OVERLAY_OPEN, TOP_OVERLAY_CLOSED };

struct top_overlay;

/* `row` is the selected row of the panel shown, NULL = none.  Fails, with a text for the user, if
 * there is nothing to show. */
int top_overlay_open(struct top_overlay **out, enum top_overlay_kind kind, struct top *t,
		     const void *row, struct error *err);
void top_overlay_close(struct top_overlay *o); /* NULL ok */
/* To be called after each step. */
void top_overlay_refresh(struct top_overlay *o, struct top *t);
enum top_overlay_result top_overlay_key(struct top_overlay *o, const struct terminal_key *key,
					bool *handled);

/* The pager or the tree to draw, the other is NULL.  NULL ok. */
struct pager *top_overlay_pager(const struct top_overlay *o);
struct tree *top_overlay_tree(const struct top_overlay *o);
const char *top_overlay_title(const struct top_overlay *o);
/* A message to show after opening, such as the file that was written; "" = none. */
const char *top_overlay_message(const struct top_overlay *o);

#endif
