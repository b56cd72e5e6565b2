/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that write the answer of a command that has more than a table.  `answer`: the struct
 * that the definition of the answer_view names. */
#ifndef EBEAM_VIEW_ANSWER_VIEW_H
#define EBEAM_VIEW_ANSWER_VIEW_H

#include "view/table/table.h"

struct answer_view {
	/* Writes the first lines; the caller may add lines below them.  NULL = there are none. */
	void (*head)(FILE *f, const void *answer);
	/* Writes the rest of the text.  o->limit 0 = a default of the view. */
	int (*write)(FILE *f, const void *answer, const struct table_options *o, struct error *err);
	/* Writes the members of the JSON object "data".  o->limit 0 = all rows. */
	void (*json)(struct jsonw *w, const void *answer, const struct table_options *o);
};

#endif
