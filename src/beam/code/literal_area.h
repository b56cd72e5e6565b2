/* SPDX-License-Identifier: BSD-2-Clause */
/* The literal area that the VM's literal area collector is about to free. */
#ifndef EBEAM_BEAM_LITERAL_AREA_H
#define EBEAM_BEAM_LITERAL_AREA_H

#include "beam/node/node.h"

/* Address of the variable erts_copy_literal_area__, which is not 0 while processes are checked for
 * terms of that area; 0 = not found. */
raddr literal_area_find(struct beam_node *n);

#endif
