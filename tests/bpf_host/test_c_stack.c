/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JIT code without native stack, as OTP 24 to 26 have it where they are built for musl: it runs on
 * the C stack, the Erlang stack is in rbp (OTP 24: r12), shared fragments push their return
 * addresses on the C stack, and so the return address of a call of C code has no fixed place.
 */
#include "node.h"

#define INLINE_RA	(NODE_FUNCTIONS + 0x8000 + 5)
#define FRAGMENT_RA	(NODE_FRAGMENTS + 0x247)
#define OUTER_FRAGMENT	(NODE_FRAGMENTS + 0x403) /* returns into a fragment that called another */
#define FRAGMENT_CALLER (NODE_FUNCTIONS + 0x9003)
#define USED_WORDS	100u

/* Five frames; the newest has called nobody, so the word of its return address is nil. */
static int setup(void **unused)
{
	node_setup(unused);
	config.c_stack = 1;
	push_bottom();
	push_frames(4, 3);
	push_return(return_address(4));
	push_word(TERM_SMALL(7));
	push_word(TERM_NIL);
	set_process(config.layout.process_stop, node.stop + 4 * 8); /* stale */
	return 0;
}

static int setup_24(void **unused)
{
	setup(unused);
	config.otp = 24;
	return 0;
}

static int teardown(void **unused)
{
	config.otp = config.c_stack = 0;
	return node_teardown(unused);
}

static void set_e(struct pt_regs *r, uint64_t e)
{
	if (config.otp == 24)
		r->r12 = e;
	else
		r->bp = e;
}

/* In JIT code, where so many words have been pushed on the C stack. */
static struct pt_regs in_jit(uint64_t ip, uint32_t pushed)
{
	struct pt_regs r = regs_in_jit();

	r.ip = ip;
	r.sp = NODE_REGISTERS - 8ull * pushed;
	set_e(&r, node.stop);
	return r;
}

/* In C code; what was pushed are return addresses, the first that of the fragment that called. */
static struct pt_regs in_c(uint64_t ra, const uint64_t *pushed, uint32_t nr)
{
	uint64_t sp = NODE_REGISTERS - 8ull * nr, aligned = (sp - 15) & ~15ull;
	struct pt_regs r = regs_in_c(0x1234, USED_WORDS);

	for (uint32_t i = 0; i < nr; i++)
		host_put_u64(sp + 8ull * i, pushed[i]);
	host_put_u64(NODE_REGISTERS, sp);
	host_put_u64(aligned - 8, ra);
	return r;
}

static void assert_stack(struct rec_raw_sample *s, enum code_place place, enum stack_source source)
{
	assert_int_equal(s->place, place);
	assert_int_equal(s->stack_source, source);
	assert_whole(s);
}

/* The leaf part begins with these, then comes the Erlang stack. */
static void assert_behind(struct rec_raw_sample *s, const uint64_t *pushed, uint32_t nr)
{
	assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(s->nr_leaf, nr + node.nr_truth);
	assert_int_equal(s->saved_ra, pushed[0]);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(leaf_frame(s, i), pushed[i]);
	for (uint32_t i = 0; i < node.nr_truth; i++)
		assert_int_equal(leaf_frame(s, nr + i), true_frame(i));
}

static void in_a_function(void **unused)
{
	(void)unused;
	assert_stack(sample(in_jit(return_address(9000) + 3, 0)), PLACE_JIT, STACK_RSP);
	/* Where it is about to call, the return address stands at E. */
	push_return(return_address(5));
	assert_stack(sample(in_jit(return_address(9000) + 3, 0)), PLACE_JIT, STACK_RSP);
}

