/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a node: from DWARF of its executable, or from a generated table. */
#ifndef EBEAM_BEAM_LAYOUT_DWARF_H
#define EBEAM_BEAM_LAYOUT_DWARF_H

#include <stddef.h>

#include "beam/otp/layout.h"
#include "target/dwarf.h"

/* Every member from DWARF, LAYOUT_ABSENT for what it does not have. */
void layout_from_dwarf(struct beam_layout *layout, struct dwarf_info *d);
/* The first member that `want` has and `have` lacks; NULL = none. */
const char *layout_missing(const struct beam_layout *have, const struct beam_layout *want);

/* The first member that lies outside of its struct, or far beyond any of the VM's; NULL = none.
 * Who reads whole structs and picks fields out of them relies on it. */
const char *layout_outside(const struct beam_layout *layout);

struct beam_node;
/* Each fills n->layout, names n->layout_origin, says in n->untested if that was not made for this
 * release or build, and sets n->identity.otp to the release by whose facts the node is then read:
 * `like`.  0, or -ENOENT if there is no DWARF that has all members that `like` has; *lacks is then
 * what it has not, NULL if there is none. */
int layout_use_dwarf(struct beam_node *n, const struct layout_table *like, const char **lacks);
void layout_use_table(struct beam_node *n, const struct layout_table *like);

#endif
