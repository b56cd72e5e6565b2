/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the instructions before a return address, for callsite.c; depends on the processor. */
#ifndef EBEAM_BEAM_CALLSITE_CODE_H
#define EBEAM_BEAM_CALLSITE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/mem.h"

/* Bytes before a return address that are enough for the call and the load of its argument. */
#define CALLSITE_CODE_SIZE 24

/* Both get the CALLSITE_CODE_SIZE bytes before the return address; 0 = there is no such call. */
/* Address of the constant that holds the called C function. */
raddr callsite_code_slot(const uint8_t *code, raddr ra);
/* The C function that is passed to a guard BIF's fragment. */
raddr callsite_code_guard(const uint8_t *code);

/* True if the code at the return address restores the Erlang stack pointer from a callee-saved
 * register and not from Process.stop (emit_enter_runtime() without Update::eStack, beam_asm.hpp:
 * rbp in OTP 25 to 29, r12 in 24).  `code`: CALLSITE_AFTER_SIZE bytes. */
#define CALLSITE_AFTER_SIZE 3
bool callsite_code_keeps_stack(const uint8_t *code);
/* The target of the call that returns to `ra`, also if a jump leads there; 0 = there is no call. */
raddr callsite_code_called(struct mem *mem, raddr ra);

/* The Export of a light BIF in OTP 24, by the return address of its caller; 0 = unknown. */
raddr callsite_code_light_bif(struct mem *mem, raddr ra);

#endif
