/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an executable: a hash of the code of each, and the functions that it refers to.
 * Two builds of one program can be compared by it, see code_match.h.  Bounds come from .eh_frame,
 * which stripped files keep, instructions from Capstone.
 */
#ifndef EBEAM_TARGET_CODE_GRAPH_H
#define EBEAM_TARGET_CODE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "target/elf.h"

struct code_function {
	uint64_t addr;	  /* address in the file; in a reference file the index */
	uint32_t size;	  /* bytes; 0 in a reference file */
	const char *name; /* of its symbol; NULL = it has none */
	/* Hash of the instructions, in which each address is replaced by what does not depend on
	 * the layout of the file: the text of a string literal, the name of an imported symbol, and
	 * only the kind of any other thing.  0 = the code cannot be decoded to its end. */
	uint64_t hash;
	uint32_t nr_insns, nr_refs; /* instructions, references of any kind */
	/* Functions that it calls, jumps to or takes the address of, in the order of its
	 * instructions: callees[first_callee] and the following ones. */
	uint32_t first_callee, nr_callees;
};

struct code_graph {
	VEC(struct code_function) functions; /* ordered by address */
	VEC(uint32_t) callees;		     /* indices in functions */
	struct arena names;
};

/* Reads the graph of a file.  0, or -ENOTSUP: it is no x86-64 file with .eh_frame, or Capstone
 * cannot be used.  Free it in any case. */
int code_graph_read(struct code_graph *g, const struct elf_file *e);
/* Names functions without a name by the symbols of another file: the debug file. */
void code_graph_name(struct code_graph *g, const struct elf_file *debug);
void code_graph_free(struct code_graph *g);
/* Index of the function that begins at an address; SIZE_MAX = none does. */
size_t code_graph_at(const struct code_graph *g, uint64_t addr);

#endif
