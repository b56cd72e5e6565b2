/* SPDX-License-Identifier: BSD-2-Clause */
/* See unwind.h.  libdw interprets the frame programs; what it finds for an address is kept, so that
 * a hot address costs one lookup in a table. */
#include "target/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keytab.h"
#include "base/vec.h"
#include "target/elf_internal.h"

#define MAX_RULES 32768 /* addresses remembered; then all are forgotten */

/* DWARF register numbers, System V x86-64 psABI. */
enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_R12 = 12, REG_RA = 16 };

enum rule_kind { RULE_SAME, RULE_AT_CFA, RULE_AT_ADDRESS, RULE_UNDEFINED, RULE_OTHER };

/* Operations of libdw, which keeps them as long as the Dwarf_CFI. */
struct expression {
	const Dwarf_Op *ops;
	size_t nr;
};

struct reg_rule {
	enum rule_kind kind;
	int64_t offset;		   /* from the CFA */
	struct expression address; /* RULE_AT_ADDRESS */
};

/* How to find the caller from one address. */
struct frame_rule {
	raddr ip;
	int err; /* 0, or why there is none */
	int cfa_reg;
	int64_t cfa_offset;
	struct expression cfa; /* instead; ops NULL = none */
	bool signal;	       /* a signal handler returns through it */
	struct reg_rule ra, bp, bx, r12;
};

struct file_cfi {
	const struct elf_file *elf;
	Dwarf_CFI *cfi; /* NULL = the file has none */
};

struct unwinder {
	struct objects *objects;
	VEC(struct file_cfi) files;
	struct keytab rules; /* struct frame_rule */
};

void unwinder_open(struct unwinder **out, struct objects *objects)
{
	struct unwinder *u = xcalloc(1, sizeof(*u));

	u->objects = objects;
	u->rules = (struct keytab)KEYTAB_INIT(struct frame_rule);
	*out = u;
}

void unwinder_close(struct unwinder *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->files.len; i++)
		dwarf_cfi_end(u->files.data[i].cfi);
	vec_free(&u->files);
	keytab_free(&u->rules);
	free(u);
}

static Dwarf_CFI *cfi_of(struct unwinder *u, const struct elf_file *elf)
{
	struct file_cfi f = {.elf = elf};

	for (size_t i = 0; i < u->files.len; i++) {
		if (u->files.data[i].elf == elf)
			return u->files.data[i].cfi;
	}
	f.cfi = dwarf_getcfi_elf(elf->elf);
	vec_push(&u->files, f);
	return f.cfi;
}

static struct reg_rule rule_of(Dwarf_Frame *frame, int reg)
{
	struct reg_rule r = {.kind = RULE_OTHER};
	Dwarf_Op mem[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, reg, mem, &ops, &nr) != 0)
		return r;
	if (nr == 0) {
		/* Same value, or not spoken of, or undefined (ops is mem): for a register that the
		 * ABI has callees preserve the first two are one, and no compiler gives up such a
		 * register. */
		r.kind = reg != REG_RA ? RULE_SAME : ops ? RULE_UNDEFINED : RULE_OTHER;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 1) {
		r.kind = RULE_AT_CFA;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 2 &&
		   ops[1].atom == DW_OP_plus_uconst) {
		r.kind = RULE_AT_CFA;
		r.offset = (int64_t)ops[1].number;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && ops != mem &&
		   ops[nr - 1].atom != DW_OP_stack_value) {
		r.kind = RULE_AT_ADDRESS;
		r.address = (struct expression){ops, nr};
	}
	return r;
}

/* The CFA as register + offset, or an expression (signal frames, PLT stubs). */
static int cfa_of(Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr == 0)
		return -ENOTSUP;
	if (nr > 1) {
		rule->cfa = (struct expression){ops, nr};
		return 0;
	}
	if (ops[0].atom == DW_OP_bregx) {
		rule->cfa_reg = (int)ops[0].number;
		rule->cfa_offset = (int64_t)ops[0].number2;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		rule->cfa_reg = ops[0].atom - DW_OP_breg0;
		rule->cfa_offset = (int64_t)ops[0].number;
	} else {
		return -ENOTSUP;
	}
	return rule->cfa_reg == REG_SP || rule->cfa_reg == REG_BP || rule->cfa_reg == REG_BX
		       ? 0
		       : -ENOTSUP;
}

static int make_rule(struct unwinder *u, raddr ip, struct frame_rule *rule)
{
	uint64_t bias;
	struct elf_file *elf = objects_elf(u->objects, ip, &bias);
	Dwarf_CFI *cfi = elf ? cfi_of(u, elf) : NULL;
	Dwarf_Frame *frame = NULL;
	int rc;

	if (!cfi || dwarf_cfi_addrframe(cfi, ip - bias, &frame) != 0)
		return -ENOENT;
	rc = cfa_of(frame, rule);
	dwarf_frame_info(frame, NULL, NULL, &rule->signal);
	rule->ra = rule_of(frame, REG_RA);
	rule->bp = rule_of(frame, REG_BP);
	rule->bx = rule_of(frame, REG_BX);
	rule->r12 = rule_of(frame, REG_R12);
	free(frame);
	return rc;
}

