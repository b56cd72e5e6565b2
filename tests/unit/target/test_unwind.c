/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps from frame to frame, by frame information that is written here by hand, over stacks that
 * are made up: every rule that is followed, every one that is not, and registers that lie.  Then
 * one true frame of this program, where the compiler is the oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/unwind.h"

/* Never called.  REG 3 = rbx, 6 = rbp, 7 = rsp, 12 = r12, 16 = return address. */
#define CODE(name, directives)                                                                     \
	__asm__(".text\n"                                                                          \
		".globl unwind_" #name "\n"                                                        \
		"unwind_" #name ":\n"                                                              \
		".cfi_startproc\n" directives "nop\nnop\n"                                         \
		".cfi_endproc\n");                                                                 \
	extern const char unwind_##name[]
#define LABEL(name) ".globl unwind_" #name "\nunwind_" #name ":\n"

/* A function as compilers make them. */
#define PUSH_BP "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"
#define MOVE_SP "mov %rsp, %rbp\n.cfi_def_cfa_register 6\n"
#define PUSH_BX "push %rbx\n.cfi_offset 3, -24\n"

CODE(entry, PUSH_BP LABEL(pushed) MOVE_SP LABEL(framed) PUSH_BX LABEL(saved));
CODE(by_rbx, ".cfi_def_cfa 3, 32\n");
CODE(by_r12, ".cfi_def_cfa 12, 32\n");
CODE(by_expression, ".cfi_escape 0x0f, 3, 0x77, 8, 6\n"); /* *(rsp + 8) */
CODE(by_unknown, ".cfi_escape 0x0f, 3, 0x77, 8, 0x1e\n"); /* a multiplication of one value */
/* As linkers write it for the stubs of a PLT: rsp + 8, and 8 more behind the push, at offset 11. */
__asm__(".text\n.balign 16\n");
CODE(plt, ".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n"
	  ".fill 11, 1, 0x90\n" LABEL(plt_pushed));
/* As C libraries write it for the way back from a signal handler: all in memory, at rsp. */
CODE(signal, ".cfi_signal_frame\n"
	     ".cfi_escape 0x0f, 3, 0x77, 32, 6\n"  /* the CFA: *(rsp + 32) */
	     ".cfi_escape 0x10, 16, 2, 0x77, 0\n"  /* at rsp */
	     ".cfi_escape 0x10, 6, 2, 0x77, 8\n"); /* at rsp + 8 */
CODE(no_return, ".cfi_undefined 16\n");
CODE(same_return, ".cfi_same_value 16\n");
CODE(far_return, ".cfi_def_cfa_offset 32\n.cfi_offset 16, -16\n");
CODE(bp_same, ".cfi_same_value 6\n");
CODE(bp_undefined, ".cfi_undefined 6\n");
CODE(bp_in_register, ".cfi_register 6, 12\n");
CODE(bp_value, ".cfi_escape 0x14, 6, 0\n");		  /* DW_CFA_val_offset */
CODE(bp_expression, ".cfi_escape 0x10, 6, 2, 0x77, 0\n"); /* at rsp */
CODE(bp_at_cfa, ".cfi_offset 6, 0\n");
CODE(noreturn_caller, ".cfi_def_cfa_offset 48\n" LABEL(call));
CODE(after_call, "");
extern const char unwind_pushed[], unwind_framed[], unwind_saved[], unwind_call[],
	unwind_plt_pushed[];
/* No frame information. */
__asm__(".text\n.globl unwind_bare\nunwind_bare:\nnop\nnop\nnop\nnop\n");
extern const char unwind_bare[];

#define AT(name) ((raddr)(uintptr_t)unwind_##name)
#define BASE	 0x7ffc00001000ull
#define NR	 16
/* What the word at base + 8 * i holds. */
#define WORD(i) (0x1000ull + (i))

struct fixture {
	struct objects *objects;
	struct unwinder *u;
	uint64_t words[NR];
	struct unwind_stack stack;
};

static int open_test(void **state)
{
	static struct fixture t;

	memset(&t, 0, sizeof(t));
	if (objects_open(&t.objects, getpid(), NULL) != 0)
		return -1;
	unwinder_open(&t.u, t.objects);
	for (uint64_t i = 0; i < NR; i++)
		t.words[i] = WORD(i);
	t.stack = (struct unwind_stack){.leaf = {BASE, t.words, NR}};
	*state = &t;
	return 0;
}

