/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One x86-64 instruction by its bytes, as far as uprobes need it: what the kernel does with a
 * uprobe on it.  Lengths come from a disassembler.
 */
#ifndef EBEAM_PROBE_INSTRUCTION_H
#define EBEAM_PROBE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>

/* An instruction taken apart as far as needed. */
struct raw_instruction {
	const unsigned char *opcode; /* behind all prefixes */
	size_t len;		     /* of the opcode and what follows */
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
	INSTRUCTION_FORBIDDEN, /* it refuses the probe, or gets the instruction wrong */
};
/* `nops`: this kernel emulates long nops too. */
enum instruction_kind instruction_kind_of(const unsigned char *insn, size_t size, bool nops);

#endif
