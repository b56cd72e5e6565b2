/* SPDX-License-Identifier: BSD-2-Clause */
/* See unwind.h.  libdw interprets the frame programs; the rule for each address is cached, so that
 * a frequent address costs one table lookup. */
#include "target/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keytab.h"
#include "base/vec.h"
#include "target/elf_internal.h"
#include "target/frame_pointer.h"

#define MAX_RULES 32768 /* limit of cached rules; then the cache is emptied */

/* DWARF register numbers, System V x86-64 psABI. */
enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_R12 = 12, REG_RA = 16 };

enum rule_kind { RULE_SAME, RULE_AT_CFA, RULE_AT_ADDRESS, RULE_UNDEFINED, RULE_OTHER };

/* DWARF operations, owned by libdw as long as the Dwarf_CFI is open. */
struct expression {
	const Dwarf_Op *ops;
	size_t nr;
};

struct reg_rule {
	enum rule_kind kind;
	int64_t offset;		   /* from the CFA, for RULE_AT_CFA */
	struct expression address; /* RULE_AT_ADDRESS */
};

/* Rules to find the caller's registers from one address. */
struct frame_rule {
	raddr ip;
	int err; /* 0, or errno of an address without rules */
	int cfa_reg;
	int64_t cfa_offset;
	struct expression cfa; /* instead of cfa_reg + cfa_offset; ops NULL = not used */
	bool signal;	       /* this is the frame of a signal trampoline */
	struct reg_rule ra, bp, bx, r12;
	enum frame_pointer frame_pointer; /* if err is -ENOENT */
};

struct file_cfi {
	const struct elf_file *elf;
	Dwarf_CFI *cfi; /* NULL = the file has no frame information */
};