static const struct frame_rule *rule_for(struct unwinder *u, raddr ip)
{
	struct frame_rule *rule = keytab_find(&u->rules, ip);

	if (!rule) {
		if (u->rules.nr >= MAX_RULES)
			keytab_free(&u->rules);
		rule = keytab_add(&u->rules, ip);
		rule->err = make_rule(u, ip, rule);
	}
	return rule;
}

static bool word_in(const struct stack_part *p, raddr addr, uint64_t *value)
{
	uint64_t i = (addr - p->base) / 8;

	if (addr < p->base || (addr & 7) != (p->base & 7) || i >= p->nr)
		return false;
	*value = p->words[i];
	return true;
}

static bool word_at(const struct unwind_stack *s, raddr addr, uint64_t *value)
{
	return word_in(&s->leaf, addr, value) || word_in(&s->root, addr, value);
}

static bool register_value(const struct unwind_regs *r, uint64_t number, uint64_t *value)
{
	switch (number) {
	case REG_BX:
		*value = r->bx;
		return true;
	case REG_BP:
		*value = r->bp;
		return true;
	case REG_SP:
		*value = r->sp;
		return true;
	case REG_R12:
		*value = r->r12;
		return true;
	case REG_RA:
		*value = r->ip;
		return true;
	default:
		return false;
	}
}

static bool apply(unsigned int op, uint64_t a, uint64_t b, uint64_t *value)
{
	switch (op) {
	case DW_OP_plus:
		*value = a + b;
		return true;
	case DW_OP_minus:
		*value = a - b;
		return true;
	case DW_OP_and:
		*value = a & b;
		return true;
	case DW_OP_shl:
		*value = b < 64 ? a << b : 0;
		return true;
	case DW_OP_ge:
		*value = (int64_t)a >= (int64_t)b;
		return true;
	default:
		return false;
	}
}

#define EXPRESSION_DEPTH 8
#define EXPRESSION_OPS	 64

/*
 * Those operations that linkers and C libraries use for PLT stubs and signal frames: registers,
 * constants, sums, and what stands on the stack.
 */
static int evaluate(const struct expression *e, const struct unwind_regs *r, raddr cfa,
		    const struct unwind_stack *s, uint64_t *value)
{
	uint64_t v[EXPRESSION_DEPTH];
	size_t nr = 0;

	if (e->nr > EXPRESSION_OPS)
		return -ENOTSUP;
	for (size_t i = 0; i < e->nr; i++) {
		const Dwarf_Op *op = &e->ops[i];
		unsigned int atom = op->atom;
		uint64_t pushed;

		if (atom == DW_OP_plus_uconst && nr) {
			v[nr - 1] += op->number;
			continue;
		}
		if (atom == DW_OP_deref && nr) {
			if (!word_at(s, v[nr - 1], &v[nr - 1]))
				return -EFAULT;
			continue;
		}
		if (nr >= 2 && apply(atom, v[nr - 2], v[nr - 1], &v[nr - 2])) {
			nr--;
			continue;
		}
		if (atom == DW_OP_call_frame_cfa)
			pushed = cfa;
		else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
			pushed = atom - DW_OP_lit0;
		else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
			pushed = op->number;
		else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
			 register_value(r, atom - DW_OP_breg0, &pushed))
			pushed += op->number;
		else
			return -ENOTSUP;
		if (nr == EXPRESSION_DEPTH)
			return -ENOTSUP;
		v[nr++] = pushed;
	}
	if (nr == 0)
		return -ENOTSUP;
	*value = v[nr - 1];
	return 0;
}

/* What an unwinding step works on: the frame, its rule and CFA, and the copy of the stack. */
struct step {
	const struct unwind_regs *regs;
	const struct frame_rule *rule;
	const struct unwind_stack *stack;
	raddr cfa;
};

/* *value is the register's in the frame, and becomes its caller's. */
static int restore(const struct step *f, const struct reg_rule *rule, uint64_t *value)
{
	raddr at = f->cfa + (uint64_t)rule->offset;
	int rc;

	if (rule->kind == RULE_SAME)
		return 0;
	if (rule->kind == RULE_AT_ADDRESS) {
		rc = evaluate(&rule->address, f->regs, f->cfa, f->stack, &at);
		if (rc)
			return rc;
	} else if (rule->kind != RULE_AT_CFA) {
		return -ENOTSUP;
	} else if (at < f->regs->sp) {
		/* In an epilogue: popped, so the register has it again (compilers do not say so).
		 */
		return 0;
	}
	return word_at(f->stack, at, value) ? 0 : -EFAULT;
}

