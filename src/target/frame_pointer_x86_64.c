/* SPDX-License-Identifier: BSD-2-Clause */
/* See frame_pointer.h. */
#include "target/frame_pointer.h"

#include <capstone/capstone.h>

#define PROLOGUE_INSNS 12 /* within which compilers set the frame pointer */
#define EPILOGUE_INSNS 12

static bool changes_stack(csh cs, const cs_insn *i)
{
	cs_regs read, written;
	uint8_t nr_read, nr_written;

	if (cs_regs_access(cs, i, read, &nr_read, written, &nr_written) != CS_ERR_OK)
		return true;
	for (uint8_t k = 0; k < nr_written; k++) {
		if (written[k] == X86_REG_RSP || written[k] == X86_REG_ESP ||
		    written[k] == X86_REG_RBP || written[k] == X86_REG_EBP)
			return true;
	}
	return false;
}

static bool is_reg(const cs_x86_op *op, x86_reg reg)
{
	return op->type == X86_OP_REG && op->reg == reg;
}

static bool pushes_bp(const cs_insn *i)
{
	return i->id == X86_INS_PUSH && is_reg(&i->detail->x86.operands[0], X86_REG_RBP);
}

static bool sets_bp(const cs_insn *i)
{
	const cs_x86 *x = &i->detail->x86;

	return i->id == X86_INS_MOV && is_reg(&x->operands[0], X86_REG_RBP) &&
	       is_reg(&x->operands[1], X86_REG_RSP);
}

/* True if the prologue is over before `at`. */
static bool prologue_ends(csh cs, const cs_insn *insns, size_t nr, size_t at)
{
	size_t i = 0;

	if (i < nr && insns[i].id == X86_INS_ENDBR64)
		i++;
	if (i >= nr || !pushes_bp(&insns[i]))
		return false;
	for (i++; i < nr && insns[i].address < at; i++) {
		if (sets_bp(&insns[i]))
			return insns[i].address + insns[i].size <= at;
		if (changes_stack(cs, &insns[i]) || cs_insn_group(cs, &insns[i], CS_GRP_JUMP) ||
		    cs_insn_group(cs, &insns[i], CS_GRP_RET))
			return false;
	}
	return false;
}

/* From an instruction on up to where the function is left: has rbp been restored before it? */
static enum frame_pointer epilogue(csh cs, const cs_insn *insns, size_t nr, size_t size)
{
	for (size_t i = 0; i < nr; i++) {
		const cs_x86 *x = &insns[i].detail->x86;

		if (cs_insn_group(cs, &insns[i], CS_GRP_RET))
			return FRAME_POINTER_POPPED;
		if (insns[i].id == X86_INS_JMP) /* a tail call, or within the function */
			return x->operands[0].type == X86_OP_IMM &&
					       (uint64_t)x->operands[0].imm >= size
				       ? FRAME_POINTER_POPPED
				       : FRAME_POINTER_SET;
		if (changes_stack(cs, &insns[i]) || cs_insn_group(cs, &insns[i], CS_GRP_JUMP))
			break;
	}
	return FRAME_POINTER_SET;
}

enum frame_pointer frame_pointer_at(const uint8_t *code, size_t size, size_t at, bool exact)
{
	enum frame_pointer result = FRAME_POINTER_NONE;
	cs_insn *insns = NULL;
	size_t nr;
	csh cs;

	if (at >= size || cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return FRAME_POINTER_NONE;
	cs_option(cs, CS_OPT_DETAIL, CS_OPT_ON);
	nr = cs_disasm(cs, code, size, 0, PROLOGUE_INSNS, &insns);
	if (nr && prologue_ends(cs, insns, nr, at))
		result = FRAME_POINTER_SET;
	if (nr)
		cs_free(insns, nr);
	if (result == FRAME_POINTER_SET && exact) {
		nr = cs_disasm(cs, code + at, size - at, at, EPILOGUE_INSNS, &insns);
		result = nr ? epilogue(cs, insns, nr, size) : FRAME_POINTER_NONE;
		if (nr)
			cs_free(insns, nr);
	}
	cs_close(&cs);
	return result;
}
