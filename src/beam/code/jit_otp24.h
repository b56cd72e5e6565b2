/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What OTP 24 does differently in the GDB JIT interface (jit/x86/beam_asm.cpp): a record is {u64
 * number of ranges, start, size; name} with {u64 start, end; name} of each range, all names end
 * with a NUL.  Nothing says what kind it is, lines are in the code's header only, and the record of
 * the emulator, {0, 0}, is written before normal_exit has its code.
 */
#ifndef EBEAM_BEAM_JIT_OTP24_H
#define EBEAM_BEAM_JIT_OTP24_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

#define JIT_OTP24_EMULATOR_SIZE 16

/* No later release has a record that begins like that: theirs is of kind 0 or 1, and no module has
 * less than four ranges. */
bool jit_otp24_is_module(const uint8_t *bytes, size_t size);

/* Checks the record to its last byte, and gives it as OTP 25 to 29 would have written it:
 * malloc'ed, NULL if it is none.  normal_exit: 0 = unknown. */
uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size);

struct jit_otp24_line {
	uint32_t start,
		line; /* offset from the module's start; line 0: from here on none is known */
	const char *file;
};

struct jit_otp24_lines {
	size_t nr;
	struct jit_otp24_line *at; /* by start */
	char *module_file;	   /* "lists.erl" */
	bool too_many;		   /* there are more than were allowed: none was taken */
};

/* Reads the lines of a module whose code is at [start, end), unless there are more than `most`:
 * false while its header is not filled in, or no longer there. */
bool jit_otp24_lines_read(struct jit_otp24_lines *out, const struct beam_node *n, raddr start,
			  raddr end, const char *module, size_t module_len, size_t most);
void jit_otp24_lines_free(struct jit_otp24_lines *l);
/* The line of an offset in a function whose code begins at `function`; NULL = unknown. */
const struct jit_otp24_line *jit_otp24_line_at(const struct jit_otp24_lines *l, uint32_t function,
					       uint32_t offset);

#endif