static int close_test(void **state)
{
	struct fixture *t = *state;

	unwinder_close(t->u);
	objects_close(t->objects);
	return 0;
}

#define REGS(ip, sp, bp, bx) ((struct unwind_regs){ip, sp, bp, bx})

static int step_from(struct fixture *t, struct unwind_regs *r, bool exact)
{
	r->exact = exact;
	return unwinder_step(t->u, r, &t->stack);
}

static void check_regs(const struct unwind_regs *r, struct unwind_regs expect)
{
	assert_int_equal(r->ip, expect.ip);
	assert_int_equal(r->sp, expect.sp);
	assert_int_equal(r->bp, expect.bp);
	assert_int_equal(r->bx, expect.bx);
}

static void step(struct fixture *t, struct unwind_regs from, struct unwind_regs to)
{
	struct unwind_regs r;

	for (int i = 0; i < 2; i++) { /* the second time from what was kept */
		r = from;
		assert_int_equal(step_from(t, &r, true), 0);
		check_regs(&r, to);
	}
	r = from; /* the same as a return address: what lies before it counts */
	r.ip++;
	assert_int_equal(step_from(t, &r, false), 0);
	check_regs(&r, to);
}

static void refuse(struct fixture *t, struct unwind_regs from, int code)
{
	for (int i = 0; i < 2; i++) {
		struct unwind_regs r = from;

		assert_int_equal(step_from(t, &r, true), code);
		check_regs(&r, from); /* unchanged */
	}
}

/* ---- what is followed ----------------------------------------------------------------------- */

/* At each instruction of a prologue the same caller. */
static void prologue(void **state)
{
	struct fixture *t = *state;
	raddr cfa = BASE + 8 * 8;
	struct unwind_regs caller = REGS(WORD(7), cfa, 5, 6);

	step(t, REGS(AT(entry), cfa - 8, 5, 6), caller);
	caller.bp = WORD(6);
	step(t, REGS(AT(pushed), cfa - 16, 5, 6), caller);
	step(t, REGS(AT(framed), cfa - 16, cfa - 16, 6), caller);
	step(t, REGS(AT(framed), BASE, cfa - 16, 6), caller); /* whatever rsp is below */
	caller.bx = WORD(5);
	step(t, REGS(AT(saved), cfa - 24, cfa - 16, 6), caller);
}

/* Popped, though the frame information still has it on the stack: the register is right. */
static void epilogue(void **state)
{
	struct fixture *t = *state;
	raddr cfa = BASE + 8 * 8;

	step(t, REGS(AT(saved), cfa - 16, cfa - 16, 6), REGS(WORD(7), cfa, WORD(6), 6));
	step(t, REGS(AT(saved), cfa - 8, cfa - 16, 6), REGS(WORD(7), cfa, cfa - 16, 6));
}

static void other_rules(void **state)
{
	struct fixture *t = *state;

	step(t, REGS(AT(by_rbx), BASE, 5, BASE + 16), REGS(WORD(5), BASE + 48, 5, BASE + 16));
	step(t, REGS(AT(far_return), BASE, 5, 6), REGS(WORD(2), BASE + 32, 5, 6));
	step(t, REGS(AT(bp_same), BASE, 5, 6), REGS(WORD(0), BASE + 8, 5, 6));
	step(t, REGS(AT(bp_undefined), BASE, 5, 6), REGS(WORD(0), BASE + 8, 5, 6));
	step(t, REGS(AT(bp_at_cfa), BASE, 5, 6), REGS(WORD(0), BASE + 8, WORD(1), 6));
}

static void expressions(void **state)
{
	struct fixture *t = *state;
	struct unwind_regs r = REGS(AT(signal), BASE, 5, 6);

	t->words[1] = BASE + 64;
	step(t, REGS(AT(by_expression), BASE, 5, 6), REGS(WORD(7), BASE + 64, 5, 6));
	refuse(t, REGS(AT(by_expression), BASE + 16, 5, 6), -ENOTSUP); /* leads down */
	t->words[1] = WORD(1);
	step(t, REGS(AT(plt), BASE, 5, 6), REGS(WORD(0), BASE + 8, 5, 6));
	step(t, REGS(AT(plt_pushed), BASE, 5, 6), REGS(WORD(1), BASE + 16, 5, 6));
	step(t, REGS(AT(bp_expression), BASE, 5, 6), REGS(WORD(0), BASE + 8, WORD(0), 6));
	/* What a signal interrupted is no call. */
	t->words[4] = BASE + 96;
	assert_int_equal(step_from(t, &r, true), 0);
	check_regs(&r, REGS(WORD(0), BASE + 96, WORD(1), 6));
	assert_true(r.exact);
	r = REGS(AT(entry), BASE, 5, 6);
	assert_int_equal(step_from(t, &r, true), 0);
	assert_false(r.exact);
}

