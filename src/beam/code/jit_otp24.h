/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface of OTP 24 (jit/x86/beam_asm.cpp): a record is {u64 number of ranges, start,
 * size; name} with {u64 start, end; name} of each range, all names end with a NUL.  It has no kind
 * and no lines, which are in the code's header only (code_lines.h).  The emulator's record, {0, 0},
 * is written before normal_exit has code, and so lacks its address.
 */
#ifndef EBEAM_BEAM_JIT_OTP24_H
#define EBEAM_BEAM_JIT_OTP24_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

#define JIT_OTP24_EMULATOR_SIZE 16

/* True for a module's record of OTP 24: it begins with the number of ranges, at least four, those
 * of later releases with kind 0 or 1. */
bool jit_otp24_is_module(const uint8_t *bytes, size_t size);

/* Checks the record to its last byte and converts it to the format of OTP 25 to 29: malloc'ed, NULL
 * if it is malformed.  normal_exit: 0 = unknown. */
uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size);

#endif
