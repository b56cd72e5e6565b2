/* SPDX-License-Identifier: BSD-2-Clause */
/* See callsite_code.h. */
#include "beam/code/callsite_code.h"

#include "base/bytes.h"

/* `call [rip + disp32]` = ff 15 disp32, right before ra. */
raddr callsite_code_slot(const uint8_t *code, raddr ra)
{
	const uint8_t *call = code + CALLSITE_CODE_SIZE - 6;

	return call[0] == 0xff && call[1] == 0x15 ? ra + bytes_disp32(call, 2) : 0;
}

/* `movabs rcx, imm64` (48 b9), then the call of the fragment: e8 rel32, with an empty REX prefix if
 * it had to be aligned. */
raddr callsite_code_guard(const uint8_t *code)
{
	for (int call = 5; call <= 6; call++) {
		const uint8_t *at = code + CALLSITE_CODE_SIZE - call, *mov = at - 10;

		if (at[call - 5] != 0xe8 || (call == 6 && at[0] != 0x40))
			continue;
		if (mov[0] == 0x48 && mov[1] == 0xb9)
			return bytes_u64(mov, 2);
	}
	return 0;
}

/* `mov rsp, rbp`, `mov rsp, r12` */
bool callsite_code_keeps_stack(const uint8_t *code)
{
	return (code[0] == 0x48 && code[1] == 0x89 && code[2] == 0xec) ||
	       (code[0] == 0x4c && code[1] == 0x89 && code[2] == 0xe4);
}

/* `call rel32` = e8 rel32.  For a fragment that is too far away a module has a jump: `jmp rel32` =
 * e9 rel32 or `jmp [rip + disp32]` = ff 25 disp32, with an empty REX prefix if it is aligned. */
raddr callsite_code_called(struct mem *mem, raddr ra)
{
	uint8_t call[5], jump[7];
	raddr to;
	int prefix;

	if (mem_read(mem, ra - sizeof(call), call, sizeof(call)) || call[0] != 0xe8)
		return 0;
	to = ra + bytes_disp32(call, 1);
	if (mem_read(mem, to, jump, sizeof(jump)))
		return 0;
	prefix = jump[0] == 0x40;
	if (jump[prefix] == 0xe9)
		return to + (raddr)prefix + 5 + bytes_disp32(jump, prefix + 1);
	if (prefix || jump[0] != 0xff || jump[1] != 0x25)
		return to;
	return mem_read_u64(mem, to + 6 + bytes_disp32(jump, 2), &to) ? 0 : to;
}

/*
 * In OTP 24 the code of a call of a light BIF (emit_call_light_bif() of instr_bif.cpp) begins with
 * `movabs rcx, Export`.  The address of this beginning is loaded by `lea rdx, [rip + disp]`
 * (48 8d 15), right before the padding and the call of 6 bytes that returns to `ra`.
 */
raddr callsite_code_light_bif(struct mem *mem, raddr ra)
{
	uint8_t code[CALLSITE_CODE_SIZE], mov[10];

	if (!ra || mem_read(mem, ra - CALLSITE_CODE_SIZE, code, sizeof(code)))
		return 0;
	for (int filler = 0; filler <= 3; filler++) {
		int lea = CALLSITE_CODE_SIZE - 6 - filler - 7;

		if (code[lea] != 0x48 || code[lea + 1] != 0x8d || code[lea + 2] != 0x15)
			continue;
		if (mem_read(mem, ra - 6 - (raddr)filler + bytes_disp32(code, lea + 3), mov,
			     sizeof(mov)) ||
		    mov[0] != 0x48 || mov[1] != 0xb9)
			return 0;
		return bytes_u64(mov, 2);
	}
	return 0;
}