struct unwinder {
	struct objects *objects;
	unsigned int generation; /* objects_generation() when the rules were made */
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
		/* libdw has no operations for "same value", for a register without a rule, and for
		 * "undefined" (then ops is mem).  Callees preserve all registers that are restored
		 * here but RA, so that without a rule they have the same value; compilers mark none
		 * of them as undefined. */
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

static int make_rule(Dwarf_CFI *cfi, uint64_t addr, struct frame_rule *rule)
{
	Dwarf_Frame *frame = NULL;
	int rc;

	if (!cfi || dwarf_cfi_addrframe(cfi, addr, &frame) != 0)
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

/* Larger functions have no frame pointer. */
#define CODE_MAX ((size_t)64 << 10)

static enum frame_pointer find_frame_pointer(struct unwinder *u, const struct elf_file *elf,
					     raddr ip, uint64_t bias, bool exact)
{
	enum frame_pointer result = FRAME_POINTER_NONE;
	struct object_function f;
	uint8_t *code;
	size_t size;

	if (objects_find(u->objects, ip, &f) != 0 || !f.symbol || f.end - f.start > CODE_MAX)
		return FRAME_POINTER_NONE;
	size = (size_t)(f.end - f.start);
	code = xmalloc(size);
	if (elf_file_read(elf, f.start - bias, code, size) == 0)
		result = frame_pointer_at(code, size, (size_t)(ip - f.start), exact);
	free(code);
	return result;
}

/* NULL: no known file is mapped at ip; not cached, as the maps may change. */
static const struct frame_rule *rule_for(struct unwinder *u, raddr ip, bool exact)
{
	unsigned int generation = objects_generation(u->objects);
	struct frame_rule *rule;
	struct elf_file *elf;
	uint64_t bias;

	if (u->generation != generation || u->rules.nr >= MAX_RULES)
		keytab_free(&u->rules);
	u->generation = generation;
	rule = keytab_find(&u->rules, ip);
	if (!rule) {
		elf = objects_elf(u->objects, ip, &bias);
		if (!elf)
			return NULL;
		rule = keytab_add(&u->rules, ip);
		rule->err = make_rule(cfi_of(u, elf), ip - bias, rule);
		if (rule->err == -ENOENT)
			rule->frame_pointer = find_frame_pointer(u, elf, ip, bias, exact);
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
 * Evaluates the operations that linkers and C libraries use for PLT stubs and signal frames:
 * registers, constants, sums, and loads from the stack.
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

/* Input of an unwinding step: registers of the frame, rule, CFA and copy of the stack. */
struct step {
	const struct unwind_regs *regs;
	const struct frame_rule *rule;
	const struct unwind_stack *stack;
	raddr cfa;
};

/* *value is the register's value in the frame, and is set to its value in the caller. */
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
		/* The slot is below sp: the epilogue has popped the register, which frame
		 * information may omit, so that the register has the caller's value. */
		return 0;
	}
	return word_at(f->stack, at, value) ? 0 : -EFAULT;
}

static int cfa_in(struct step *f)
{
	const struct frame_rule *rule = f->rule;
	uint64_t base;
	int rc = 0;

	if (rule->cfa_reg == REG_BX && f->regs->no_bx)
		return -ENOTSUP;
	if (rule->cfa.ops)
		rc = evaluate(&rule->cfa, f->regs, 0, f->stack, &f->cfa);
	else if (register_value(f->regs, (uint64_t)rule->cfa_reg, &base))
		f->cfa = base + (uint64_t)rule->cfa_offset;
	if (rc)
		return rc;
	/* The caller's frame is above sp, so a CFA that is not is wrong.  A return address below sp
	 * was popped, and may be overwritten. */
	return f->cfa <= f->regs->sp || (rule->ra.kind == RULE_AT_CFA &&
					 f->cfa + (uint64_t)rule->ra.offset < f->regs->sp)
		       ? -ENOTSUP
		       : 0;
}

/* Code without frame information, by the frame pointer.  Where the function has saved rbx and r12
 * is not known. */
static int step_by_frame_pointer(struct unwinder *u, const struct frame_rule *rule,
				 struct unwind_regs *r, const struct unwind_stack *stack)
{
	bool popped = rule->frame_pointer == FRAME_POINTER_POPPED;
	raddr at = popped ? r->sp : r->bp + 8;
	const struct proc_map *map;
	uint64_t bp = r->bp, ra;

	if (rule->frame_pointer == FRAME_POINTER_NONE)
		return -ENOENT;
	if (!popped && (r->bp < r->sp || (r->bp & 7)))
		return -ENOTSUP;
	if (!word_at(stack, at, &ra) || (!popped && !word_at(stack, r->bp, &bp)))
		return -EFAULT;
	map = proc_maps_find(objects_maps(u->objects), ra - 1);
	if (!map || !map->x)
		return -ENOTSUP;
	*r = (struct unwind_regs){.ip = ra, .sp = at + 8, .bp = bp, .no_bx = true, .no_r12 = true};
	return 0;
}

int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack)
{
	/* A call may be a function's last instruction, with the return address in the next
	 * function: use the byte before. */
	raddr ip = r->exact ? r->ip : r->ip - 1;
	struct step f = {.regs = r, .stack = stack};
	const struct frame_rule *rule;
	struct unwind_regs caller = *r;
	int rc;

	if (!ip)
		return -ENOENT;
	f.rule = rule = rule_for(u, ip, r->exact);
	if (!rule)
		return -ENOENT;
	if (rule->err == -ENOENT)
		return step_by_frame_pointer(u, rule, r, stack);
	if (rule->err)
		return rule->err;
	if (rule->ra.kind == RULE_UNDEFINED)
		return 1;
	rc = cfa_in(&f);
	if (rc)
		return rc;
	caller.sp = f.cfa;
	caller.exact = rule->signal;
	caller.no_bx &= rule->bx.kind == RULE_SAME;
	caller.no_r12 &= rule->r12.kind == RULE_SAME;
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
	rule = rule_for(u, ra - 1, false);
	return rule && !rule->err && rule->ra.kind == RULE_UNDEFINED;
}