/* A call that does not return is the last instruction: its return address is in the next
 * function, whose rules are others. */
static void return_address_after_the_end(void **state)
{
	struct fixture *t = *state;
	raddr end = AT(after_call);
	struct unwind_regs r = REGS(end, BASE, 5, 6);

	assert_int_equal(end, AT(call) + 2); /* nothing between them */
	assert_int_equal(step_from(t, &r, false), 0);
	check_regs(&r, REGS(WORD(5), BASE + 48, 5, 6));
	r = REGS(end, BASE, 5, 6);
	assert_int_equal(step_from(t, &r, true), 0);
	check_regs(&r, REGS(WORD(0), BASE + 8, 5, 6));
}

/* From a frame to its caller and on, until one that has no caller. */
static void chain(void **state)
{
	struct fixture *t = *state;
	struct unwind_regs r = REGS(AT(saved), BASE, BASE + 8, 77);

	t->words[0] = 66;		 /* rbx of the caller */
	t->words[1] = BASE + 56;	 /* rbp of the caller */
	t->words[2] = AT(framed) + 1;	 /* returns to this one ... */
	t->words[7] = 55;		 /* ... whose caller's rbp is this, ... */
	t->words[8] = AT(no_return) + 1; /* ... which returns here */
	assert_int_equal(step_from(t, &r, true), 0);
	check_regs(&r, REGS(AT(framed) + 1, BASE + 24, BASE + 56, 66));
	assert_int_equal(step_from(t, &r, false), 0);
	check_regs(&r, REGS(AT(no_return) + 1, BASE + 72, 55, 66));
	assert_int_equal(step_from(t, &r, false), 1);
	check_regs(&r, REGS(AT(no_return) + 1, BASE + 72, 55, 66));
}

/* ---- what is not ---------------------------------------------------------------------------- */

static void rules_of_other_kinds(void **state)
{
	struct fixture *t = *state;

	refuse(t, REGS(AT(by_r12), BASE, 5, 6), -ENOTSUP);
	refuse(t, REGS(AT(by_unknown), BASE, 5, 6), -ENOTSUP);
	refuse(t, REGS(AT(no_return), BASE, 5, 6), 1);
	refuse(t, REGS(AT(same_return), BASE, 5, 6), -ENOTSUP);
	refuse(t, REGS(AT(bp_in_register), BASE, 5, 6), -ENOTSUP);
	refuse(t, REGS(AT(bp_value), BASE, 5, 6), -ENOTSUP);
}

static void no_frame_information(void **state)
{
	static const raddr nowhere[] = {0, 1, 0x1000, 0xdead0000, UINT64_MAX, UINT64_MAX - 1};
	struct fixture *t = *state;
	struct unwind_regs r = {0};

	refuse(t, REGS(AT(bare) + 1, BASE, 5, 6), -ENOENT);
	refuse(t, REGS((raddr)(uintptr_t)&r, BASE, 5, 6), -ENOENT); /* a stack */
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
		refuse(t, REGS(nowhere[i], BASE, 5, 6), -ENOENT);
	assert_int_equal(step_from(t, &r, false), -ENOENT); /* before 0 */
	check_regs(&r, (struct unwind_regs){0});
}

static void outside_of_the_copy(void **state)
{
	static const raddr sps[] = {
		BASE - 8, BASE - 16, BASE + 8 * NR,  BASE + 8 * NR + 8, BASE + 4, BASE + 1,
		0,	  8,	     UINT64_MAX - 15};
	struct fixture *t = *state;
	raddr end = BASE + 8 * NR;

	for (size_t i = 0; i < ARRAY_SIZE(sps); i++)
		refuse(t, REGS(AT(entry), sps[i], 5, 6), -EFAULT);
	/* The last word, and one before the first. */
	step(t, REGS(AT(entry), end - 8, 5, 6), REGS(WORD(NR - 1), end, 5, 6));
	refuse(t, REGS(AT(saved), BASE - 8, BASE, 6), -EFAULT); /* rbx was saved below */
	refuse(t, REGS(AT(saved), BASE, end - 8, 6), -EFAULT);	/* the return address above */
	t->stack.leaf.nr = 0;
	refuse(t, REGS(AT(entry), BASE, 5, 6), -EFAULT);
	t->stack.leaf.words = NULL;
	refuse(t, REGS(AT(entry), BASE, 5, 6), -EFAULT);
}

