/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam bin`: binaries outside of heaps, and who refers to them. */
#ifndef EBEAM_VIEW_BIN_VIEW_H
#define EBEAM_VIEW_BIN_VIEW_H

#include "base/histogram.h"
#include "view/table/table.h"

/* A process, an ETS table, a port with a queue, literals of a module, a persistent term; or all NIF
 * resources of a type, which are the binaries. */
struct bin_row {
	const char *type, *name;       /* name: NULL = it has none */
	char id[48];		       /* empty: only a name */
	uint64_t binaries, references; /* binaries: each once */
	uint64_t in_messages;	       /* of `references` */
	/* Bytes: of all these binaries; of those that nobody else refers to; of each its size by
	 * the number of references, times those from here; that terms use, NAN = not known. */
	uint64_t memory, held, share;
	double used;
	/* Bytes of those to which only garbage on its heap refers; NAN = not known. */
	double garbage;
	/* Those of which less than half is used, and no garbage: their number, their bytes, the
	 * median of what is used of each; NAN = there are none, or that is not known. */
	uint64_t parts, part_memory;
	double part;
	uint64_t largest;
	bool torn; /* it changed while it was read */
};

struct bin_binary {
	uint64_t address, size, refc; /* refc: as the node counts references */
	uint64_t found, holders;      /* references that were found, and from how many rows */
	double used; /* bytes, if there is one holder and that is known; else NAN */
	const struct bin_row *holder; /* the first of them */
};

struct bin_answer {
	uint64_t binaries, memory;     /* each binary once; bytes */
	uint64_t counted;	       /* erlang:memory(binary); UINT64_MAX = not known */
	uint64_t elsewhere_binaries;   /* to which others refer, too */
	uint64_t elsewhere_memory;     /* bytes of these */
	struct histogram sizes;	       /* bytes, of each binary once */
	struct table holders, largest; /* with the columns below */
};

extern const struct table bin_holders_table, bin_largest_table; /* columns; no rows */

int bin_view_write(FILE *f, const struct bin_answer *a, const struct table_options *o,
		   struct error *err);
/* Writes the member "data" of the JSON answer. */
void bin_view_json(struct jsonw *w, const struct bin_answer *a, const struct table_options *o);

#endif
