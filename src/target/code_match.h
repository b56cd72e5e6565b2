/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the functions of a stripped executable, from a reference: the graph (code_graph.h) of
 * another build of the same sources whose functions have names.
 *
 * A function gets the name of a function of the reference with equal code (code_function.hash), and
 * only if that is certain: no other function of either build has such code; or functions with equal
 * code refer to both at the same place; or both lie between functions that are matched, in the same
 * order.  Where nine of ten functions are matched, a patch may have changed what equal code refers
 * to.  All that equal code refers to must be matched alike, or the names are dropped.
 */
#ifndef EBEAM_TARGET_CODE_MATCH_H
#define EBEAM_TARGET_CODE_MATCH_H

#include "target/code_graph.h"

#define CODE_MATCH_NONE UINT32_MAX

/* Returns for each function of `executable` the index of the function of `reference` that it is, or
 * CODE_MATCH_NONE; free() it.  *nr: how many are matched. */
uint32_t *code_match(const struct code_graph *reference, const struct code_graph *executable,
		     size_t *nr);

#endif
