/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam mem --tags`: blocks by who allocated them. */
#ifndef EBEAM_VIEW_TAGS_VIEW_H
#define EBEAM_VIEW_TAGS_VIEW_H

#include "base/histogram.h"
#include "view/table/table.h"

/* What of a tag an origin is; what a tag does not say is by module. */
enum tags_by {
	TAGS_BY_MODULE,	  /* of the function that ran, or of the NIF; else the driver, or system */
	TAGS_BY_FUNCTION, /* that ran */
	TAGS_BY_PROCESS,
	TAGS_BY_PORT,
	TAGS_BY_NIF,  /* module of the NIF; else the driver, or system */
	TAGS_BY_TYPE, /* of all origins */
	NR_TAGS_BY
};

struct tags_row {
	const char *origin; /* as it is; NULL: others */
	bool is_module;	    /* text shows My.Nif of Elixir.My.Nif */
	uint64_t term;	    /* pid or port that the origin is; else 0 */
	const char *name;   /* of that process or port; NULL: it has ended, or is none */
	const char *type;   /* of erl_alloc.types; NULL: others */
	uint64_t blocks, size, smallest, largest; /* bytes, with headers */
	size_t sizes, nr_sizes;			  /* in tags_answer.sizes */
	uint32_t allocators; /* that its blocks are of: bits by index in tags_answer.allocators */
	/* --watch: growth of the bytes and the number of blocks since the last answer, per second,
	 * and of the bytes since the first; NAN = not known, as carriers were not read. */
	double size_per_s, blocks_per_s, grew;
};

/* Blocks of a row whose sizes are in a bucket of struct histogram. */
struct tags_size {
	uint64_t key, blocks; /* key: row << TAGS_SIZE_BITS | bucket */
};
#define TAGS_SIZE_BITS 10
_Static_assert(HISTOGRAM_BUCKETS <= 1 << TAGS_SIZE_BITS, "a bucket is part of a key");

/* Blocks of an allocator. */
struct tags_allocator {
	const char *type;
	bool tags;	    /* its new blocks are tagged */
	bool function_tags; /* with functions instead of processes */
	uint64_t tagged, tagged_size, untagged, untagged_size;
};

struct tags_answer {
	enum tags_by by;
	struct table rows; /* the columns of tags_table */
	const struct tags_size *sizes;
	const struct tags_allocator *allocators;
	size_t nr_allocators;
	bool watch, grows; /* it is an answer of --watch; rows have their growth */
};

extern const struct table tags_table; /* its columns; the caller sets the rows */

const char *tags_by_name(enum tags_by by);
/* With `histogram` the sizes of the blocks of each row, instead of the table. */
int tags_view_write(FILE *f, const struct tags_answer *a, const struct table_options *o,
		    bool histogram, struct error *err);
/* Writes the member "data" of the JSON answer. */
void tags_view_json(struct jsonw *w, const struct tags_answer *a, const struct table_options *o);

#endif
