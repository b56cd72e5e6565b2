/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Difference of two snapshots, by function.  Lines do not matter, and lambdas are matched by their
 * enclosing function and their order in it ('-f/1-fun-3-' equals '-f/1-fun-1-' if each is the
 * second fun of f/1 that was seen), so that an unrelated edit of a module is no change.  If one
 * side saw more lambdas of a function, equal numbers are matched first.  Deltas compare shares, so
 * recordings may have different lengths.
 */
#ifndef EBEAM_MODEL_DIFF_H
#define EBEAM_MODEL_DIFF_H

#include "base/error.h"
#include "model/profile/snapshot.h"

struct diff_node {
	const char *name;
	enum frame_kind kind;
	uint32_t parent, first_child, next_sibling, depth; /* as in calltree.h */
	uint64_t self_a, total_a, self_b, total_b;	   /* samples, unscaled */
};

struct diff_function {
	const char *name;
	enum frame_kind kind;
	uint64_t self_a, total_a, self_b, total_b;
	double delta_self, delta_total; /* share of B minus share of A, in percent points */
};

struct diff {
	const struct snapshot *a, *b; /* borrowed */
	struct diff_node *nodes;      /* node 0 = root */
	uint32_t nr_nodes, max_depth;
	struct diff_function *functions; /* sorted by |delta_self|, then name */
	uint32_t nr_functions;
};

int diff_open(struct diff **out, const struct snapshot *a, const struct snapshot *b,
	      struct error *err);
void diff_close(struct diff *d);

#endif
