/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples with several candidates for the Erlang stack pointer: the copy of the C stack decides,
 * adds what stands between, and is not believed where it does not fit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "lib/resolvefix.h"

#define C_STACK 0x7f0000100000ull
#define E_STACK 0x7f0000200000ull
#define TERM(n) (((uint64_t)(n) << 4) | 0xf)
#define ALL	"lists:e/5 lists.erl:500; lists:d/4 lists.erl:400; "
#define CALLER	"lists:a/1 lists.erl:100; "
#define LEAF	CALLER "native test_resolve_saved:interrupted"
/* Of a C stack that is not whole. */
#define ENDS(why) "elided [... native frames: " why " ...]; native test_resolve_saved:interrupted"
#define TRUNCATED CALLER ENDS("deeper than the copied stack")
#define NO_CFI	  CALLER "elided [... native frames: no unwind information ...]; native "
#define BROKEN	  CALLER ENDS("cannot be unwound")
#define AMBIGUOUS SAMPLE_ERLANG, SAMPLE_STATUS_AMBIGUOUS
#define COMPLETE  SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE

/* At its first instruction the caller's frame address is rsp + 8, and rbp is the caller's. */
static int __attribute__((noinline)) interrupted(int n)
{
	return n + 1;
}

struct saved_test {
	struct fix *x;
	struct rec_raw_cstack c;
	struct rec_raw_gap g;
	union fix_sample s;
};

static struct saved_test test;

/*
 * a/1 called C.  Its stack: b/2 and c/3 in the four words from E_STACK on, which the candidates lie
 * in, then d/4 and e/5, which the walk from the highest candidate found.
 */
static int open_test(void **state)
{
	struct saved_test *t = &test;
	struct fix *x = fix_open(27);

	assert_int_equal(interrupted(1), 2);
	memset(t, 0, sizeof(*t));
	t->x = x;
	fix_sample(x, &t->s);
	t->s.rec.place = PLACE_C_FROM_JIT;
	t->s.rec.stack_source = STACK_SAVED;
	t->s.rec.status = SAMPLE_STATUS_AMBIGUOUS;
	t->s.rec.call_ra = fix_return(x, 0, 0);
	t->s.rec.user_ip = (raddr)(uintptr_t)interrupted;
	fix_leaf(&t->s, fix_return(x, 3, 0));
	fix_leaf(&t->s, fix_return(x, 4, 0));
	t->c = (struct rec_raw_cstack){
		.h = t->s.rec.h,
		.os_tid = t->s.rec.os_tid,
		.nr_stack = 1,
		.nr_leaf = 1,
		.ip = t->s.rec.user_ip,
		.sp = C_STACK,
		.bp = E_STACK,
		.end = C_STACK + 8,
		.call_ra = t->s.rec.call_ra,
		.stack = {t->s.rec.call_ra},
	};
	t->c.h.size = sizeof(t->c);
	t->g = (struct rec_raw_gap){
		.h = t->s.rec.h,
		.os_tid = t->s.rec.os_tid,
		.nr_gap = 8,
		.low = E_STACK,
		.high = E_STACK + 32,
		.gap = {TERM(1), fix_return(x, 1, 0), TERM(2), fix_return(x, 2, 0),
			fix_return(x, 3, 0), TERM(3), TERM(4), TERM(5)},
	};
	t->g.h.size = sizeof(t->g);
	*state = t;
	return 0;
}

static int close_test(void **state)
{
	fix_close(((struct saved_test *)*state)->x);
	return 0;
}

static void check(struct saved_test *t, const char *frames, enum sample_kind kind,
		  enum sample_status status)
{
	t->x->r->base.cstack(&t->x->r->base, &t->c);
	t->x->r->base.gap(&t->x->r->base, &t->g);
	fix_assert(t->x, &t->s, frames, kind, status);
}

static void test_frames_between(void **state)
{
	struct saved_test *t = *state;

	check(t, ALL "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; " LEAF, COMPLETE);
	t->c.bp = E_STACK + 16;
	check(t, ALL "lists:c/3 lists.erl:300; " LEAF, COMPLETE);
	t->c.bp = t->g.high;
	check(t, ALL LEAF, COMPLETE);
	/* With a part missing in the middle it is not whole. */
	t->s.rec.skipped_frames = 5;
	check(t, "elided [... 5 frames ...]; " ALL LEAF, SAMPLE_ERLANG, SAMPLE_STATUS_TRUNCATED);
}

static void test_no_copy(void **state)
{
	struct saved_test *t = *state;

	fix_assert(t->x, &t->s, ALL LEAF, AMBIGUOUS);
}

static void test_copy_of_another_sample(void **state)
{
	struct saved_test *t = *state;

	t->c.h.ts_ns++;
	check(t, ALL LEAF, AMBIGUOUS);
	t->c.h.ts_ns--;
	t->c.os_tid++;
	check(t, ALL LEAF, AMBIGUOUS);
	t->c.os_tid--;
	t->s.rec.call_ra = 0;
	check(t, ALL "runtime [unknown]; native test_resolve_saved:interrupted", AMBIGUOUS);
}

