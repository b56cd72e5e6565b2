/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What OTP 24 does differently in the GDB JIT interface (jit/x86/beam_asm.cpp): a record is {u64
 * number of ranges, start, size; name} with {u64 start, end; name} of each range, all names end
 * with a NUL.  Nothing says what kind it is, lines are in the code's header only, and the record of
 * the emulator, {0, 0}, is written before normal_exit has its code.  Lines: code_lines.h.
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

#endif
