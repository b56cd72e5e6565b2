/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The screen of `top`, from the top: a line about the node and ebeam, figures and schedulers
 * (top_header.h), the names of the panels, a panel or what was opened on top of it, and a line with
 * keys, with what is typed, or with a message.
 *
 * If there is no room, the least important parts are left out: a screen of 40 x 10 still has the
 * load, memory and rows.  Only below 12 x 3 it says that the terminal is too small.
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
	/* What was opened on top of the panel, NULL = nothing; the pager hides the tree. */
	struct pager *pager;
	struct tree *tree;
	const char *overlay_title; /* NULL = none */
	const char *message;	   /* "" or NULL = none */
	bool paused;
	double step_s; /* seconds between readings of the node; 0 = not known */
};

/* Clears the screen first. */
void top_screen_draw(struct screen *s, const struct top_view *v);

/* For clicks on what was drawn last.  Index of the panel whose name is at the cell, -1 = none. */
int top_screen_tab_at(const struct screen *s, const struct top_view *v, unsigned row,
		      unsigned column);
/* The key that the line at the bottom shows at the cell; false = none. */
bool top_screen_key_at(const struct screen *s, const struct top_view *v, unsigned row,
		       unsigned column, struct terminal_key *key);

#endif
