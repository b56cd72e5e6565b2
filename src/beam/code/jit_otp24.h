/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface of OTP 24 (jit/x86/beam_asm.cpp): a record is {u64 number of ranges, start,
 * size; name} with {u64 start, end; name} of each range, all names end with a NUL.  It has no kind;
 * lines are in the code's header only (code_lines.h); and the emulator's record, {0, 0}, is written
 * before normal_exit has its code.
 */
#ifndef EBEAM_BEAM_JIT_OTP24_H
#define EBEAM_BEAM_JIT_OTP24_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

#define JIT_OTP24_EMULATOR_SIZE 16

/* Records of later releases cannot begin like that: their first word is kind 0 or 1, and a module
 * has at least four ranges. */
bool jit_otp24_is_module(const uint8_t *bytes, size_t size);

/* Checks the record to its last byte and converts it to the format of OTP 25 to 29: malloc'ed, NULL
 * if it is malformed.  normal_exit: 0 = unknown. */
uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size);

#endif
