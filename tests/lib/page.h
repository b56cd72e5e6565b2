/* SPDX-License-Identifier: BSD-2-Clause */
/* What a view writes, in memory: opened by one of the first four, written to up to any of the
 * others, ended by page_expect() or page_close(). */
#ifndef EBEAM_TEST_PAGE_H
#define EBEAM_TEST_PAGE_H

#include "view/table/answer_view.h"

struct page {
	FILE *f;
	struct jsonw w;
	bool is_json;
	char *text;
	size_t len;
};

FILE *page_open(struct page *p);
/* In an object, all on one line. */
struct jsonw *page_open_json(struct page *p);
void page_answer(struct page *p, const struct answer_view *view, const void *answer,
		 const struct table_options *o);
void page_answer_json(struct page *p, const struct answer_view *view, const void *answer,
		      const struct table_options *o);

const char *page_text(struct page *p);
/* All of it; ends the page. */
void page_expect(struct page *p, const char *want);
/* A part of it. */
void page_has(struct page *p, const char *want);
void page_close(struct page *p);

#endif
