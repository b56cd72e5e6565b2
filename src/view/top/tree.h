/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call tree of a snapshot on the screen: callers above callees, the heaviest first; heavy nodes
 * are unfolded.  The snapshot may be replaced each second: nodes stay folded, unfolded or selected,
 * as they are identified by the names on their path from the root.
 */
#ifndef EBEAM_VIEW_TREE_H
#define EBEAM_VIEW_TREE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "model/profile/snapshot.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"

enum tree_result {
	TREE_IGNORED, /* the key means nothing here */
	TREE_HANDLED,
	TREE_CLOSE, /* the tree is to be closed */
};

struct tree;

int tree_open(struct tree **out);
void tree_close(struct tree *t); /* NULL ok */
/* The snapshot is borrowed until the next one, or tree_close(). */
void tree_set(struct tree *t, const struct snapshot *s);

/* Clears the rectangle on the screen, then draws heading and nodes. */
void tree_draw(struct tree *t, struct screen *s, unsigned row, unsigned column, unsigned height,
	       unsigned width);
/* Call it after tree_draw(): keys such as Page Down need the size. */
enum tree_result tree_key(struct tree *t, const struct terminal_key *key);
/* Adds "12-40 of 200 (1,234 samples)": the rows drawn last, of all. */
void tree_describe(const struct tree *t, struct strbuf *out);

#endif
