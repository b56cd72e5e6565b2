/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the verifier saw of each program on each kernel, as a table: kernel, program, instructions
 * processed, bytes of stack of the deepest chain of calls, states.  Needs no cmocka: tools/verify.c
 * writes it and compares with it.
 */
#ifndef EBEAM_TESTS_VERIFIER_BASELINE_H
#define EBEAM_TESTS_VERIFIER_BASELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/vec.h"

struct baseline_row {
	char kernel[16]; /* "6.1" */
	char program[64];
	unsigned int instructions, stack, states;
};

struct baseline {
	VEC(struct baseline_row) rows;
};

/* "6.1" of the release "6.1.0-41-amd64", as large as struct baseline_row has it. */
void baseline_kernel(char *out, size_t size, const char *release);

/* Adds the rows of a file; false and errno if it cannot be read, EINVAL if it is none. */
bool baseline_read(struct baseline *b, FILE *f);
void baseline_write(struct baseline *b, FILE *f);
/* `fresh` instead of what there is of its kernels. */
void baseline_renew(struct baseline *b, const struct baseline *fresh);

/*
 * Says what in `now`, rows of one kernel, grew by more than a quarter, or is not in the table;
 * returns how many programs that are.  Of a kernel that is not in the table at all nothing is said,
 * and *known is false.
 */
unsigned int baseline_compare(const struct baseline *b, const struct baseline *now, bool *known,
			      FILE *out);

#endif