/* The proof is to arrive at the call: at its address, with its return address. */
static void test_wrong_ends(void **state)
{
	struct saved_test *t = *state;
	const struct rec_raw_cstack good = t->c;

#define BAD(member, value, frames)                                                                 \
	t->c = good;                                                                               \
	t->c.member = value;                                                                       \
	check(t, ALL frames, AMBIGUOUS)
	BAD(stack[0], fix_return(t->x, 5, 0), BROKEN);
	BAD(call_ra, fix_return(t->x, 5, 0), BROKEN);
	BAD(end, C_STACK, BROKEN);
	BAD(end, C_STACK + 16,
	    CALLER "elided [... native frames: no unwind information ...]; "
		   "native [anon]; native test_resolve_saved:interrupted");
	BAD(nr_leaf, 0, TRUNCATED);
	BAD(ip, 0x10, NO_CFI "[unknown]");
	BAD(sp, UINT64_MAX - 7, BROKEN);
	BAD(bp, E_STACK + 1, LEAF);
	BAD(bp, E_STACK - 8, LEAF);
	BAD(bp, t->g.high + 8, LEAF);
	BAD(bp, 0, LEAF);
#undef BAD
}

/* Copies that cannot be are not taken. */
static void test_impossible_gaps(void **state)
{
	struct saved_test *t = *state;
	const struct rec_raw_gap good = t->g;

#define REFUSED(member, value)                                                                     \
	t->g = good;                                                                               \
	t->g.member = value;                                                                       \
	check(t, ALL LEAF, AMBIGUOUS)
	REFUSED(nr_gap, RAW_GAP_WORDS + 1);
	REFUSED(nr_gap, 3);
	REFUSED(high, UINT64_MAX & ~7ull);
	REFUSED(high, E_STACK - 8);
	REFUSED(low, 0);
	REFUSED(h.ts_ns, 77);
	REFUSED(os_tid, 77);
#undef REFUSED
}

static void test_impossible_c_stacks(void **state)
{
	struct saved_test *t = *state;

	t->c.nr_stack = RAW_CSTACK_WORDS + 1;
	check(t, ALL LEAF, AMBIGUOUS);
	t->c.h.size -= 8;
	t->c.nr_stack = RAW_CSTACK_WORDS;
	check(t, ALL LEAF, AMBIGUOUS);
}

/* In a fragment the first words are return addresses of any alignment, known by where they lie. */
static void test_fragment(void **state)
{
	struct saved_test *t = *state;
	raddr ra = fix_return(t->x, 1, 0) + 3;

	t->s.rec.call_ra = t->c.call_ra = t->c.stack[0] =
		fix_fragment(t->x, "call_bif_shared") + 0x81;
	t->g.gap[0] = ra;
	t->g.gap[1] = TERM(1);
	check(t,
	      ALL "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; "
		  "runtime global::call_bif_shared; native test_resolve_saved:interrupted",
	      COMPLETE);
	/* Nested: the fragment was called by another one. */
	t->g.gap[0] = fix_fragment(t->x, "i_bif_body_shared") + 0x41;
	t->g.gap[1] = ra;
	check(t,
	      ALL "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; "
		  "runtime global::i_bif_body_shared; runtime global::call_bif_shared; "
		  "native test_resolve_saved:interrupted",
	      COMPLETE);
	/* Right at the highest candidate, whose unaligned word the walk has passed over. */
	t->c.bp = t->g.high;
	t->g.gap[4] = ra;
	check(t,
	      ALL "lists:b/2 lists.erl:200; runtime global::call_bif_shared; "
		  "native test_resolve_saved:interrupted",
	      COMPLETE);
}

/* Without native stack that return address is not on the Erlang stack: it came with the sample. */
static void test_fragment_c_stack(void **state)
{
	struct saved_test *t = *state;

	t->x->f->node.identity.native_stack = false;
	t->s.rec.call_ra = t->c.call_ra = t->c.stack[0] =
		fix_fragment(t->x, "call_bif_shared") + 0x81;
	t->s.rec.saved_ra = fix_return(t->x, 0, 0) + 3;
	check(t,
	      ALL "lists:c/3 lists.erl:300; lists:b/2 lists.erl:200; lists:a/1 lists.erl:100; "
		  "runtime global::call_bif_shared; native test_resolve_saved:interrupted",
	      COMPLETE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_frames_between),	   TEST(test_no_copy),
		TEST(test_copy_of_another_sample), TEST(test_wrong_ends),
		TEST(test_impossible_gaps),	   TEST(test_fragment),
		TEST(test_fragment_c_stack),	   TEST(test_impossible_c_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
