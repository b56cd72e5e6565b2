/* SPDX-License-Identifier: BSD-2-Clause */
/* See usdt_internal.h. */
#include <string.h>

#include "base/compiler.h"
#include "target/usdt_internal.h"

/* Names of each register by size: 8, 4, 2, 1 bytes. */
static const char *const registers[NR_USDT_REGISTERS][4] = {
	[USDT_RAX] = {"rax", "eax", "ax", "al"},      [USDT_RBX] = {"rbx", "ebx", "bx", "bl"},
	[USDT_RCX] = {"rcx", "ecx", "cx", "cl"},      [USDT_RDX] = {"rdx", "edx", "dx", "dl"},
	[USDT_RSI] = {"rsi", "esi", "si", "sil"},     [USDT_RDI] = {"rdi", "edi", "di", "dil"},
	[USDT_RBP] = {"rbp", "ebp", "bp", "bpl"},     [USDT_RSP] = {"rsp", "esp", "sp", "spl"},
	[USDT_R8] = {"r8", "r8d", "r8w", "r8b"},      [USDT_R9] = {"r9", "r9d", "r9w", "r9b"},
	[USDT_R10] = {"r10", "r10d", "r10w", "r10b"}, [USDT_R11] = {"r11", "r11d", "r11w", "r11b"},
	[USDT_R12] = {"r12", "r12d", "r12w", "r12b"}, [USDT_R13] = {"r13", "r13d", "r13w", "r13b"},
	[USDT_R14] = {"r14", "r14d", "r14w", "r14b"}, [USDT_R15] = {"r15", "r15d", "r15w", "r15b"},
};
static const char *const second_bytes[] = {
	[USDT_RAX] = "ah", [USDT_RBX] = "bh", [USDT_RCX] = "ch", [USDT_RDX] = "dh"};

bool usdt_parse_register(const char *text, const char **end, struct usdt_arg *arg)
{
	size_t len;

	if (*text++ != '%')
		return false;
	len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
	*end = text + len;
	for (int reg = 0; reg < NR_USDT_REGISTERS; reg++) {
		for (int i = 0; i < 4; i++) {
			if (strlen(registers[reg][i]) == len &&
			    memcmp(registers[reg][i], text, len) == 0) {
				arg->reg = (uint8_t)reg;
				return true;
			}
		}
		if (reg < (int)ARRAY_SIZE(second_bytes) && len == 2 &&
		    memcmp(second_bytes[reg], text, len) == 0) {
			arg->reg = (uint8_t)reg;
			arg->shift = 8;
			return true;
		}
	}
	return false;
}
