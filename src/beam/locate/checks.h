/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of a layout against the live node.  Each checks a property that every node has, and that
 * would not be found with a wrong offset.
 */
#ifndef EBEAM_BEAM_CHECKS_H
#define EBEAM_BEAM_CHECKS_H

#include "beam/node/node.h"

/* Fills n->checks.  Uses n->mem, objects, layout, anchors and atoms. */
void checks_run(struct beam_node *n);
/* The first check that failed, NULL = none. */
const struct beam_check *checks_failed(const struct beam_node *n);

#endif
