/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See placement.h.  Decodes with Capstone twice: the straight line from the entry, with the
 * registers that each instruction writes, and the whole function, for jumps back into that line.
 * Jumps are decoded here from their bytes, which is fast, as it does not need the details of
 * Capstone.
 */
#include "probe/site/placement.h"

#include <capstone/capstone.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/site/instruction.h"

#define MAX_LINE	  128u /* bytes from the entry that are searched for a site */
#define MAX_PARTS	  16u  /* parts of a function elsewhere in the file */
#define MAX_TABLES	  256u /* addresses in a function that may be jump tables */
#define MAX_TABLE_ENTRIES 4096u

/* ---- the straight line ----------------------------------------------------------------------- */

struct search {
	struct placement *out;
	const struct placement_code *code;
	const struct placement_image *image;
	const struct placement_request *request;
	csh capstone;
	cs_insn *insn;
};

/* Records that there is no site, and why. */
static void __attribute__((format(printf, 2, 3))) refuse(struct search *s, const char *fmt, ...)
{
	va_list ap;

	*s->out = (struct placement){0};
	va_start(ap, fmt);
	vsnprintf(s->out->reason, sizeof(s->out->reason), fmt, ap);
	va_end(ap);
}

/* The 64-bit register that `reg` is a part of, as a PLACEMENT_* bit; 0 = it carries no argument. */
static unsigned int argument_of(uint16_t reg)
{
	switch (reg) {
	case X86_REG_RDI:
	case X86_REG_EDI:
	case X86_REG_DI:
	case X86_REG_DIL:
		return PLACEMENT_RDI;
	case X86_REG_RSI:
	case X86_REG_ESI:
	case X86_REG_SI:
	case X86_REG_SIL:
		return PLACEMENT_RSI;
	case X86_REG_RDX:
	case X86_REG_EDX:
	case X86_REG_DX:
	case X86_REG_DL:
	case X86_REG_DH:
		return PLACEMENT_RDX;
	case X86_REG_RCX:
	case X86_REG_ECX:
	case X86_REG_CX:
	case X86_REG_CL:
	case X86_REG_CH:
		return PLACEMENT_RCX;
	case X86_REG_R8:
	case X86_REG_R8D:
	case X86_REG_R8W:
	case X86_REG_R8B:
		return PLACEMENT_R8;
	case X86_REG_R9:
	case X86_REG_R9D:
	case X86_REG_R9W:
	case X86_REG_R9B:
		return PLACEMENT_R9;
	default:
		return 0;
	}
}

/* Instructions of prologues that are known to go on to the next one and to write only their
 * first operand (and flags; push also writes rsp).  All others end the line: what Capstone says
 * about implicit registers is not relied on. */
static bool is_plain(unsigned int id)
{
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_LEA:
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_XOR:
	case X86_INS_NOT:
	case X86_INS_NEG:
	case X86_INS_INC:
	case X86_INS_DEC:
	case X86_INS_SHL:
	case X86_INS_SHR:
	case X86_INS_SAR:
	case X86_INS_CMP:
	case X86_INS_TEST:
	case X86_INS_BT:
	case X86_INS_PUSH:
	case X86_INS_NOP:
	case X86_INS_MOVAPS:
	case X86_INS_MOVUPS:
	case X86_INS_MOVDQA:
	case X86_INS_MOVDQU:
	case X86_INS_MOVD:
	case X86_INS_MOVQ:
	case X86_INS_PXOR:
	case X86_INS_XORPS:
		return true;
	default:
		return false;
	}
}

/* cmp, test, bt and push read their first operand. */
static bool writes_first_operand(unsigned int id)
{
	return id != X86_INS_CMP && id != X86_INS_TEST && id != X86_INS_BT && id != X86_INS_PUSH &&
	       id != X86_INS_NOP;
}

