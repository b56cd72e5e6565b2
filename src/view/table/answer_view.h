/* SPDX-License-Identifier: BSD-2-Clause */
/* How an answer that is more than a table is written; `answer` is a struct of its own. */
#ifndef EBEAM_VIEW_ANSWER_VIEW_H
#define EBEAM_VIEW_ANSWER_VIEW_H

#include "view/table/table.h"

struct answer_view {
	/* Writes the first lines, below which the caller may add lines.  NULL = none. */
	void (*head)(FILE *f, const void *answer);
	/* Writes the rest of the text.  o->limit 0 = a default of the view. */
	int (*write)(FILE *f, const void *answer, const struct table_options *o, struct error *err);
	/* Writes the members of "data".  o->limit 0 = all rows. */
	void (*json)(struct jsonw *w, const void *answer, const struct table_options *o);
};

#endif
