/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native stacks: the copy of the C stack is unwound to the call from JIT code, or to where the
 * thread began; what is missing is said.  The functions are those of this file, which never run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/resolvefix.h"

/* A function whose frame has `size` bytes, return address included. */
#define FRAME(name, size)                                                                          \
	__asm__(".text\n.type " #name ", @function\n.globl " #name "\n" #name ":\n"                \
		".cfi_startproc\n.cfi_def_cfa_offset " #size "\nnop\nnop\n.cfi_endproc\n"          \
		".size " #name ", . - " #name "\n");                                               \
	extern const char name[]
FRAME(frame_leaf, 16);
FRAME(frame_small, 24);
FRAME(frame_large, 16384);
FRAME(erts_dirty_process_main, 16);
FRAME(copy_struct_frame, 24);
FRAME(db_frame, 16);
__asm__(".text\n.type frame_start, @function\n.globl frame_start\nframe_start:\n"
	".cfi_startproc\n.cfi_undefined 16\nnop\nnop\n.cfi_endproc\n"
	".size frame_start, . - frame_start\n");
extern const char frame_start[];
__asm__(".text\n.type frame_bare, @function\n.globl frame_bare\nframe_bare:\nnop\nnop\n"
	".size frame_bare, . - frame_bare\n");
extern const char frame_bare[];

#define RETURN(name) ((uint64_t)(uintptr_t)(name) + 1)
#define C_STACK	     0x7f0000100000ull
#define NATIVE(name) "native test_resolve_native:" #name
#define CALLER	     "lists:a/1 lists.erl:100; "

struct native_test {
	struct fix *x;
	struct rec_raw_cstack c;
	union fix_sample s;
};

static struct native_test test;

/* a/1 called C: small, which called leaf. */
static int open_test(void **state)
{
	struct native_test *t = &test;

	memset(t, 0, sizeof(*t));
	t->x = fix_open(27);
	fix_sample(t->x, &t->s);
	t->s.rec.place = PLACE_C_FROM_JIT;
	t->s.rec.stack_source = STACK_STOP;
	t->s.rec.call_ra = fix_return(t->x, 0, 0);
	t->s.rec.user_ip = (raddr)(uintptr_t)frame_leaf;
	t->c = (struct rec_raw_cstack){
		.h = t->s.rec.h,
		.os_tid = t->s.rec.os_tid,
		.nr_stack = 5,
		.nr_leaf = 5,
		.ip = t->s.rec.user_ip,
		.sp = C_STACK,
		.end = C_STACK + 40,
		.call_ra = t->s.rec.call_ra,
		.stack = {0, RETURN(frame_small), 0, 0, t->s.rec.call_ra},
	};
	t->c.h.size = sizeof(t->c);
	*state = t;
	return 0;
}

static int close_test(void **state)
{
	fix_close(((struct native_test *)*state)->x);
	return 0;
}

static void check(struct native_test *t, const char *frames, enum sample_kind kind)
{
	t->x->r->base.cstack(&t->x->r->base, &t->c);
	fix_assert(t->x, &t->s, frames, kind, SAMPLE_STATUS_COMPLETE);
}

static void called_from_jit(void **state)
{
	struct native_test *t = *state;

	check(t, CALLER NATIVE(frame_small) "; " NATIVE(frame_leaf), SAMPLE_ERLANG);
	/* The copy ends before the call: what was found, and that there is more. */
	t->c.nr_stack = t->c.nr_leaf = 4;
	check(t,
	      CALLER "elided [... native frames: deeper than the copied stack ...]; " NATIVE(
		      frame_small) "; " NATIVE(frame_leaf),
	      SAMPLE_ERLANG);
}

/* What the outermost function does that says so is what the thread does, not what the leaf does. */
static void kind_of_callers(void **state)
{
	struct native_test *t = *state;

	t->c.stack[1] = RETURN(copy_struct_frame);
	check(t, CALLER NATIVE(copy_struct_frame) "; " NATIVE(frame_leaf), SAMPLE_COPY);
	t->c.ip = t->s.rec.user_ip = (raddr)(uintptr_t)db_frame;
	check(t, CALLER NATIVE(copy_struct_frame) "; " NATIVE(db_frame), SAMPLE_COPY);
	t->c.stack[1] = RETURN(frame_small);
	check(t, CALLER NATIVE(frame_small) "; " NATIVE(db_frame), SAMPLE_ETS);
}

/* The middle of a large frame is not copied, where it returns to is. */
static void both_ends(void **state)
{
	struct native_test *t = *state;
	const uint64_t size = 16 + 16384;

	t->c.nr_stack = RAW_CSTACK_LEAF + 1;
	t->c.nr_leaf = 2;
	t->c.end = C_STACK + size;
	t->c.root = t->c.end - 8;
	t->c.stack[1] = RETURN(frame_large);
	t->c.stack[RAW_CSTACK_LEAF] = t->s.rec.call_ra;
	check(t, CALLER NATIVE(frame_large) "; " NATIVE(frame_leaf), SAMPLE_ERLANG);
	/* One that returns to somewhere in the middle. */
	t->c.end = C_STACK + 32768;
	t->c.root = t->c.end - 8;
	check(t,
	      CALLER "elided [... native frames: deeper than the copied stack ...]; " NATIVE(
		      frame_large) "; " NATIVE(frame_leaf),
	      SAMPLE_ERLANG);
}

static void lost_copy(void **state)
{
	struct native_test *t = *state;
	const char *without = CALLER "native test_resolve_native:frame_leaf";

	t->c.os_tid++; /* of another thread */
	check(t, without, SAMPLE_ERLANG);
	t->s.rec.flags = RAW_SAMPLE_REGS;
	check(t,
	      CALLER "elided [... native frames: not copied ...]; native "
		     "test_resolve_native:frame_leaf",
	      SAMPLE_ERLANG);
	t->s.rec.flags |= RAW_SAMPLE_EVENT; /* events have none */
	check(t, without, SAMPLE_ERLANG);
	/* What was copied is for one sample. */
	t->s.rec.flags = 0;
	t->c.os_tid--;
	check(t, CALLER NATIVE(frame_small) "; " NATIVE(frame_leaf), SAMPLE_ERLANG);
	fix_assert(t->x, &t->s, without, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
}

static void no_unwind_information(void **state)
{
	struct native_test *t = *state;

	t->c.stack[1] = RETURN(frame_bare);
	check(t,
	      CALLER "elided [... native frames: no unwind information ...]; " NATIVE(
		      frame_bare) "; " NATIVE(frame_leaf),
	      SAMPLE_ERLANG);
}

/* Of a thread that no JIT code runs on: up to where it began. */
static void thread_start(void **state)
{
	struct native_test *t = *state;

	t->s.rec.place = PLACE_OTHER;
	t->s.rec.process = t->s.rec.call_ra = t->c.call_ra = t->c.end = 0;
	t->s.rec.thread_type = THREAD_DIRTY_CPU;
	t->c.stack[1] = RETURN(erts_dirty_process_main);
	t->c.stack[3] = RETURN(frame_start);
	check(t,
	      "state [scheduler]; " NATIVE(frame_start) "; " NATIVE(
		      erts_dirty_process_main) "; " NATIVE(frame_leaf),
	      SAMPLE_SCHEDULER);
	/* In a process what runs all of them is left out. */
	t->s.rec.place = PLACE_C_PROCESS;
	t->s.rec.process = 8;
	check(t, "state [scheduler]; " NATIVE(frame_leaf), SAMPLE_SCHEDULER);
}

/* A chain that never ends: as many frames as there is room for. */
static void too_deep(void **state)
{
	struct native_test *t = *state;
	struct resolved_sample out;

	t->c.nr_stack = t->c.nr_leaf = RAW_CSTACK_WORDS;
	t->c.end = C_STACK + 8 * RAW_CSTACK_WORDS;
	for (int i = 0; i < RAW_CSTACK_WORDS; i++)
		t->c.stack[i] = RETURN(frame_leaf);
	t->x->r->base.cstack(&t->x->r->base, &t->c);
	assert_int_equal(fix_resolve(t->x, &t->s, &out), 0);
	assert_int_equal(out.nr_frames, 1 + 1 + EBEAM_NATIVE_FRAMES); /* caller, reason */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(called_from_jit), TEST(kind_of_callers),	    TEST(lost_copy),
		TEST(both_ends),       TEST(no_unwind_information), TEST(thread_start),
		TEST(too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
