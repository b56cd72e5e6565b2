/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole screen of `top`: the node and ebeam in one line, figures and schedulers (top_header.h),
 * the names of the panels, a panel or what was opened above it, and a line of keys, of what is
 * typed or of a message.
 *
 * What there is no room for is left out, from the bottom of a ranking: a screen of 40 x 10 still
 * has the load, memory and rows.  Only below 12 x 3 it says that the terminal is too small.
 */
#ifndef EBEAM_VIEW_TOP_SCREEN_H
#define EBEAM_VIEW_TOP_SCREEN_H

#include <stdbool.h>

#include "model/top/top_frame.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"
#include "view/top/pager.h"
#include "view/top/panel.h"
#include "view/top/tree.h"

struct top_view {
	const struct top_frame *frame;
	const char *const *tabs; /* titles of the panels, NULL ends; the first has the key 1 */
	unsigned shown;
	struct panel *panel;
	const struct panel_source *source;
	/* What was opened above the panel, NULL = nothing; the pager is above the tree. */
	struct pager *pager;
	struct tree *tree;
	const char *overlay_title; /* NULL = none */
	const char *message;	   /* "" or NULL = none */
	bool paused;
	double step_s; /* between readings; 0 = not known */
};

/* Clears the screen first. */
void top_screen_draw(struct screen *s, const struct top_view *v);

/* For clicks, with what was drawn last.  Index of the panel whose name stands there, -1 = none. */
int top_screen_tab_at(const struct screen *s, const struct top_view *v, unsigned row,
		      unsigned column);
/* The key that the line at the bottom names there; false = none. */
bool top_screen_key_at(const struct screen *s, const struct top_view *v, unsigned row,
		       unsigned column, struct terminal_key *key);

#endif
