/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text on the screen that can be scrolled in both directions, wrapped and searched.  The text may
 * be replaced each second (a process that is watched): the scroll position stays.  Text read from a
 * node need not be escaped by the caller.
 */
#ifndef EBEAM_VIEW_PAGER_H
#define EBEAM_VIEW_PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"

#define PAGER_MAX_TEXT (8u << 20) /* bytes; the rest is replaced by a note */

enum pager_result {
	PAGER_IGNORED, /* the key means nothing here */
	PAGER_HANDLED,
	PAGER_CLOSE, /* the text is to be closed */
};

struct pager;

/* headings: lines that do not begin with a space are headings. */
int pager_open(struct pager **out, bool headings);
void pager_close(struct pager *p); /* NULL ok */
/* Copies the text. */
void pager_set_text(struct pager *p, const char *text, size_t len);

/* Clears the rectangle on the screen first. */
void pager_draw(struct pager *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width);
/* Call it after pager_draw(): keys such as Page Down need the size. */
enum pager_result pager_key(struct pager *p, const struct terminal_key *key);

bool pager_is_typing(const struct pager *p);	   /* keys are text to search for */
const char *pager_searched(const struct pager *p); /* "" = nothing */
/* Adds "12-40 of 200 lines", the lines drawn last, and whether the search has found anything. */
void pager_describe(const struct pager *p, struct strbuf *out);

#endif
