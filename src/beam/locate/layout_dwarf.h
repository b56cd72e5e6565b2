/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a node: from DWARF of its executable, or from a generated table. */
#ifndef EBEAM_BEAM_LAYOUT_DWARF_H
#define EBEAM_BEAM_LAYOUT_DWARF_H

#include <stddef.h>

#include "beam/otp/layout.h"
#include "target/dwarf.h"

/* Reads every member from DWARF; LAYOUT_ABSENT for those that it lacks. */
void layout_from_dwarf(struct beam_layout *layout, struct dwarf_info *d);
/* The first member that `want` has and `have` lacks; NULL = none. */
const char *layout_missing(const struct beam_layout *have, const struct beam_layout *want);

/* The first member that lies outside of its struct, or is larger than any struct of the VM; NULL =
 * none.  Code that reads whole structs and takes fields from them relies on this check. */
const char *layout_outside(const struct beam_layout *layout);

struct beam_node;
/* Each sets n->layout, n->layout_origin, n->untested if the layout is not of this release or build,
 * and n->identity.otp to the release of `like`, whose constants are then used for the node.  0, or
 * -ENOENT if the DWARF lacks a member of `like` (*lacks is its name) or there is none (NULL). */
int layout_use_dwarf(struct beam_node *n, const struct layout_table *like, const char **lacks);
void layout_use_table(struct beam_node *n, const struct layout_table *like);

#endif
