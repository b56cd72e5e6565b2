/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has the blocks in carriers of which little is in use: processes, merged where they are alike,
 * and ETS tables.  Part of `ebeam mem --carriers`. */
#ifndef EBEAM_CMD_MEM_HOLDERS_H
#define EBEAM_CMD_MEM_HOLDERS_H

#include "base/arena.h"
#include "beam/vm/sparse_carriers.h"
#include "view/inspect/carriers_view.h"

struct mem_holders {
	struct sparse_carriers carriers; /* the caller's, ordered */
	VEC(struct carriers_holder) rows;
	struct arena texts;  /* of rows */
	uint64_t unreadable; /* lists, objects and tables that changed while they were read */
	bool cut;	     /* a list or a table was not read to its end */
	/* Why processes or tables could not be read: their blocks are in rows of others; "" = they
	 * could. */
	char why[160];
};

/* Fills rows. */
void mem_holders_find(struct mem_holders *h, struct beam_node *n);
void mem_holders_free(struct mem_holders *h);

#endif
