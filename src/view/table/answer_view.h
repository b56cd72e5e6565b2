/* SPDX-License-Identifier: BSD-2-Clause */
/* How an answer is written that is more than a table.  Each has a struct of its own. */
#ifndef EBEAM_VIEW_ANSWER_VIEW_H
#define EBEAM_VIEW_ANSWER_VIEW_H

#include "view/table/table.h"

struct answer_view {
	/* The first lines; whoever calls may have more to say below them.  NULL = none. */
	void (*head)(FILE *f, const void *answer);
	/* The rest of the text.  o->limit 0 = as many rows as is usual. */
	int (*write)(FILE *f, const void *answer, const struct table_options *o, struct error *err);
	/* The members of "data".  o->limit 0 = all rows. */
	void (*json)(struct jsonw *w, const void *answer, const struct table_options *o);
};

#endif