/* C code has collected: until the register is loaded anew it points into a heap that is gone. */
static void before_it_is_loaded(void **unused)
{
	struct pt_regs r = in_jit(INLINE_RA, 2);

	(void)unused;
	set_process(config.layout.process_stop, node.stop);
	put_leave(INLINE_RA, SITE_STOP);
	set_e(&r, 0x1000);
	assert_stack(sample(r), PLACE_JIT_RUNTIME, STACK_STOP);
	state.code_generation++;
	host_put(INLINE_RA, (uint8_t[64]){0}, 64);
	assert_int_equal(sample(r)->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(sample(r)->nr_leaf, 0);
}

/* Where C code has just returned, which has moved the stack inside of its heap block. */
static void behind_a_call(void **unused)
{
	const uint64_t pushed[] = {FRAGMENT_CALLER}, nested[] = {OUTER_FRAGMENT, FRAGMENT_CALLER};
	struct pt_regs r = in_c(0x1234, pushed, 1);

	(void)unused;
	put_leave(FRAGMENT_RA, SITE_STOP);
	set_process(config.layout.process_stop, node.stop);
	r.ip = FRAGMENT_RA;
	r.sp = NODE_REGISTERS - 32;
	set_e(&r, node.stop + 8);
	assert_behind(sample(r), pushed, 1);
	assert_int_equal(sample(r)->place, PLACE_JIT_RUNTIME);
	/* As much is pushed by two fragments, in no call: the word in Process.stop may be old. */
	host_put_u64(NODE_REGISTERS, NODE_REGISTERS);
	host_put_u64(NODE_REGISTERS - 16, nested[0]);
	host_put_u64(NODE_REGISTERS - 8, nested[1]);
	set_process(config.layout.process_stop, node.stop + 8 * 8);
	r.sp = NODE_REGISTERS - 16;
	set_e(&r, node.stop);
	assert_behind(sample(r), nested, 2);
	assert_int_equal(sample(r)->place, PLACE_JIT);
}

static void in_a_fragment(void **unused)
{
	const uint64_t pushed[] = {OUTER_FRAGMENT, FRAGMENT_CALLER};

	(void)unused;
	for (uint32_t nr = 1; nr <= 2; nr++) {
		struct pt_regs r = in_jit(FRAGMENT_RA, nr);

		for (uint32_t i = 0; i < nr; i++)
			host_put_u64(r.sp + 8ull * i, pushed[2 - nr + i]);
		assert_behind(sample(r), pushed + 2 - nr, nr);
	}
	/* One that was jumped to; and what stands above the C stack is none of its business. */
	host_put_u64(NODE_REGISTERS, FRAGMENT_CALLER);
	assert_stack(sample(in_jit(FRAGMENT_RA, 0)), PLACE_JIT, STACK_RSP);
}

static void called_by_a_function(void **unused)
{
	struct pt_regs r = in_c(INLINE_RA, NULL, 0);
	struct rec_raw_sample *s;

	(void)unused;
	put_leave(INLINE_RA, SITE_SAVED);
	put_c_word(40, node.stop);
	s = sample(r);
	assert_stack(s, PLACE_C_FROM_JIT, STACK_SAVED);
	assert_int_equal(s->call_ra, INLINE_RA);
	put_c_word(40, 0);
	set_e(&r, node.stop);
	assert_stack(sample(r), PLACE_C_FROM_JIT, STACK_SAVED);
	/* It has stored E. */
	state.code_generation++;
	put_leave(INLINE_RA, SITE_STOP);
	set_process(config.layout.process_stop, node.stop);
	set_e(&r, node.stop + 8);
	assert_stack(sample(r), PLACE_C_FROM_JIT, STACK_STOP);
}

/* The more was pushed, the lower the return address stands; each second word is for alignment. */
static void called_by_a_fragment(void **unused)
{
	const uint64_t pushed[] = {OUTER_FRAGMENT, OUTER_FRAGMENT, FRAGMENT_CALLER};

	(void)unused;
	for (int site = SITE_STOP; site <= SITE_SAVED; site++) {
		state.code_generation++;
		host_put(FRAGMENT_RA, (uint8_t[64]){0}, 64);
		put_leave(FRAGMENT_RA, (enum site_class)site);
		if (site == SITE_STOP)
			set_process(config.layout.process_stop, node.stop);
		for (uint32_t nr = 1; nr <= 3; nr++) {
			struct pt_regs r = in_c(FRAGMENT_RA, pushed + 3 - nr, nr);

			set_e(&r, node.stop);
			assert_behind(sample(r), pushed + 3 - nr, nr);
			assert_null(last_record(REC_RAW_GAP));
		}
	}
}

/* Two candidates: the fragment's caller is reported beside it, as frames belong under it. */
static void ambiguous(void **unused)
{
	const uint64_t pushed[] = {FRAGMENT_CALLER};
	struct pt_regs r = in_c(FRAGMENT_RA, pushed, 1);
	struct rec_raw_sample *s;
	struct rec_raw_cstack *c;
	struct rec_raw_gap *g;

	(void)unused;
	put_leave(FRAGMENT_RA, SITE_SAVED);
	set_e(&r, node.stop);
	put_c_word(20, node.stop + 6 * 8);
	s = sample(r);
	assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
	assert_int_equal(s->saved_ra, FRAGMENT_CALLER);
	assert_int_equal(s->nr_leaf, node.nr_truth - 1);
	c = (struct rec_raw_cstack *)last_record(REC_RAW_CSTACK);
	assert_non_null(c);
	/* rsp right after the function has returned. */
	assert_int_equal(c->end, NODE_REGISTERS - 32);
	assert_int_equal(c->nr_stack, USED_WORDS - 4);
	g = (struct rec_raw_gap *)last_record(REC_RAW_GAP);
	assert_non_null(g);
	assert_int_equal(g->low, node.stop);
	assert_int_equal(g->high, node.stop + 6 * 8);
}

/* What cannot be where the stack was: no stack is better than a wrong one. */
static void odd_runtime_stack(void **unused)
{
	const uint64_t odd[] = {0, NODE_REGISTERS + 8, NODE_REGISTERS - 4, NODE_REGISTERS - 136};
	struct pt_regs r = in_c(INLINE_RA, NULL, 0);

	(void)unused;
	put_leave(INLINE_RA, SITE_STOP);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		host_put_u64(NODE_REGISTERS, odd[i]);
		assert_int_equal(sample(r)->status, SAMPLE_STATUS_STACK_UNREADABLE);
		assert_int_equal(sample(r)->nr_leaf, 0);
	}
}