static bool is_endbr64(const cs_insn *insn)
{
	static const unsigned char bytes[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return insn->size == sizeof(bytes) && memcmp(insn->bytes, bytes, sizeof(bytes)) == 0;
}

/* The effect of an instruction of the line.  NULL if the line goes on: the arguments that it
 * overwrites are taken out of *args, and *depth is the depth of the stack after it.  Else why
 * the line ends there. */
static const char *step(const cs_insn *insn, unsigned int *args, uint32_t *depth)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];

	if (is_endbr64(insn))
		return NULL;
	if (!is_plain(insn->id))
		return "may leave the straight line";
	if (insn->id == X86_INS_PUSH) {
		if (instruction_kind_of(insn->bytes, insn->size, false) != INSTRUCTION_EMULATED)
			return "is an unusual push";
		*depth += 8;
		return NULL;
	}
	if (!writes_first_operand(insn->id) || x86->op_count == 0 || to->type != X86_OP_REG)
		return NULL;
	if (to->reg == X86_REG_RSP) {
		if (insn->id != X86_INS_SUB || x86->op_count < 2 ||
		    x86->operands[1].type != X86_OP_IMM || x86->operands[1].imm < 0 ||
		    x86->operands[1].imm > INT32_MAX)
			return "moves the stack in an unknown way";
		*depth += (uint32_t)x86->operands[1].imm;
	}
	*args &= ~argument_of((uint16_t)to->reg);
	return NULL;
}

static bool is_usable(const struct search *s, const cs_insn *insn, uint32_t depth)
{
	return instruction_kind_of(insn->bytes, insn->size, s->request->nops) ==
		       INSTRUCTION_EMULATED &&
	       !(s->request->returns && depth != 0);
}

static void set_site(struct search *s, const cs_insn *insn, uint32_t offset, uint32_t depth)
{
	s->out->ok = true;
	s->out->offset = offset;
	s->out->stack_depth = depth;
	snprintf(s->out->instruction, sizeof(s->out->instruction), "%.15s%s%.47s", insn->mnemonic,
		 insn->op_str[0] ? " " : "", insn->op_str);
}

