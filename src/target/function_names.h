/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the functions of stripped files, found by comparing their code with that of other builds
 * of the same sources that have symbols (target/code_match.h): references/ in this folder, made by
 * tools/references.  Comparing takes 0.1 s to 0.5 s of one CPU, so it is done once for a file, when
 * the first name is asked for or in a thread, and what it found is kept (target/name_cache.h).
 */
#ifndef EBEAM_TARGET_FUNCTION_NAMES_H
#define EBEAM_TARGET_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf.h"

struct function_names;

struct function_name {
	uint64_t addr; /* of the function in the file */
	const char *name;
};

struct function_names *function_names_new(void);
/* Waits for the thread, if there is one. */
void function_names_close(struct function_names *f);

/* Adds a file to be compared, which is borrowed; nothing if it was added before, has its symbols,
 * or ebeam has no reference of it.  `what`: "otp-27", the emulator of that release; of a library
 * the base name of the file ("libcrypto.so.3"). */
void function_names_add(struct function_names *f, const struct elf_file *elf, const char *what);
/* Is there a reference of this?  As function_names_add() has it. */
bool function_names_known(const char *what);

/* Compares the files added in a thread; nothing if that was done before. */
void function_names_start(struct function_names *f);
/* True while the thread compares: the functions below would wait for it. */
bool function_names_pending(const struct function_names *f);
/* Waits for the thread; compares now what it did not. */
void function_names_wait(struct function_names *f);
/* Names of functions without symbol in the i-th file added, ordered by address; waits until they
 * are there.  Returns the file, NULL = i is past the last. */
const struct elf_file *function_names_list(struct function_names *f, size_t i,
					   const struct function_name **out, size_t *nr);
/* Address in the file of a function by its name; false = none, or more than one, has it. */
bool function_names_find(struct function_names *f, const struct elf_file *elf, const char *name,
			 uint64_t *addr);

#endif