/* raise_exception has popped where it was called, but what a BIF raised stands on the stack. */
static void where_it_was_raised(void **unused)
{
	static struct walk w;

	(void)unused;
	w.pushed = NODE_REGISTERS;
	w.raised = INLINE_RA;
	push_pushed_returns(&w, node.stop, NODE_REGISTERS);
	assert_int_equal(w.rec.nr_leaf, 1);
	assert_int_equal(w.addrs[0], INLINE_RA);
	push_return(INLINE_RA);
	push_pushed_returns(&w, node.stop, NODE_REGISTERS);
	assert_int_equal(w.rec.nr_leaf, 1);
	w.raised = 0x1234; /* no code of the JIT: this is no exception */
	push_pushed_returns(&w, node.stop - 8, NODE_REGISTERS);
	assert_int_equal(w.rec.nr_leaf, 1);
}

#define C_STACK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define OTP_24_TEST(f)	cmocka_unit_test_setup_teardown(f, setup_24, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		C_STACK_TEST(in_a_function),
		OTP_24_TEST(in_a_function),
		C_STACK_TEST(before_it_is_loaded),
		OTP_24_TEST(before_it_is_loaded),
		C_STACK_TEST(behind_a_call),
		OTP_24_TEST(behind_a_call),
		C_STACK_TEST(in_a_fragment),
		OTP_24_TEST(in_a_fragment),
		C_STACK_TEST(called_by_a_function),
		OTP_24_TEST(called_by_a_function),
		C_STACK_TEST(called_by_a_fragment),
		OTP_24_TEST(called_by_a_fragment),
		C_STACK_TEST(ambiguous),
		OTP_24_TEST(ambiguous),
		C_STACK_TEST(odd_runtime_stack),
		C_STACK_TEST(where_it_was_raised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
