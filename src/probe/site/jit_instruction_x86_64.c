/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See jit_instruction.h.  emit_remove_message() of jit/x86/instr_msg.cpp, OTP 25 to 29, passes
 * (process, reductions, heap top, stack, code index) and keeps what comes back as reductions; no
 * other instruction does both.  Registers: r13 process, r14 reductions, r15 heap top, rsp stack,
 * r12 code index (jit/x86/beam_asm.hpp).
 */
#include "probe/site/jit_instruction.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

/* Heap top and stack are loaded before the switch to the C stack, the other arguments after it. */
#define LOADS	   6  /* mov %r15, %rdx; mov %rsp, %rcx */
#define SWITCH_MAX 28 /* most bytes from the loads to the call; known builds have 19 to 22 */
#define CALL_SIZE  6

static bool is_call(const uint8_t *at, const uint8_t *begin)
{
	/* mov %r12, %r8; call *slot; mov %rax, %r14, 64 bits wide or 32 */
	return at - begin >= 6 && (at[-3] & 0xf2) == 0x40 && at[-3] >= 0x45 && at[-2] == 0x89 &&
	       at[-1] == 0xe0 && at[0] == 0xff && at[1] == 0x15 &&
	       (at[6] == 0x41 || at[6] == 0x49) && at[7] == 0x89 && at[8] == 0xc6;
}

static bool passes_process(const uint8_t *from, const uint8_t *to)
{
	return memmem(from, (size_t)(to - from), "\x4c\x89\xef", 3) != NULL; /* mov %r13, %rdi */
}

uint64_t jit_instruction_remove_message(const struct code_bytes *code, size_t *at)
{
	static const uint8_t loads[LOADS] = {0x4c, 0x89, 0xfa, 0x48, 0x89, 0xe1};
	const uint8_t *end = code->bytes + code->size, *p = code->bytes + *at;

	while (p < end && (p = memmem(p, (size_t)(end - p), loads, LOADS)) != NULL) {
		const uint8_t *behind = p + LOADS, *call = behind;
		const uint8_t *last = behind + MIN(SWITCH_MAX, (size_t)(end - behind));
		uint64_t target;
		int32_t disp;

		while (call < last && !(end - call >= CALL_SIZE + 3 && is_call(call, behind)))
			call++;
		p = behind;
		if (call >= last || !passes_process(behind, call))
			continue;
		memcpy(&disp, call + 2, sizeof(disp));
		*at = (size_t)(call - code->bytes) + CALL_SIZE;
		if (code->read_word(code->ctx, code->addr + *at + (uint64_t)(int64_t)disp, &target))
			return target;
		p = call + CALL_SIZE;
	}
	*at = code->size;
	return 0;
}
