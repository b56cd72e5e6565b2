/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See instruction.h.  What the kernel emulates: arch/x86/kernel/uprobes.c, branch_setup_xol_ops()
 * and push_setup_xol_ops(), the same in Linux 5.15 to 6.18 but for long nops (6.16); what it
 * refuses: uprobe_init_insn() there.
 */
#include "probe/site/instruction.h"

#include <string.h>

#include "base/compiler.h"

static bool is_legacy_prefix(unsigned char c, struct raw_instruction *r)
{
	switch (c) {
	case 0x66:
		r->operand_size = true;
		return true;
	case 0x26: /* es, cs, ss, ds, lock: is_prefix_bad() of the kernel */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0xf0:
		r->forbidden = true;
		return true;
	case 0xf2:
	case 0xf3:
	case 0x67:
	case 0x64:
	case 0x65:
		r->other_prefix = true;
		return true;
	default:
		return false;
	}
}

struct raw_instruction instruction_take_apart(const unsigned char *insn, size_t size)
{
	struct raw_instruction r = {0};
	size_t i = 0;

	while (i < size && is_legacy_prefix(insn[i], &r))
		i++;
	if (i < size && (insn[i] & 0xf0) == 0x40)
		r.rex = insn[i++];
	r.opcode = insn + i;
	r.len = size - i;
	return r;
}

bool instruction_is_conditional_jump(const struct raw_instruction *r)
{
	return r->len > 0 &&
	       ((r->opcode[0] & 0xf0) == 0x70 ||
		(r->opcode[0] == 0x0f && r->len > 1 && (r->opcode[1] & 0xf0) == 0x80));
}

static bool is_relative(const struct raw_instruction *r)
{
	return r->len > 0 && (r->opcode[0] == 0xeb || r->opcode[0] == 0xe9 ||
			      r->opcode[0] == 0xe8 || instruction_is_conditional_jump(r));
}

/*
 * x86_nops[] of arch/x86/include/asm/nops.h, which the kernel compares with the whole instruction.
 * Not the nop of five bytes: Linux 6.18 and later write a call in its place (ba2bfc97b462,
 * "uprobes/x86: Add support to optimize uprobes"), whose return address overwrites what a leaf
 * function keeps below its stack pointer; until 554ba38456da ("uprobes/x86: Move optimized uprobe
 * from nop5 to nop10").
 */
static bool is_long_nop(const unsigned char *insn, size_t size)
{
	static const unsigned char nops[][8] = {
		[2] = {0x66, 0x90},	  [3] = {0x0f, 0x1f, 0x00},
		[4] = {0x0f, 0x1f, 0x40}, [6] = {0x66, 0x0f, 0x1f, 0x44},
		[7] = {0x0f, 0x1f, 0x80}, [8] = {0x0f, 0x1f, 0x84},
	};

	return size >= 2 && size != 5 && size < ARRAY_SIZE(nops) &&
	       memcmp(insn, nops[size], size) == 0;
}

/* One-byte opcodes on which the kernel allows no uprobe in 64-bit programs: not in
 * good_insns_64[]. */
static bool is_bad_opcode(unsigned char c)
{
	static const unsigned char bad[] = {
		0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x62,
		0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4,
		0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb,
	};

	return memchr(bad, c, sizeof(bad)) != NULL;
}

enum instruction_kind instruction_kind_of(const unsigned char *insn, size_t size, bool nops)
{
	struct raw_instruction r = instruction_take_apart(insn, size);

	if (r.len == 0 || r.forbidden || is_bad_opcode(r.opcode[0]))
		return INSTRUCTION_FORBIDDEN;
	if (is_long_nop(insn, size) && nops)
		return INSTRUCTION_EMULATED;
	if (is_relative(&r))
		return r.operand_size ? INSTRUCTION_FORBIDDEN : INSTRUCTION_EMULATED;
	if (r.opcode[0] == 0x90) {
		/* 90 with a REX prefix is xchg, which the kernel takes for a nop. */
		if (r.rex || r.operand_size)
			return INSTRUCTION_FORBIDDEN;
		return r.other_prefix ? INSTRUCTION_STEPPED : INSTRUCTION_EMULATED; /* pause */
	}
	if ((r.opcode[0] & 0xf8) == 0x50 && (size == 1 || (size == 2 && r.rex == 0x41)))
		return INSTRUCTION_EMULATED;
	return INSTRUCTION_STEPPED;
}
