/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam mem --tags`: blocks by who allocated them. */
#ifndef EBEAM_VIEW_TAGS_VIEW_H
#define EBEAM_VIEW_TAGS_VIEW_H

#include "base/histogram.h"
#include "view/table/table.h"

struct tags_row {
	struct table_name
		origin;		/* module of a NIF or a function, driver, or system; NULL: others */
	const char *type;	/* of erl_alloc.types; NULL: others */
	struct histogram sizes; /* of the blocks, bytes with headers */
};

/* Blocks of an allocator. */
struct tags_allocator {
	const char *type;
	bool tags; /* its new blocks are tagged */
	uint64_t tagged, tagged_size, untagged, untagged_size;
};

struct tags_answer {
	struct table rows; /* the columns of tags_table */
	const struct tags_allocator *allocators;
	size_t nr_allocators;
};

extern const struct table tags_table; /* its columns; the caller sets the rows */

int tags_view_write(FILE *f, const struct tags_answer *a, const struct table_options *o,
		    struct error *err);
/* Writes the member "data" of the JSON answer. */
void tags_view_json(struct jsonw *w, const struct tags_answer *a, const struct table_options *o);

#endif
