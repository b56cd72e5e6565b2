/* SPDX-License-Identifier: BSD-2-Clause */
/* The area of literals that is collected, if one is. */
#ifndef EBEAM_BEAM_LITERAL_AREA_H
#define EBEAM_BEAM_LITERAL_AREA_H

#include "beam/node/node.h"

/* Address of erts_copy_literal_area__, which is not 0 while all processes look whether they hold
 * terms of that area; 0 = it was not found. */
raddr literal_area_find(struct beam_node *n);

#endif