/* Registers that would lead down, round in a circle, or past the end of memory. */
static void no_progress(void **state)
{
	struct fixture *t = *state;

	refuse(t, REGS(AT(framed), BASE + 32, BASE + 16, 6), -ENOTSUP); /* onto itself */
	refuse(t, REGS(AT(framed), BASE + 32, BASE, 6), -ENOTSUP);
	refuse(t, REGS(AT(framed), BASE + 32, 0, 6), -ENOTSUP);
	refuse(t, REGS(AT(framed), BASE + 32, UINT64_MAX, 6), -ENOTSUP);
	refuse(t, REGS(AT(by_rbx), BASE, 5, UINT64_MAX - 15), -ENOTSUP);
	refuse(t, REGS(AT(entry), UINT64_MAX - 7, 5, 6), -ENOTSUP);
	/* A return address is never in a register: below rsp it is no return address. */
	refuse(t, REGS(AT(framed), BASE + 28, BASE + 16, 6), -ENOTSUP);
}

/* More addresses than are remembered. */
static void many_addresses(void **state)
{
	static char room[40000];
	struct fixture *t = *state;
	raddr cfa = BASE + 8 * 8;

	for (size_t i = 0; i < ARRAY_SIZE(room); i++) {
		struct unwind_regs r = REGS((raddr)(uintptr_t)&room[i], BASE, 5, 6);

		assert_int_equal(step_from(t, &r, true), -ENOENT);
		r = REGS(AT(framed), BASE, cfa - 16, 6);
		assert_int_equal(step_from(t, &r, true), 0);
		check_regs(&r, REGS(WORD(7), cfa, WORD(6), 6));
	}
}

/* ---- a true frame --------------------------------------------------------------------------- */

struct truth {
	struct unwind_regs regs;
	raddr return_address, canonical;
	uint64_t words[512];
	size_t nr;
};

/* Reads what the sanitizer would not have read. */
__attribute__((noinline, no_sanitize("address"))) static void take_truth(struct truth *truth)
{
	const uint64_t *from;

	__asm__ volatile("lea 0(%%rip), %0\nmov %%rsp, %1\nmov %%rbp, %2\nmov %%rbx, %3"
			 : "=&r"(truth->regs.ip), "=&r"(truth->regs.sp), "=&r"(truth->regs.bp),
			   "=&r"(truth->regs.bx));
	truth->return_address = (raddr)(uintptr_t)__builtin_return_address(0);
	truth->canonical = (raddr)(uintptr_t)__builtin_frame_address(0) + 16;
	from = (const uint64_t *)(uintptr_t)truth->regs.sp;
	truth->nr = (truth->canonical - truth->regs.sp) / 8;
	for (size_t i = 0; i < truth->nr && i < ARRAY_SIZE(truth->words); i++)
		truth->words[i] = from[i];
}

static void this_program(void **state)
{
	static struct truth truth;
	struct fixture *t = *state;
	struct unwind_stack stack = {.leaf = {.words = truth.words}};
	struct unwind_regs r;

	take_truth(&truth);
	assert_in_range(truth.nr, 2, ARRAY_SIZE(truth.words));
	stack.leaf.base = truth.regs.sp;
	stack.leaf.nr = truth.nr;
	truth.regs.exact = true;
	r = truth.regs;
	assert_int_equal(unwinder_step(t->u, &r, &stack), 0);
	assert_int_equal(r.ip, truth.return_address);
	assert_int_equal(r.sp, truth.canonical);
	stack.leaf.nr--; /* without the return address */
	r = truth.regs;
	assert_int_equal(unwinder_step(t->u, &r, &stack), -EFAULT);
	check_regs(&r, truth.regs);
}

static void nothing(void **state)
{
	struct unwinder *u = NULL;

	UNUSED(state);
	unwinder_close(NULL);
	unwinder_open(&u, NULL);
	assert_non_null(u);
	unwinder_close(u);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(prologue),
		TEST(epilogue),
		TEST(other_rules),
		TEST(expressions),
		TEST(return_address_after_the_end),
		TEST(chain),
		TEST(rules_of_other_kinds),
		TEST(no_frame_information),
		TEST(outside_of_the_copy),
		TEST(no_progress),
		TEST(many_addresses),
		TEST(this_program),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
