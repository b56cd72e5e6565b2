/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions of the VM by name: by symbol if the executable has it, else by what is known by
 * name in any build: fragments of the JIT (its records for debuggers have their names), C functions
 * of BIFs (the BIF table), and the functions for NIFs and drivers (always exported).  What those
 * call is found by decoding their code; a recipe says which calls lead to which function.  A recipe
 * that does not lead to exactly one function finds none: nothing is guessed.
 *
 * Recipes hold for OTP 25 to 29.  tools/functions --check: where there are symbols (25 to 28) a
 * search without them must find the same functions.
 */
#ifndef EBEAM_PROBE_FUNCTIONS_H
#define EBEAM_PROBE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct beam_node;
struct elf_file;
struct functions;

/* What a search reads.  All addresses are those of the executable file, not of the process. */
struct function_space {
	void *ctx;
	void (*close)(void *ctx); /* NULL = nothing to do */
	int otp;
	const struct elf_file *elf;
	/* Bounds of the function (or part of one) that contains addr; false = none known. */
	bool (*bounds)(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);
	/* Reads constant bytes of the executable; false = they cannot be read. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* Address of a function by its symbol; false = it has none. */
	bool (*symbol)(void *ctx, const char *name, uint64_t *addr);
	/* Address of a function without symbol that a reference build names; NULL = do not ask. */
	bool (*matched)(void *ctx, const char *name, uint64_t *addr);
	/* C function of a BIF, "erlang:link/1". */
	bool (*bif)(void *ctx, const char *mfa, uint64_t *addr);
	/* Code that the JIT made: a fragment, or "normal_exit".  Its bytes are malloc'ed. */
	bool (*fragment)(void *ctx, const char *name, uint8_t **bytes, size_t *size,
			 uint64_t *addr);
	/* Reads the word at an address of that code, which is a pointer of the process, and
	 * converts it to an address of the file. */
	bool (*fragment_word)(void *ctx, uint64_t addr, uint64_t *value);
	/* Function that the JIT's code for an instruction calls, such as "remove_message". */
	bool (*instruction)(void *ctx, const char *name, uint64_t *addr);
	/* Term of an atom; 0 = there is no such atom. */
	uint64_t (*atom)(void *ctx, const char *text);
	uint64_t text, text_end; /* section .text */
};

/* Borrows the node; reads the JIT's records when they are first needed. */
void functions_open(struct functions **out, const struct beam_node *n);
/* Symbols only; borrows the file. */
void functions_open_file(struct functions **out, const struct elf_file *elf);
/* For tests.  Copies the space. */
void functions_open_space(struct functions **out, const struct function_space *space);
void functions_close(struct functions *f);

/* For tests: from now on only symbols count that OTP 29 exports, too. */
void functions_ignore_symbols(struct functions *f);

/* 0 = release not known. */
int functions_otp(const struct functions *f);
/* The executable; NULL after functions_open_space(). */
const struct elf_file *functions_elf(const struct functions *f);

/* Finds the address in the file of the function with this name. */
bool functions_find(struct functions *f, const char *name, uint64_t *addr);
/* Why a function is not found; "" = it has no symbol, and no recipe.  Valid until
 * functions_close(). */
const char *functions_reason(struct functions *f, const char *name);
/* Name of the i-th recipe for this release; NULL = i is past the last. */
const char *functions_recipe(const struct functions *f, unsigned int i);

#endif
