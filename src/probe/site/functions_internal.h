/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by functions.c (search) and functions_recipes.c (what to search for). */
#ifndef EBEAM_PROBE_FUNCTIONS_INTERNAL_H
#define EBEAM_PROBE_FUNCTIONS_INTERNAL_H

#include "base/vec.h"
#include "probe/site/functions.h"

#define RECIPE_CLUES 4

/* Each once. */
struct function_set {
	VEC(uint64_t) at;
};

/*
 * A function is found if exactly one remains of those that all `called_by` call and none of
 * `not_by` does.  Those are: "@name" a JIT fragment, "$name" an instruction of modules,
 * "module:name/1" a BIF, "name" a function that is exported or has a recipe.  With ">" behind it:
 * what its callees call; with "+": that and what it calls itself.  A clue that only jumps to
 * another function counts as both.
 */
struct recipe {
	const char *name;
	const char *called_by[RECIPE_CLUES];
	const char *not_by[RECIPE_CLUES];
	/* It stands between these two in the executable: in the same source file. */
	const char *after, *before;
	/* What else must hold of it. */
	bool (*fits)(struct functions *f, uint64_t addr, const struct function_set *all);
	/* Who calls it: one that does not has a copy of it inside, whose calls no probe sees. */
	const char *caller;
	const char *rest;	 /* which is called there for that copy, and can be probed */
	bool not_by_symbol;	 /* a symbol says less of it than the recipe */
	bool process;		 /* of a fragment: the call whose result is the process to run */
	bool step;		 /* of use to other recipes only */
	int from_otp, until_otp; /* 0 = all */
};

extern const struct recipe function_recipes[];
extern const unsigned int nr_function_recipes;

extern const struct recipe function_recipes[];
extern const unsigned int nr_function_recipes;

/* For fits(), which is asked for one of `all` that the clues leave. */

/* What a function calls, borrowed; NULL if its code is not understood. */
const struct function_set *functions_callees(struct functions *f, uint64_t addr);
/* True if the only call in a function is a jump to another one. */
bool functions_only_jumps(struct functions *f, uint64_t addr);
bool function_set_has(const struct function_set *s, uint64_t addr);
bool functions_bif(struct functions *f, const char *mfa, uint64_t *addr);
/* Of the functions that are called with this atom as fifth argument: how often it is this one, and
 * how often the one of all others for which it is most often. */
void functions_fifth_atom(struct functions *f, const char *atom, uint64_t addr, unsigned int *own,
			  unsigned int *other);

#endif
