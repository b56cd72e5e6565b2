/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam alloc`: carriers by allocator. */
#ifndef EBEAM_VIEW_ALLOC_VIEW_H
#define EBEAM_VIEW_ALLOC_VIEW_H

#include "model/stats/carrier_stats.h"
#include "view/table/answer_view.h"

/* Carriers of all instances of an allocator. */
struct alloc_held {
	struct alloc_carriers {
		uint64_t carriers, bytes;
	} mbcs, sbcs, pool;
};

struct alloc_row {
	const char *type;
	struct carrier_row c; /* counts of events, scaled if they were sampled; 0 = no events */
	const struct alloc_held *begin, *now; /* carriers held then; NULL: a capture has none */
	double delta;			      /* bytes; NaN: too few events were seen */
	double churn;			      /* carriers created and destroyed per second */
};

/* All pointers are borrowed. */
struct alloc_answer {
	const struct alloc_row *rows;
	size_t nr_rows;
	const struct histogram *sizes; /* bytes, of carriers that were created */
	double sizes_scale;	       /* factor for counts of `sizes`, if events were sampled */
	double share_seen;
	uint64_t duration_ns;
};

extern const struct table_column alloc_columns[];
extern const struct answer_view alloc_view; /* of struct alloc_answer */

uint64_t alloc_held_bytes(const struct alloc_held *h);

#endif
