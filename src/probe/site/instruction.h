/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes one x86-64 instruction as far as uprobes need it: what the kernel does with a uprobe
 * on it.  Lengths come from a disassembler. */
#ifndef EBEAM_PROBE_INSTRUCTION_H
#define EBEAM_PROBE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>

/* Parts of an instruction. */
struct raw_instruction {
	const unsigned char *opcode; /* after all prefixes */
	size_t len;		     /* from the opcode to the end */
	unsigned char rex;	     /* 0 = none */
	bool operand_size;	     /* 66 */
	bool forbidden;		     /* segment or lock prefix: the kernel refuses a uprobe */
	bool other_prefix;	     /* f2, f3, 67, 64, 65 */
};

struct raw_instruction instruction_take_apart(const unsigned char *insn, size_t size);
bool instruction_is_conditional_jump(const struct raw_instruction *r);

/* How the kernel runs an instruction with a uprobe on it. */
enum instruction_kind {
	INSTRUCTION_EMULATED,
	INSTRUCTION_STEPPED,
	INSTRUCTION_FORBIDDEN, /* the kernel refuses the uprobe, or mishandles the instruction */
};
/* `nops`: this kernel also emulates long nops. */
enum instruction_kind instruction_kind_of(const unsigned char *insn, size_t size, bool nops);

#endif
