/* SPDX-License-Identifier: BSD-2-Clause */
/* The literal area that the collector is about to free, if there is one. */
#ifndef EBEAM_BEAM_LITERAL_AREA_H
#define EBEAM_BEAM_LITERAL_AREA_H

#include "beam/node/node.h"

/* Address of erts_copy_literal_area__, which is not 0 while all processes are checked for terms of
 * that area; 0 = not found. */
raddr literal_area_find(struct beam_node *n);

#endif
