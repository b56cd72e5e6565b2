/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions a piece of x86-64 code calls, derived from its bytes: those of a C function, and
 * those of a fragment that the JIT made, which calls through addresses that stand behind its code.
 */
#ifndef EBEAM_PROBE_CODE_CALLS_H
#define EBEAM_PROBE_CODE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_call {
	uint64_t at;	 /* the instruction */
	uint64_t target; /* never within the code itself, unless it is a call */
	bool jump;	 /* out of the code: in tail position, or to a part of it elsewhere */
	bool process;	 /* what it returns goes to r13, where JIT code has its process */
};

struct code_bytes {
	const uint8_t *bytes;
	size_t size;
	uint64_t addr; /* of the first */
	/* The word at an address that code calls through; false = not to be had.  NULL: calls
	 * through memory are not looked at. */
	bool (*read_word)(void *ctx, uint64_t addr, uint64_t *value);
	void *ctx;
};

/*
 * Calls in order of their addresses into `out`: how many there are, up to `max`; SIZE_MAX if there
 * are more, or the code cannot be decoded to its end.
 */
size_t code_calls_find(const struct code_bytes *code, struct code_call *out, size_t max);

/* Target of the first call from `addr` on, within that many instructions; 0 = none. */
uint64_t code_calls_first(const struct code_bytes *code, unsigned int instructions);

#endif