/* Fills in the first good site of the line, else the entry; false if the function is refused. */
static bool find_site(struct search *s)
{
	size_t left = s->code->size;
	const uint8_t *at = s->code->bytes;
	uint64_t addr = s->code->addr;
	unsigned int args = s->request->args;
	uint32_t depth = 0;
	const char *end = NULL;

	cs_option(s->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	while (left > 0 && addr - s->code->addr < MAX_LINE) {
		uint32_t offset = (uint32_t)(addr - s->code->addr);

		if (!cs_disasm_iter(s->capstone, &at, &left, &addr, s->insn)) {
			end = "cannot be decoded";
			snprintf(s->insn->mnemonic, sizeof(s->insn->mnemonic), "instruction");
		} else if (is_usable(s, s->insn, depth)) {
			set_site(s, s->insn, offset, depth);
			s->out->emulated = true;
			s->out->reason[0] = '\0';
			return true;
		} else if (offset == 0) {
			if (instruction_kind_of(s->insn->bytes, s->insn->size, s->request->nops) ==
			    INSTRUCTION_FORBIDDEN) {
				refuse(s, "the kernel refuses a uprobe on '%s %s' at the entry",
				       s->insn->mnemonic, s->insn->op_str);
				return false;
			}
			set_site(s, s->insn, 0, 0);
		}
		if (!end)
			end = step(s->insn, &args, &depth);
		if (!end && args != s->request->args)
			end = "overwrites an argument";
		if (!end && s->request->returns && depth != 0)
			end = "moves the stack away from the return address";
		if (end) {
			snprintf(s->out->reason, sizeof(s->out->reason), "%s at +%u %s",
				 s->insn->mnemonic, offset, end);
			break;
		}
	}
	if (!s->out->ok)
		refuse(s, "the entry cannot be decoded");
	else if (!end)
		snprintf(s->out->reason, sizeof(s->out->reason),
			 "no instruction that the kernel emulates in %u bytes", MAX_LINE);
	return s->out->ok;
}

/* ---- jumps into the line --------------------------------------------------------------------- */

struct jumps {
	uint64_t parts[MAX_PARTS]; /* starts of parts elsewhere that jumps lead to */
	unsigned int nr_parts;
	uint64_t tables[MAX_TABLES]; /* addresses of constants that the function loads */
	unsigned int nr_tables;
	bool too_many;
	bool indirect;	   /* there is an indirect jump */
	uint64_t absolute; /* table of addresses of an indexed jump; 0 = none */
};

/* Target of a relative jump (not of a call). */
static bool jump_target(const cs_insn *insn, const struct raw_instruction *r, uint64_t *target)
{
	unsigned char op = r->len > 0 ? r->opcode[0] : 0;
	uint64_t next = insn->address + insn->size;
	int32_t rel32;

	if (op == 0xeb || (op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0) { /* e0 to e3: loop, jrcxz */
		*target = next + (uint64_t)(int64_t)(int8_t)r->opcode[r->len - 1];
		return true;
	}
	if (op != 0xe9 && !instruction_is_conditional_jump(r))
		return false;
	if (r->len < 5)
		return false;
	memcpy(&rel32, r->opcode + r->len - 4, sizeof(rel32));
	*target = next + (uint64_t)(int64_t)rel32;
	return true;
}

/* Address that `lea address(%rip), reg` loads. */
static bool taken_address(const cs_insn *insn, const struct raw_instruction *r, uint64_t *address)
{
	int32_t disp;

	if (r->len != 6 || r->opcode[0] != 0x8d || (r->opcode[1] & 0xc7) != 0x05)
		return false;
	memcpy(&disp, r->opcode + 2, sizeof(disp));
	*address = insn->address + insn->size + (uint64_t)(int64_t)disp;
	return true;
}

/* A table of addresses in `jmp *table(,%reg,8)` or `mov table(,%reg,8), %reg` (not in PIEs). */
static bool indexed_table(const struct raw_instruction *r, uint64_t *address)
{
	int32_t disp;

	if (r->len != 7 || (r->opcode[0] != 0xff && r->opcode[0] != 0x8b) ||
	    (r->opcode[1] & 0xc7) != 0x04 || (r->opcode[2] & 0xc7) != 0xc5)
		return false;
	memcpy(&disp, r->opcode + 3, sizeof(disp));
	*address = (uint64_t)(int64_t)disp;
	return disp > 0;
}

static bool is_indirect_jump(const struct raw_instruction *r)
{
	return r->len > 1 && r->opcode[0] == 0xff && ((r->opcode[1] >> 3) & 7) == 4;
}

/* True if target is in the line: from the entry (`from_entry`) or after it, up to and with the
 * site. */
static bool is_in_line(const struct search *s, uint64_t target, bool from_entry)
{
	return target >= s->code->addr + (from_entry ? 0 : 1) &&
	       target <= s->code->addr + s->out->offset;
}

static void add_part(struct search *s, struct jumps *j, uint64_t target)
{
	uint64_t start, end;

	if (target - s->code->addr < s->code->size || !s->image->function_at ||
	    !s->image->function_at(s->image->ctx, target, &start, &end))
		return;
	for (unsigned int i = 0; i < j->nr_parts; i++)
		if (j->parts[i] == start)
			return;
	if (j->nr_parts == MAX_PARTS)
		j->too_many = true;
	else
		j->parts[j->nr_parts++] = start;
}

static void add_table(struct jumps *j, uint64_t address)
{
	for (unsigned int i = 0; i < j->nr_tables; i++)
		if (j->tables[i] == address)
			return;
	if (j->nr_tables == MAX_TABLES)
		j->too_many = true;
	else
		j->tables[j->nr_tables++] = address;
}

/* Examines each instruction of a part; false, and refused, if a jump leads into the line.  A
 * jump from another part to the entry itself is a tail call by another function. */
static bool scan(struct search *s, const struct placement_code *part, struct jumps *j, bool own)
{
	const uint8_t *at = part->bytes;
	uint64_t addr = part->addr, target;
	size_t left = part->size;

	cs_option(s->capstone, CS_OPT_DETAIL, CS_OPT_OFF);
	while (left > 0) {
		struct raw_instruction r;

		if (!cs_disasm_iter(s->capstone, &at, &left, &addr, s->insn)) {
			refuse(s, "the instruction at %s+%llu cannot be decoded",
			       own ? "" : "another part ", (unsigned long long)(addr - part->addr));
			return false;
		}
		r = instruction_take_apart(s->insn->bytes, s->insn->size);
		if (jump_target(s->insn, &r, &target)) {
			if (is_in_line(s, target, own)) {
				refuse(s, "%s at %s+%llu leads back to +%llu", s->insn->mnemonic,
				       own ? "" : "another part ",
				       (unsigned long long)(s->insn->address - part->addr),
				       (unsigned long long)(target - s->code->addr));
				return false;
			}
			if (own)
				add_part(s, j, target);
		} else if (taken_address(s->insn, &r, &target)) {
			add_table(j, target);
		} else if (indexed_table(&r, &target)) {
			j->absolute = target;
		}
		j->indirect |= is_indirect_jump(&r);
	}
	return true;
}

/* True if an entry of the table leads into the line.  A table ends at the first entry that does not
 * lead to code, so what is not a table ends at once. */
static bool table_leads_back(struct search *s, uint64_t table, size_t entry_size)
{
	for (uint64_t i = 0; i < MAX_TABLE_ENTRIES; i++) {
		uint64_t entry = 0, target;

		if (s->image->read(s->image->ctx, table + i * entry_size, &entry, entry_size) !=
		    entry_size)
			return false;
		target = entry_size == 4 ? table + (uint64_t)(int64_t)(int32_t)(uint32_t)entry
					 : entry;
		if (!s->image->is_code(s->image->ctx, target))
			return false;
		if (is_in_line(s, target, true))
			return true;
	}
	return false;
}

static bool check_tables(struct search *s, const struct jumps *j)
{
	bool back = false;

	if (!j->indirect)
		return true;
	if (!s->image->read || !s->image->is_code) {
		refuse(s, "where its jump tables lead is not known");
		return false;
	}
	for (unsigned int i = 0; i < j->nr_tables && !back; i++)
		back = table_leads_back(s, j->tables[i], 4);
	if (j->absolute)
		back |= table_leads_back(s, j->absolute, 8);
	if (back)
		refuse(s, "a jump table leads back into the first %u bytes", s->out->offset + 1);
	return !back;
}

static bool scan_part(struct search *s, uint64_t start, struct jumps *j)
{
	struct placement_code part = {.addr = start};
	unsigned char *bytes;
	uint64_t end;
	bool ok = false;

	if (!s->image->function_at(s->image->ctx, start, &start, &end) ||
	    end - start > PLACEMENT_MAX_FUNCTION || !s->image->read) {
		refuse(s, "a part of it cannot be read");
		return false;
	}
	part.size = (size_t)(end - start);
	bytes = xmalloc(part.size);
	part.bytes = bytes;
	if (s->image->read(s->image->ctx, start, bytes, part.size) == part.size)
		ok = scan(s, &part, j, false);
	else
		refuse(s, "a part of it cannot be read");
	free(bytes);
	return ok;
}

static void check_jumps(struct search *s)
{
	struct jumps *j = xcalloc(1, sizeof(*j));
	bool ok = scan(s, s->code, j, true);

	for (unsigned int i = 0; ok && i < j->nr_parts; i++)
		ok = scan_part(s, j->parts[i], j);
	if (ok && j->too_many)
		refuse(s, "it has too many parts or jump tables to examine");
	else if (ok)
		check_tables(s, j);
	free(j);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void placement_find(struct placement *out, const struct placement_code *code,
		    const struct placement_image *image, const struct placement_request *request)
{
	struct search s = {.out = out, .code = code, .image = image, .request = request};

	*out = (struct placement){0};
	if (code->size == 0 || code->size > PLACEMENT_MAX_FUNCTION) {
		refuse(&s, "its code is %zu bytes long", code->size);
		return;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &s.capstone) != CS_ERR_OK) {
		refuse(&s, "the disassembler does not start");
		return;
	}
	cs_option(s.capstone, CS_OPT_DETAIL, CS_OPT_ON); /* cs_malloc() makes room for it */
	s.insn = cs_malloc(s.capstone);
	if (!s.insn)
		refuse(&s, "no memory to decode it");
	else if (find_site(&s))
		check_jumps(&s);
	if (s.insn)
		cs_free(s.insn, 1);
	cs_close(&s.capstone);
}

bool placement_kernel_emulates_nops(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 16));
}
