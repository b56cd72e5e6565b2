/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a running node: from DWARF of its executable, else from a generated table. */
#ifndef EBEAM_BEAM_LAYOUT_DWARF_H
#define EBEAM_BEAM_LAYOUT_DWARF_H

#include <stddef.h>

#include "beam/layout.h"
#include "target/dwarf.h"

/* Every member from DWARF, LAYOUT_ABSENT for what it does not have. */
void layout_from_dwarf(struct beam_layout *layout, struct dwarf_info *d);
/* The first member that `want` has and `have` lacks; NULL = none. */
const char *layout_missing(const struct beam_layout *have, const struct beam_layout *want);

/* The first member that lies outside of its struct, or far beyond any of the VM's; NULL = none.
 * Who reads whole structs and picks fields out of them relies on it. */
const char *layout_outside(const struct beam_layout *layout);

struct beam_node;
/* Chooses n->layout and names n->layout_origin.  -ENOENT if there is none for such a build. */
int layout_choose(struct beam_node *n);

#endif
