/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in front of a return address, by the processor; of callsite.c. */
#ifndef EBEAM_BEAM_CALLSITE_CODE_H
#define EBEAM_BEAM_CALLSITE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/mem.h"

/* Bytes before a return address that may hold the call and what was loaded for it. */
#define CALLSITE_CODE_SIZE 24

/* Each is given the bytes that end at the return address `ra`; 0 = they are no such call. */
/* Where the address stands of the C function that is called. */
raddr callsite_code_slot(const uint8_t *code, raddr ra);
/* The C function that a guard BIF's fragment is called with. */
raddr callsite_code_guard(const uint8_t *code);

/* By the bytes at the return address: the Erlang stack pointer is kept in a register that C
 * functions save, and not in Process.stop (emit_enter_runtime() without Update::eStack,
 * beam_asm.hpp: rbp in OTP 25 to 29, r12 in 24). */
#define CALLSITE_AFTER_SIZE 3
bool callsite_code_keeps_stack(const uint8_t *code);
/* What JIT code called whose return address is `ra`, directly or by a jump; 0 = it is no call. */
raddr callsite_code_called(struct mem *mem, raddr ra);

/* The Export of a light BIF in OTP 24, by the return address of its caller; 0 = none is known. */
raddr callsite_code_light_bif(struct mem *mem, raddr ra);

#endif
