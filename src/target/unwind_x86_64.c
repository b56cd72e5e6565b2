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

enum rule_kind { RULE_SAME, RULE_AT_CFA, RULE_OTHER };

struct reg_rule {
	enum rule_kind kind;
	int64_t offset; /* from the CFA */
};

/* How to find the caller from one address. */
struct frame_rule {
	raddr ip;
	int err; /* 0, or why there is none */
	int cfa_reg;
	int64_t cfa_offset;
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
		/* Same value, or not spoken of, or undefined: for a register that the ABI has
		 * callees preserve the first two are one, and no compiler gives up such a register.
		 */
		r.kind = reg == REG_RA ? RULE_OTHER : RULE_SAME;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 1) {
		r.kind = RULE_AT_CFA;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && nr == 2 &&
		   ops[1].atom == DW_OP_plus_uconst) {
		r.kind = RULE_AT_CFA;
		r.offset = (int64_t)ops[1].number;
	}
	return r;
}

/* The CFA as register + offset; anything else (signal frames, PLT stubs) is not followed. */
static int cfa_of(Dwarf_Frame *frame, struct frame_rule *rule)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr != 1)
		return -ENOTSUP;
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

static bool word_at(const struct unwind_stack *s, raddr addr, uint64_t *value)
{
	uint64_t i = (addr - s->base) / 8;

	if (addr < s->base || (addr & 7) != (s->base & 7) || i >= s->nr)
		return false;
	*value = s->words[i];
	return true;
}

/* *value is the register's in the frame, and becomes its caller's. */
static int restore(const struct reg_rule *rule, raddr cfa, raddr sp, const struct unwind_stack *s,
		   uint64_t *value)
{
	if (rule->kind == RULE_SAME)
		return 0;
	if (rule->kind == RULE_OTHER)
		return -ENOTSUP;
	/* In an epilogue: popped, so the register has it again (compilers do not say so). */
	if (cfa + (uint64_t)rule->offset < sp)
		return 0;
	return word_at(s, cfa + (uint64_t)rule->offset, value) ? 0 : -EFAULT;
}

int unwinder_step(struct unwinder *u, struct unwind_regs *r, const struct unwind_stack *stack,
		  bool innermost)
{
	/* A return address may be the first of the next function: look before it. */
	raddr ip = innermost ? r->ip : r->ip - 1, cfa;
	const struct frame_rule *rule;
	struct unwind_regs caller = *r;
	int rc;

	if (!ip)
		return -ENOENT;
	rule = rule_for(u, ip);
	if (rule->err)
		return rule->err;
	cfa = (rule->cfa_reg == REG_SP	 ? r->sp
	       : rule->cfa_reg == REG_BP ? r->bp
					 : r->bx) +
	      (uint64_t)rule->cfa_offset;
	if (cfa <= r->sp)
		return -ENOTSUP; /* the stack of a caller lies above: no progress is no frame */
	if (rule->ra.kind == RULE_AT_CFA && cfa + (uint64_t)rule->ra.offset < r->sp)
		return -ENOTSUP; /* a return address that is popped is nowhere else */
	caller.sp = cfa;
	rc = restore(&rule->ra, cfa, r->sp, stack, &caller.ip);
	rc = rc ? rc : restore(&rule->bp, cfa, r->sp, stack, &caller.bp);
	rc = rc ? rc : restore(&rule->bx, cfa, r->sp, stack, &caller.bx);
	rc = rc ? rc : restore(&rule->r12, cfa, r->sp, stack, &caller.r12);
	if (rc == 0)
		*r = caller;
	return rc;
}