static int cfa_in(struct step *f)
{
	const struct frame_rule *rule = f->rule;
	uint64_t base;
	int rc = 0;

	if (rule->cfa.ops)
		rc = evaluate(&rule->cfa, f->regs, 0, f->stack, &f->cfa);
	else if (register_value(f->regs, (uint64_t)rule->cfa_reg, &base))
		f->cfa = base + (uint64_t)rule->cfa_offset;
	if (rc)
		return rc;
	/* The stack of a caller lies above: no progress is no frame.  A return address that is
	 * popped is nowhere else. */
	return f->cfa <= f->regs->sp || (rule->ra.kind == RULE_AT_CFA &&
					 f->cfa + (uint64_t)rule->ra.offset < f->regs->sp)
		       ? -ENOTSUP
		       : 0;
}

int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack)
{
	/* A return address may be the first of the next function: look before it. */
	raddr ip = r->exact ? r->ip : r->ip - 1;
	struct step f = {.regs = r, .stack = stack};
	const struct frame_rule *rule;
	struct unwind_regs caller = *r;
	int rc;

	if (!ip)
		return -ENOENT;
	f.rule = rule = rule_for(u, ip);
	if (rule->err)
		return rule->err;
	if (rule->ra.kind == RULE_UNDEFINED)
		return 1;
	rc = cfa_in(&f);
	if (rc)
		return rc;
	caller.sp = f.cfa;
	caller.exact = rule->signal;
	rc = restore(&f, &rule->ra, &caller.ip);
	rc = rc ? rc : restore(&f, &rule->bp, &caller.bp);
	rc = rc ? rc : restore(&f, &rule->bx, &caller.bx);
	rc = rc ? rc : restore(&f, &rule->r12, &caller.r12);
	if (rc == 0)
		*r = caller;
	return rc;
}

bool unwinder_is_outermost(struct unwinder *u, raddr ra)
{
	const struct frame_rule *rule;
	uint64_t bias;

	if (!objects_code(u->objects, ra - 1, &bias))
		return false;
	rule = rule_for(u, ra - 1);
	return !rule->err && rule->ra.kind == RULE_UNDEFINED;
}

/* ---- without frame information --------------------------------------------------------------- */

#define CALL_MAX       7	/* bytes of a call instruction */
#define CALLEE_MAX     0x10000	/* of a function whose bounds are not known */
#define GUESS_MAX_SIZE 0x10000u /* how far up a caller is looked for */

/* A stub of a PLT: jmp *disp(%rip), behind endbr64 or not. */
static bool is_stub(const struct elf_file *elf, uint64_t at)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t code[7];

	if (elf_file_read(elf, at, code, 4) == 0 && memcmp(code, endbr64, 4) == 0)
		at += 4;
	if (elf_file_read(elf, at, code, sizeof(code)))
		return false;
	return (code[0] == 0xff && code[1] == 0x25) ||
	       (code[0] == 0xf2 && code[1] == 0xff && code[2] == 0x25);
}

/* Does the function at `target` hold `at`? */
static bool holds(const struct elf_file *elf, uint64_t target, uint64_t at)
{
	struct elf_symbol symbol;

	if (elf_file_symbol_at(elf, at, &symbol))
		return symbol.addr == target;
	return target <= at && at - target < CALLEE_MAX;
}

static bool is_indirect_call(const uint8_t *end)
{
	for (int len = 2; len <= CALL_MAX; len++)
		if (end[-len] == 0xff && (end[1 - len] >> 3 & 7) == 2)
			return true;
	return false;
}

/* Can a function that holds ip have been called from right before `ra`? */
static bool is_return_address(struct unwinder *u, raddr ra, raddr ip)
{
	uint64_t bias, ip_bias;
	struct elf_file *elf = objects_code(u->objects, ra - 1, &bias);
	uint8_t code[CALL_MAX];
	int32_t relative;

	if (!elf || elf_file_read(elf, ra - bias - CALL_MAX, code, sizeof(code)))
		return false;
	if (code[CALL_MAX - 5] == 0xe8) {
		memcpy(&relative, code + CALL_MAX - 4, sizeof(relative));
		ra = ra - bias + (uint64_t)(int64_t)relative; /* where it goes to */
		if (is_stub(elf, ra))
			return true;
		return objects_code(u->objects, ip, &ip_bias) == elf && holds(elf, ra, ip - bias);
	}
	return is_indirect_call(code + CALL_MAX);
}

int unwinder_guess(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack,
		   raddr *from)
{
	raddr end = *from + GUESS_MAX_SIZE;
	uint64_t word, bp;

	for (; *from < end && word_at(stack, *from, &word); *from += 8) {
		if (!is_return_address(u, word, r->exact ? r->ip : r->ip - 1))
			continue;
		if (*from == r->bp + 8 && word_at(stack, r->bp, &bp))
			r->bp = bp;
		*from += 8;
		r->ip = word;
		r->sp = *from;
		r->exact = false;
		return 0;
	}
	return -ENOENT;
}
