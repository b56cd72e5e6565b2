/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam mem --carriers`: how full the allocators' carriers are. */
#ifndef EBEAM_VIEW_CARRIERS_VIEW_H
#define EBEAM_VIEW_CARRIERS_VIEW_H

#include "view/table/table.h"

#define CARRIERS_BANDS 10 /* of use: 0-10 %, ..., 90-100 % */

/* Sizes are bytes, with headers. */
struct carriers_sum {
	uint64_t carriers, size, unused; /* unused: in no allocated block */
};

/* The carriers of all instances of an allocator. */
struct carriers_row {
	const char *type;
	struct carriers_sum all, bands[CARRIERS_BANDS];
	struct carriers_sum single, pooled; /* parts of `all` */
	uint64_t blocks, blocks_size;
	uint64_t free_blocks, largest_free; /* in carriers for many blocks */
	/* Its flags, as the node has them: +M<S>acul (percent), sbct, lmbcs (bytes); UINT64_MAX =
	 * not known. */
	uint64_t acul, sbct, lmbcs;
};

/* Who has blocks of an allocator in carriers of which little is in use. */
struct carriers_holder {
	const char *allocator;
	const char *kind;	/* "process", "table", "other" */
	const char *holder;	/* a name, which alike processes share; NULL: `other` */
	uint64_t holders;	/* processes or tables; 0: `other` */
	struct carriers_sum in; /* carriers in which they have a block */
	uint64_t alone;		/* of these, those in which nobody else has one */
	uint64_t blocks, blocks_size;
};

struct carriers_answer {
	struct table types;   /* the columns of carriers_table; a row for each allocator */
	struct table holders; /* of carriers_holders_table */
	unsigned int percent; /* of these carriers less than that is in use */
};

extern const struct table carriers_table; /* its columns; the caller sets the rows */
extern const struct table carriers_holders_table;

void carriers_row_add(struct carriers_row *r, uint64_t size, uint64_t blocks_size, bool single,
		      bool pooled);

/*
 * Which flag of the allocator bears on what the row says, as a line: "+MHacul de: ...".  `i` = 0,
 * 1, ... numbers the flags; false: there are no more.  *flag: "acul".
 */
enum { CARRIERS_ADVICES = 4, CARRIERS_ADVICE_SIZE = 256 };
bool carriers_advice(const struct carriers_row *r, unsigned int i, const char **flag,
		     char text[CARRIERS_ADVICE_SIZE]);

int carriers_view_write(FILE *f, const struct carriers_answer *a, const struct table_options *o,
			struct error *err);
/* Writes the member "data" of the JSON answer. */
void carriers_view_json(struct jsonw *w, const struct carriers_answer *a,
			const struct table_options *o);

#endif
