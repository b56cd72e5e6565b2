/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam ets`: the ETS tables of a node, or one of them with some of its objects. */
#ifndef EBEAM_VIEW_ETS_VIEW_H
#define EBEAM_VIEW_ETS_VIEW_H

#include "view/table/table.h"

struct ets_row {
	uint64_t key; /* unique among the tables of the node */
	struct table_name name, owner_name;
	char id[48];		  /* "#Ref<0.1.2.3>" */
	char owner[32], heir[32]; /* processes; "" = none */
	uint64_t owner_term;	  /* sort key of owners: about the order of their spawns */
	uint64_t bytes, words, objects;
	/* Growth since the reading before: NAN = not known, as of a table that was not there.
	 * `rates`: there was a reading before. */
	double bytes_per_s, size_per_s;
	bool rates;
	uint32_t keypos;
	const char *type, *protection, *write_concurrency; /* words of ets:info/1 */
	bool compressed, named, read_concurrency, decentralized, fixed, torn;
};

extern const struct table ets_table; /* its columns; the caller sets the rows */

struct ets_fixer {
	char pid[32];
	uint64_t count;
};

struct ets_answer {
	const struct ets_row *row;
	bool hash;	  /* objects are in a hash table, not in a tree */
	uint64_t buckets; /* of the hash table */
	const struct ets_fixer *fixed_by;
	size_t nr_fixed_by;
	bool fixed_by_truncated; /* more processes fix the table, or they cannot be read */
	struct table_list objects;
};

void ets_view_write(FILE *f, const struct ets_answer *a);
/* Writes the member "data" of the JSON answer. */
void ets_view_json(struct jsonw *w, const struct ets_answer *a);

#endif
