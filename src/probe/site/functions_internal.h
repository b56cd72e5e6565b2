/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by functions.c (search) and functions_recipes.c (what to search for). */
#ifndef EBEAM_PROBE_FUNCTIONS_INTERNAL_H
#define EBEAM_PROBE_FUNCTIONS_INTERNAL_H

#include "base/vec.h"
#include "probe/site/functions.h"

#define RECIPE_CLUES 4

/* Set of addresses. */
struct function_set {
	VEC(uint64_t) at;
};

/*
 * The function is the only one that all clues of `called_by` call and none of `not_by` does.  Clues
 * are: "@name" a JIT fragment, "$name" an instruction of modules, "module:name/1" a BIF, "name" a
 * function that is exported or has a recipe.  With ">" at its end: what its callees call; with "+":
 * that and what it calls itself.  A clue that only jumps to another function also calls what that
 * function calls.
 */
struct recipe {
	const char *name;
	const char *called_by[RECIPE_CLUES];
	const char *not_by[RECIPE_CLUES];
	/* Its address lies between these two functions: it is in the same source file. */
	const char *after, *before;
	/* A further condition. */
	bool (*fits)(struct functions *f, uint64_t addr, const struct function_set *all);
	/* A function whose source calls this one.  If its code does not, the compiler has inlined a
	 * copy of this one, whose calls no probe sees. */
	const char *caller;
	const char *rest;	 /* function that the copy calls, which is probed instead */
	bool not_by_symbol;	 /* always use the recipe, even if there is a symbol */
	bool process;		 /* of a fragment, only the call that returns the process to run */
	bool step;		 /* only used as a clue of other recipes */
	int from_otp, until_otp; /* 0 = no limit */
};

extern const struct recipe function_recipes[];
extern const unsigned int nr_function_recipes;

/* Called by fits() of a recipe, for one of the functions that the clues leave (`all`). */

/* Functions that a function calls, borrowed; NULL if its code cannot be decoded. */
const struct function_set *functions_callees(struct functions *f, uint64_t addr);
/* True if the only call in a function is a jump to another one. */
bool functions_only_jumps(struct functions *f, uint64_t addr);
bool function_set_has(const struct function_set *s, uint64_t addr);
bool functions_bif(struct functions *f, const char *mfa, uint64_t *addr);
/* Among functions that are called with this atom as fifth argument: *own, how often this one is;
 * *other, how often the most frequent of the others is. */
void functions_fifth_atom(struct functions *f, const char *atom, uint64_t addr, unsigned int *own,
			  unsigned int *other);

#endif
