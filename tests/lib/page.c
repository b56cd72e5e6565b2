/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

FILE *page_open(struct page *p)
{
	*p = (struct page){0};
	p->f = open_memstream(&p->text, &p->len);
	assert_non_null(p->f);
	return p->f;
}

struct jsonw *page_open_json(struct page *p)
{
	page_open(p);
	p->is_json = true;
	p->w = (struct jsonw)JSONW(p->f);
	p->w.one_line = true;
	jsonw_begin_object(&p->w, NULL);
	return &p->w;
}

void page_answer(struct page *p, const struct answer_view *view, const void *answer,
		 const struct table_options *o)
{
	struct error err;

	page_open(p);
	if (view->head)
		view->head(p->f, answer);
	assert_int_equal(view->write(p->f, answer, o, &err), 0);
}

void page_answer_json(struct page *p, const struct answer_view *view, const void *answer,
		      const struct table_options *o)
{
	view->json(page_open_json(p), answer, o);
}

const char *page_text(struct page *p)
{
	if (p->f && p->is_json) {
		jsonw_end_object(&p->w);
		assert_int_equal(jsonw_finish(&p->w), 0);
	}
	if (p->f)
		fclose(p->f);
	p->f = NULL;
	return p->text;
}

void page_expect(struct page *p, const char *want)
{
	assert_string_equal(page_text(p), want);
	free(p->text);
}

void page_has(struct page *p, const char *want)
{
	if (!strstr(page_text(p), want))
		fail_msg("no \"%s\" in:\n%s", want, p->text);
}

void page_close(struct page *p)
{
	page_text(p);
	free(p->text);
}
