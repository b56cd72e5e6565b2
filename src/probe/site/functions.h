/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the VM by name: by symbol where the executable has it, else by proof from what is
 * known by name in any build: fragments of the JIT (its record for debuggers names them), C
 * functions of BIFs (the BIF table), and the functions that NIFs and drivers may call (exported
 * for ever).  What those call is derived from their code; a recipe says which calls lead to which
 * function.  One that does not lead to exactly one function finds none: nothing is guessed.
 *
 * Recipes hold for OTP 25 to 29.  Where symbols are there (25 to 28) a search that ignores them
 * must end at the same functions: tools/functions --check.
 */
#ifndef EBEAM_PROBE_FUNCTIONS_H
#define EBEAM_PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct beam_node;
struct elf_file;
struct functions;

/* What a search reads.  All addresses are those of the executable file. */
struct function_space {
	void *ctx;
	void (*close)(void *ctx); /* NULL = nothing to do */
	int otp;
	const struct elf_file *elf;
	/* Function (or part of one) that covers addr; false = no known one. */
	bool (*bounds)(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);
	/* Constant bytes of the executable. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* Address of a function by its symbol; false = it has none. */
	bool (*symbol)(void *ctx, const char *name, uint64_t *addr);
	/* C function of a BIF, "erlang:link/1". */
	bool (*bif)(void *ctx, const char *mfa, uint64_t *addr);
	/* Code that the JIT made: a fragment, or "normal_exit".  Its bytes are malloc'ed. */
	bool (*fragment)(void *ctx, const char *name, uint8_t **bytes, size_t *size,
			 uint64_t *addr);
	/* The word at an address of that code, which is an address of the process, as one of the
	 * file. */
	bool (*fragment_word)(void *ctx, uint64_t addr, uint64_t *value);
	/* What the code of an instruction of Erlang modules calls: "remove_message". */
	bool (*instruction)(void *ctx, const char *name, uint64_t *addr);
	/* The term of an atom; 0 = there is none. */
	uint64_t (*atom)(void *ctx, const char *text);
	uint64_t text, text_end; /* section .text */
};

/* Borrows the node; reads what the JIT says of itself when it is first needed. */
void functions_open(struct functions **out, const struct beam_node *n);
/* Symbols only; borrows the file. */
void functions_open_file(struct functions **out, const struct elf_file *elf);
/* For tests.  Copies the space. */
void functions_open_space(struct functions **out, const struct function_space *space);
void functions_close(struct functions *f);

/* From now on no symbol counts but those that OTP 29 exports too.  For tests. */
void functions_ignore_symbols(struct functions *f);

/* 0 = a file of an unknown release. */
int functions_otp(const struct functions *f);
/* The file; NULL for a made-up space. */
const struct elf_file *functions_elf(const struct functions *f);

/* Address in the file of the function with this name. */
bool functions_find(struct functions *f, const char *name, uint64_t *addr);
/* Why it is not found; "" = it has no symbol, and there is no other way.  Valid until close. */
const char *functions_reason(struct functions *f, const char *name);
/* Name of the i-th recipe for this release; NULL = there are no more. */
const char *functions_recipe(const struct functions *f, unsigned int i);

#endif
