/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text that people read on the screen: scrolled up and down and to the sides, lines broken or
 * not, searched.  The text may be another one each second (a process that is watched): the place
 * in it stays.  Text of a node may come as it is.
 */
#ifndef EBEAM_VIEW_PAGER_H
#define EBEAM_VIEW_PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/screen/screen.h"
#include "view/screen/terminal.h"

#define PAGER_MAX_TEXT (8u << 20) /* bytes; what is beyond is left out, and that is said */

enum pager_result {
	PAGER_IGNORED, /* the key is not one of a text */
	PAGER_HANDLED,
	PAGER_CLOSE, /* the reader is done */
};

struct pager;

/* headings: a line that does not begin with a space is one. */
int pager_open(struct pager **out, bool headings);
void pager_close(struct pager *p); /* NULL ok */
/* Copies the text. */
void pager_set_text(struct pager *p, const char *text, size_t len);

/* Clears its part of the screen first. */
void pager_draw(struct pager *p, struct screen *s, unsigned row, unsigned column, unsigned height,
		unsigned width);
/* After pager_draw(). */
enum pager_result pager_key(struct pager *p, const struct terminal_key *key);

bool pager_is_typing(const struct pager *p);	   /* keys are text to search for */
const char *pager_searched(const struct pager *p); /* "" = nothing */
/* Adds "12-40 of 200 lines", as it was drawn last, and whether what was searched is there. */
void pager_describe(const struct pager *p, struct strbuf *out);

#endif
