/* SPDX-License-Identifier: BSD-2-Clause */
/* What most of the newest atoms begin with: they are made of the same kind of input. */
#ifndef EBEAM_VIEW_ATOM_BEGINNING_H
#define EBEAM_VIEW_ATOM_BEGINNING_H

#include "view/inspect/mem_view.h"

struct atom_beginning {
	const char *text; /* of one of the atoms, not ended */
	size_t len;	  /* bytes; 0 = there is no such beginning */
	size_t atoms;	  /* that have it */
};

struct atom_beginning atom_beginning(const struct mem_atom *atoms, size_t nr);

#endif
