/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions a piece of x86-64 code calls, found by decoding it: a C function, or a
 * fragment of the JIT, which calls through addresses that follow its code. */
#ifndef EBEAM_PROBE_CODE_CALLS_H
#define EBEAM_PROBE_CODE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_call {
	uint64_t at;	 /* address of the instruction */
	uint64_t target; /* of a jump: always outside of the code */
	bool jump;	 /* a jump out of the code: tail call, or to a part elsewhere */
	bool process;	 /* result goes to r13, the process register of JIT code */
};

struct code_bytes {
	const uint8_t *bytes;
	size_t size;
	uint64_t addr; /* of the first byte */
	/* Reads the word at an address that code calls through; false = it cannot be read.  NULL:
	 * ignore calls through memory. */
	bool (*read_word)(void *ctx, uint64_t addr, uint64_t *value);
	void *ctx;
};

/* Stores calls in `out`, ordered by address.  Returns their number, up to `max`; SIZE_MAX if
 * there are more, or the code cannot be decoded to its end. */
size_t code_calls_find(const struct code_bytes *code, struct code_call *out, size_t max);

/* Target of the first call within so many instructions from the start of the code; 0 = none. */
uint64_t code_calls_first(const struct code_bytes *code, unsigned int instructions);

#endif
