/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree of calls of a snapshot on the screen: callers above callees, the heaviest first, what
 * is heavy unfolded.  It may be another snapshot each second: what was folded, unfolded and
 * selected is known by its path of names and stays.
 */
#ifndef EBEAM_VIEW_TREE_H
#define EBEAM_VIEW_TREE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "model/profile/snapshot.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"

enum tree_result {
	TREE_IGNORED, /* the key is not one of a tree */
	TREE_HANDLED,
	TREE_CLOSE, /* the reader is done */
};

struct tree;

int tree_open(struct tree **out);
void tree_close(struct tree *t); /* NULL ok */
/* The snapshot is borrowed until the next one, or tree_close(). */
void tree_set(struct tree *t, const struct snapshot *s);

/* Heading and nodes; clears its part of the screen first. */
void tree_draw(struct tree *t, struct screen *s, unsigned row, unsigned column, unsigned height,
	       unsigned width);
/* After tree_draw(). */
enum tree_result tree_key(struct tree *t, const struct terminal_key *key);
/* Adds "12-40 of 200 (1,234 samples)", as it was drawn last. */
void tree_describe(const struct tree *t, struct strbuf *out);

#endif
