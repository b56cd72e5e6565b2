/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the functions of a stripped emulator, found by comparing its code with that of the same
 * release built with symbols (target/code_match.h): references/ in this folder, made by tools/fnref.
 * That takes some 0.4 s of one CPU, so it is done once for a node, when the first name is asked for
 * or in a thread of its own.
 */
#ifndef EBEAM_BEAM_FUNCTION_NAMES_H
#define EBEAM_BEAM_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf.h"

struct function_names;

struct function_name {
	uint64_t addr; /* of the function in the file */
	const char *name;
};

/* Borrows the file, the executable of an emulator of this release. */
struct function_names *function_names_new(const struct elf_file *elf, int otp);
/* Waits for the thread, if there is one. */
void function_names_close(struct function_names *f);

/* Starts to compare in a thread; nothing if that was done before. */
void function_names_start(struct function_names *f);
/* True while the thread compares: the functions below would wait for it. */
bool function_names_pending(const struct function_names *f);
/* Waits for the thread; compares now if there is none. */
void function_names_wait(struct function_names *f);
/* All names, ordered by address; waits until they are there.  Returns their number: 0 if the file
 * has its symbols, or ebeam has no reference of the release that is like it. */
size_t function_names_list(struct function_names *f, const struct function_name **out);
/* Address in the file of a function by its name; false = none, or more than one, has it. */
bool function_names_find(struct function_names *f, const char *name, uint64_t *addr);

#endif
