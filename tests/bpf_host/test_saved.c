/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of C code that keep the Erlang stack pointer E in rbp (OTP 24: r12): it is still there, or
 * a C frame has pushed it.  Other values look like it.  A sample is complete only if its frames are
 * those of E, whatever else stands on the C stack; else it is ambiguous and brings the C stack
 * along.
 */
#include "abi/vm.h"
#include "node.h"

#define INLINE_RA	 (NODE_FUNCTIONS + 0x8000 + 5) /* in a function */
#define FRAGMENT	 (NODE_FRAGMENTS + 0x200)
#define FRAGMENT_RA	 (FRAGMENT + 0x47) /* in a fragment */
#define LATE_FRAGMENT	 (NODE_FRAGMENTS + 0xa00)
#define LATE_FRAGMENT_RA (LATE_FRAGMENT + 0x47)
#define FRAGMENT_CALL	 (NODE_FUNCTIONS + 0x9000 + 3) /* returns behind a call of that fragment */
#define USED_WORDS	 100u			       /* of C stack */

static uint64_t process_htop(void)
{
	return *(uint64_t *)host_at(NODE_PROCESS + (uint64_t)config.layout.process_htop, 8);
}

/* Five frames of four words; two words of the newest frame's locals on top. */
static int setup(void **unused)
{
	node_setup(unused);
	push_bottom();
	push_frames(4, 3);
	push_return(return_address(4));
	push_word(TERM_NIL);
	push_word(TERM_ATOM(9));
	set_process(config.layout.process_stop, node.stop + 5 * 8); /* stale */
	put_leave(INLINE_RA, SITE_SAVED);
	put_leave(FRAGMENT_RA, SITE_SAVED);
	put_call(FRAGMENT_CALL, FRAGMENT);
	return 0;
}

static int setup_24(void **unused)
{
	config.otp = 24;
	return setup(unused);
}

static int teardown(void **unused)
{
	config.otp = 0;
	return node_teardown(unused);
}

/* The word that a fragment call has pushed on the Erlang stack. */
static void call_fragment(void)
{
	push_return(FRAGMENT_CALL);
	set_process(config.layout.process_stop, node.stop + 5 * 8);
}

static struct rec_raw_sample *sample_with(uint64_t ra, uint64_t rbp)
{
	struct pt_regs r = regs_in_c(ra, USED_WORDS);

	if (config.otp == 24)
		r.r12 = rbp;
	else
		r.bp = rbp;
	return sample(r);
}

static struct rec_raw_sample *sample_inline(void)
{
	return sample_with(INLINE_RA, 1);
}

static struct rec_raw_sample *sample_fragment(void)
{
	return sample_with(FRAGMENT_RA, 1);
}

static void assert_saved(const struct rec_raw_sample *s)
{
	assert_whole(s);
	assert_int_equal(s->place, PLACE_C_FROM_JIT);
	assert_int_equal(s->stack_source, STACK_SAVED);
	assert_int_equal(nr_records(REC_RAW_GAP), 0);
}

/* Not whole, and says so; its frames are true as far as they go. */
static void assert_ambiguous(const struct rec_raw_sample *s)
{
	assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
	assert_true(s->nr_leaf <= node.nr_truth);
	for (uint32_t i = 1; i <= s->nr_leaf; i++)
		assert_int_equal(s->addrs[s->nr_kernel + s->nr_leaf - i], node.truth[i - 1]);
}

/* push r15, r14, r13, r12, rbp, rbx with the first at word `i` of the C stack. */
static void push_all_registers(uint32_t i, uint64_t e)
{
	put_c_word(i, node.htop);
	put_c_word(i + 1, 3999); /* reductions */
	put_c_word(i + 2, NODE_PROCESS);
	put_c_word(i + 3, config.otp == 24 ? e : 1); /* or the active code index */
	put_c_word(i + 4, config.otp == 24 ? 1 : e);
	put_c_word(i + 5, NODE_REGISTERS + 128);
}

/* ---- calls from the code of a function ------------------------------------------------------- */

static void in_the_register(void **unused)
{
	(void)unused;
	assert_saved(sample_with(INLINE_RA, node.stop));
}

static void on_the_c_stack(void **unused)
{
	(void)unused;
	for (uint32_t i = 2; i <= USED_WORDS; i++) {
		put_c_word(i, node.stop);
		assert_saved(sample_inline());
		put_c_word(i, 0x5555);
	}
	put_c_word(USED_WORDS + 1, node.stop); /* below rsp: no longer anyone's */
	assert_int_equal(sample_inline()->status, SAMPLE_STATUS_BAD_BOUNDS);
}

/* The heap top was pushed as well; Process.htop is older or as old. */
static void heap_top_beside(void **unused)
{
	(void)unused;
	node.htop = node.stop - 10 * 8;
	for (int older = 0; older < 2; older++) {
		set_process(config.layout.process_htop, node.htop - (older ? 64 : 0));
		put_c_word(2, node.htop);
		put_c_word(6, node.stop);
		assert_saved(sample_inline());
	}
}

/* Arguments that point to Y registers of the same frame. */
static void pointers_into_the_frame(void **unused)
{
	(void)unused;
	put_c_word(6, node.stop);
	put_c_word(30, node.stop + 8);
	put_c_word(31, node.stop + 16);
	put_c_word(32, node.stop + 8);
	assert_saved(sample_inline());
}

/* Values that are in range but no stack pointers. */
static void no_candidates(void **unused)
{
	(void)unused;
	put_c_word(6, node.stop);
	put_c_word(7, node.stop + 9);	/* not aligned */
	put_c_word(8, node.hend + 8);	/* above */
	put_c_word(9, node.heap);	/* below the heap top */
	put_c_word(10, process_htop()); /* the heap top itself */
	put_c_word(11, node.stop | 1);	/* a list on the stack: there are none */
	put_c_word(12, node.stop & 0xffffffff);
	assert_saved(sample_inline());
	/* Nothing at all: not a stack from Process.stop, which is stale. */
	put_c_word(6, 0);
	assert_int_equal(sample_inline()->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(sample_inline()->nr_leaf, 0);
	assert_int_equal(nr_records(REC_RAW_GAP), 0);
}

/* The frame is at the very end: an empty stack, or the bottom alone. */
static void at_the_end_of_the_stack(void **unused)
{
	(void)unused;
	new_heap(64);
	put_c_word(6, node.hend);
	assert_saved(sample_inline());
	push_bottom();
	put_c_word(6, node.stop);
	assert_saved(sample_inline());
}

/* One that an earlier call has left, in another frame: which of the two cannot be known here. */
static void two_frames(void **unused)
{
	struct rec_raw_sample *s;
	const struct rec_raw_cstack *c;
	const struct rec_raw_gap *g;

	(void)unused;
	put_c_word(6, node.stop);
	put_c_word(20, node.stop + 6 * 8);
	s = sample_inline();
	assert_ambiguous(s);
	assert_int_equal(s->stack_source, STACK_SAVED);
	assert_int_equal(s->nr_leaf, node.nr_truth - 1); /* from the higher one on */
	/* What user space needs to tell. */
	assert_int_equal(nr_records(REC_RAW_CSTACK), 1);
	c = (const struct rec_raw_cstack *)last_record(REC_RAW_CSTACK);
	assert_int_equal(c->h.ts_ns, s->h.ts_ns);
	assert_int_equal(c->os_tid, s->os_tid);
	assert_int_equal(c->ip, NODE_BEAM_TEXT);
	assert_int_equal(c->sp, NODE_REGISTERS - 8 * USED_WORDS);
	assert_int_equal(c->end, NODE_REGISTERS);
	assert_int_equal(c->call_ra, INLINE_RA);
	assert_int_equal(c->root, 0);
	assert_int_equal(c->nr_stack, USED_WORDS);
	assert_memory_equal(c->stack, host_at(c->sp, 8 * USED_WORDS), 8 * USED_WORDS);
	assert_int_equal(nr_records(REC_RAW_GAP), 1);
	g = (const struct rec_raw_gap *)last_record(REC_RAW_GAP);
	assert_ptr_equal(host.records[host.nr_records - 3].bytes, g);
	assert_ptr_equal(host.records[host.nr_records - 2].bytes, c);
	assert_int_equal(g->h.ts_ns, s->h.ts_ns);
	assert_int_equal(g->os_tid, s->os_tid);
	assert_int_equal(g->low, node.stop);
	assert_int_equal(g->high, node.stop + 6 * 8);
	assert_true(g->nr_gap >= 6 && g->nr_gap <= 6 + 4);
	assert_memory_equal(g->gap, host_at(g->low, 8u * g->nr_gap), 8u * g->nr_gap);
}

/* The free words between heap top and stack hold return addresses of frames that are gone. */
static void old_frames_below_the_stack(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	node.htop = node.stop - 12 * 8;
	set_process(config.layout.process_htop, node.htop - 32);
	for (uint64_t at = node.htop; at < node.stop; at += 24)
		host_put_u64(at, return_address(600));
	put_c_word(2, node.htop);
	put_c_word(6, node.stop);
	s = sample_inline();
	assert_ambiguous(s);
	assert_int_equal(s->nr_leaf, node.nr_truth);
	/* Farther apart than is looked at: not taken for granted either. */
	new_heap(1000);
	push_bottom();
	push_frames(3, 2);
	put_c_word(2, node.htop + 64);
	put_c_word(6, node.stop);
	assert_ambiguous(sample_inline());
}

/* The record stays inside the heap block, which may be the last before a hole. */
static void gap_at_the_end(void **unused)
{
	(void)unused;
	for (uint64_t above = 0; above <= 8; above++) {
		struct rec_raw_gap *g;
		uint64_t high = node.hend - 8 * above;

		put_c_word(6, node.stop);
		put_c_word(20, high);
		assert_int_equal(sample_inline()->status, SAMPLE_STATUS_AMBIGUOUS);
		g = (struct rec_raw_gap *)last_record(REC_RAW_GAP);
		assert_non_null(g);
		assert_int_equal(g->high, high);
		assert_true(g->low + 8ull * g->nr_gap >= high);
		assert_true(g->low + 8ull * g->nr_gap <= node.hend);
	}
}

/* Of a C stack too long for its record both ends are copied. */
static void long_c_stack(void **unused)
{
	struct pt_regs r = regs_in_c(INLINE_RA, RAW_CSTACK_WORDS);
	const uint32_t nr_root = RAW_CSTACK_WORDS - RAW_CSTACK_LEAF;
	const struct rec_raw_cstack *c;

	(void)unused;
	for (uint32_t more = 0; more <= 3000; more += 1000) {
		r.sp = NODE_REGISTERS - 8ull * (RAW_CSTACK_WORDS + more);
		sample(r);
		assert_int_equal(nr_records(REC_RAW_CSTACK), 1);
		c = (const struct rec_raw_cstack *)last_record(REC_RAW_CSTACK);
		assert_int_equal(c->nr_stack, RAW_CSTACK_WORDS);
		assert_int_equal(c->nr_leaf, more ? RAW_CSTACK_LEAF : RAW_CSTACK_WORDS);
		assert_int_equal(c->root, more ? NODE_REGISTERS - 8ull * nr_root : 0);
		assert_memory_equal(c->stack, host_at(c->sp, 8 * RAW_CSTACK_LEAF),
				    8 * RAW_CSTACK_LEAF);
		assert_memory_equal(c->stack + RAW_CSTACK_LEAF,
				    host_at(NODE_REGISTERS - 8ull * nr_root, 8 * nr_root),
				    8 * nr_root);
	}
}

/* E stands near the call, however deep the C stack is; beyond the search nothing is taken. */
static void deep_c_stack(void **unused)
{
	uint32_t search = EBEAM_C_CHUNKS * EBEAM_CHUNK_WORDS;
	struct pt_regs r = regs_in_c(INLINE_RA, search + 500);

	(void)unused;
	for (uint32_t i = 2; i < search + 500; i++)
		put_c_word(i, NODE_BEAM_TEXT + i);
	/* A candidate is there, but another may stand in what is not looked at. */
	put_c_word(4, node.stop);
	assert_int_equal(sample(r)->status, SAMPLE_STATUS_AMBIGUOUS);
	put_c_word(4, 0);
	put_c_word(search + 1, node.stop); /* the last word that is looked at */
	assert_int_equal(sample(r)->status, SAMPLE_STATUS_AMBIGUOUS);
	put_c_word(search + 1, 0);
	put_c_word(search + 2, node.stop);
	assert_int_equal(sample(r)->status, SAMPLE_STATUS_BAD_BOUNDS);
}

static void more_candidates_than_fit(void **unused)
{
	const struct rec_raw_sample *s;

	(void)unused;
	for (uint32_t i = 0; i < SAVED_CANDIDATES; i++)
		put_c_word(10 + i, node.stop + 8 * (i % 2));
	assert_saved(sample_inline());
	put_c_word(10 + SAVED_CANDIDATES, node.stop);
	assert_ambiguous(sample_inline());
	/* The same again is not counted. */
	for (uint32_t i = 0; i < 3 * SAVED_CANDIDATES; i++)
		put_c_word(10 + i, node.stop);
	assert_saved(sample_inline());
	/* Nor is one that fits what a fragment's call needs the only one for sure. */
	call_fragment();
	for (uint32_t i = 0; i < 3 * SAVED_CANDIDATES; i++)
		put_c_word(10 + i, i <= SAVED_CANDIDATES ? node.stop + 8 * (i % 2) : 0);
	s = sample_fragment();
	assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
	put_c_word(10, 0);
	assert_saved(sample_fragment());
}

/* However deep the stack: what starts at the wrong place is not just truncated. */
static void ambiguous_and_deep(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	new_heap(3000);
	push_bottom();
	push_frames(EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + 100, 1);
	put_c_word(6, node.stop);
	s = sample_inline();
	assert_int_equal(s->status, SAMPLE_STATUS_TRUNCATED);
	assert_true_frames(s);
	put_c_word(20, node.stop + 40);
	s = sample_inline();
	assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
	assert_true(s->skipped_frames > 0);
}

/* ---- where all registers were pushed together ------------------------------------------------ */

static void all_registers_pushed(void **unused)
{
	(void)unused;
	for (uint32_t i = 2; i < USED_WORDS - 8; i++) {
		struct rec_raw_sample *s;

		for (uint32_t k = 2; k <= USED_WORDS; k++)
			put_c_word(k, 0x5555);
		put_c_word(2, node.stop + 6 * 8); /* someone's variable */
		push_all_registers(i, node.stop);
		s = sample_inline();
		/* Across two chunks they are not recognised: no harm. */
		if (s->status == SAMPLE_STATUS_COMPLETE)
			assert_saved(s);
		else
			assert_ambiguous(s);
		if ((i - 2) % EBEAM_CHUNK_WORDS + 6 < EBEAM_CHUNK_WORDS && i > 2)
			assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	}
}

/* What an earlier call has pushed lies deeper. */
static void registers_of_an_earlier_call(void **unused)
{
	(void)unused;
	push_all_registers(3, node.stop);
	push_all_registers(3 + EBEAM_CHUNK_WORDS, node.stop + 6 * 8);
	assert_saved(sample_inline());
	push_all_registers(12, node.stop + 6 * 8);
	assert_saved(sample_inline());
}

/* Something that only looks like it. */
static void not_all_registers(void **unused)
{
	(void)unused;
	put_c_word(4, node.stop);
	for (int i = 0; i < 5; i++) {
		push_all_registers(10, node.stop + 6 * 8);
		if (i == 0)
			put_c_word(10, node.hend); /* heap top above E */
		if (i == 1)
			put_c_word(10, 12345);
		if (i == 2)
			put_c_word(13, 4); /* no code index */
		if (i == 3)
			put_c_word(14, node.hend + 8); /* outside: and no candidate at all */
		if (i == 4)
			put_c_word(12, NODE_PROCESS + 8); /* another process */
		if (i == 3)
			assert_saved(sample_inline());
		else
			assert_ambiguous(sample_inline());
	}
}

/* ---- calls from fragments -------------------------------------------------------------------- */

/* There E must be exact: the fragment's return address stands at it. */
static void fragment_call(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	call_fragment();
	s = sample_with(FRAGMENT_RA, node.stop);
	assert_saved(s);
	assert_int_equal(s->saved_ra, FRAGMENT_CALL);
	put_c_word(6, node.stop);
	put_c_word(2, node.htop + 8);
	put_c_word(30, node.stop + 8);
	put_c_word(31, node.stop + 7 * 8);
	s = sample_fragment();
	assert_saved(s);
	assert_int_equal(s->saved_ra, FRAGMENT_CALL);
	assert_int_equal(s->nr_leaf, 7);
}

/* The candidate must return behind a call of this very fragment. */
static void fragment_of_another_call(void **unused)
{
	uint64_t other = NODE_FUNCTIONS + 0xa003, e;

	(void)unused;
	put_leave(LATE_FRAGMENT_RA, SITE_SAVED);
	put_call(FRAGMENT_CALL, LATE_FRAGMENT);
	call_fragment();
	e = node.stop;
	put_c_word(6, e);
	put_c_word(10, e - 16); /* a stale word that leads ... */
	host_put_u64(e - 16, other);
	put_call(other, LATE_FRAGMENT_RA + 16); /* behind the call site */
	assert_saved(sample_with(LATE_FRAGMENT_RA, 1));
	put_call(other, NODE_FRAGMENTS + 8); /* too far before it */
	assert_saved(sample_with(LATE_FRAGMENT_RA, 1));
	put_call(other, LATE_FRAGMENT);
	put_code(other - 5, "\xe9", 1); /* where it jumps to, not calls */
	assert_saved(sample_with(LATE_FRAGMENT_RA, 1));
	put_call(other, LATE_FRAGMENT - 0x100); /* near enough: this may be E, too */
	assert_ambiguous(sample_with(LATE_FRAGMENT_RA, 1));
	/* The first fragment: what is before it is none. */
	put_call(FRAGMENT_CALL, FRAGMENT);
	put_call(other, NODE_FRAGMENTS - 8);
	assert_saved(sample_fragment());
	put_call(other, NODE_FRAGMENTS + 8);
	assert_ambiguous(sample_fragment());
}

static void fragment_without_its_return(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	put_c_word(6, node.stop); /* the top word is a term; but there is no other candidate */
	s = sample_fragment();
	assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(s->nr_leaf, node.nr_truth);
	put_c_word(7, node.stop + 8 * 8); /* now there is */
	s = sample_fragment();
	assert_ambiguous(s);
	assert_int_equal(s->saved_ra, 0);
	put_c_word(7, 0);
	put_c_word(6, 0);
	assert_int_equal(sample_fragment()->status, SAMPLE_STATUS_BAD_BOUNDS);
}

/* The code before the return address cannot be read: then it proves nothing. */
static void fragment_call_unreadable(void **unused)
{
	(void)unused;
	call_fragment();
	put_c_word(6, node.stop);
	put_c_word(7, node.stop + 8 * 8);
	host.fail_addr = FRAGMENT_CALL - 3;
	assert_int_equal(sample_fragment()->status, SAMPLE_STATUS_AMBIGUOUS);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
}

/* ---- everywhere ------------------------------------------------------------------------------ */

static void with_frame_pointers(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	config.frame_pointers = 1;
	set_process(config.layout.process_stop, node.stop);
	put_c_word(6, node.stop + 6 * 8);
	s = sample_inline();
	assert_whole(s);
	assert_int_equal(s->stack_source, STACK_STOP);
}

/* E stands in the part of the C stack that cannot be read, something like it in the other. */
static void half_of_the_c_stack(void **unused)
{
	(void)unused;
	put_c_word(5, node.stop + 6 * 8);
	put_c_word(2 * EBEAM_CHUNK_WORDS, node.stop);
	host.fail_addr = NODE_REGISTERS - 8ull * 2 * EBEAM_CHUNK_WORDS;
	assert_ambiguous(sample_inline());
	assert_int_equal(nr_records(REC_RAW_CSTACK), 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
}

/* Each read in turn: complete only with the frames of E. */
static void each_read_fails(void **unused)
{
	(void)unused;
	for (int fragment = 0; fragment < 2; fragment++) {
		uint64_t incomplete = 0;

		if (fragment)
			call_fragment();
		put_c_word(6, node.stop);
		put_c_word(2, node.htop + 8);
		put_c_word(50, node.stop + 8);
		for (uint64_t n = 1;; n++) {
			struct rec_raw_sample *s;

			host.fail_read = n;
			state.code_generation++;
			s = fragment ? sample_fragment() : sample_inline();
			if (host.reads < n)
				break;
			if (s->status == SAMPLE_STATUS_COMPLETE)
				assert_saved(s);
			else
				incomplete++;
		}
		host.fail_read = 0;
		/* Scheduler, process, call, its code, C stack, Erlang stack. */
		assert_true(incomplete >= 1 + 5 + 1 + 1 + 3 + 1);
	}
}

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % n;
}

/* Whatever else is on the C stack: complete only with the frames of E. */
static void anything_on_the_c_stack(void **unused)
{
	uint32_t complete = 0;

	(void)unused;
	for (random_state = 1; complete < 300;) {
		uint32_t fragment = random_below(2), nr = random_below(6);
		uint64_t rbp = 0;
		struct rec_raw_sample *s;

		new_heap(233);
		push_bottom();
		push_frames(random_below(8), random_below(4));
		if (fragment)
			call_fragment();
		for (uint32_t i = 2; i <= USED_WORDS; i++)
			put_c_word(i, random_below(100) * 8);
		for (uint32_t i = 0; i < nr; i++)
			put_c_word(2 + random_below(USED_WORDS - 2),
				   node.htop + 8ull * random_below(250));
		if (random_below(3))
			put_c_word(2 + random_below(10), node.stop);
		else
			rbp = node.stop;
		s = sample_with(fragment ? FRAGMENT_RA : INLINE_RA, rbp);
		if (s->status == SAMPLE_STATUS_COMPLETE) {
			assert_saved(s);
			complete++;
		} else {
			assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
		}
	}
}

#define SAVED_TEST(name)                                                                           \
	cmocka_unit_test_setup_teardown(name, setup, teardown),                                    \
	{                                                                                          \
#name " 24", name, setup_24, teardown, NULL                                        \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SAVED_TEST(in_the_register),
		SAVED_TEST(on_the_c_stack),
		SAVED_TEST(heap_top_beside),
		SAVED_TEST(pointers_into_the_frame),
		SAVED_TEST(no_candidates),
		SAVED_TEST(at_the_end_of_the_stack),
		SAVED_TEST(two_frames),
		SAVED_TEST(old_frames_below_the_stack),
		SAVED_TEST(gap_at_the_end),
		SAVED_TEST(long_c_stack),
		SAVED_TEST(deep_c_stack),
		SAVED_TEST(more_candidates_than_fit),
		SAVED_TEST(ambiguous_and_deep),
		SAVED_TEST(all_registers_pushed),
		SAVED_TEST(registers_of_an_earlier_call),
		SAVED_TEST(not_all_registers),
		SAVED_TEST(fragment_call),
		SAVED_TEST(fragment_of_another_call),
		SAVED_TEST(fragment_without_its_return),
		SAVED_TEST(fragment_call_unreadable),
		SAVED_TEST(with_frame_pointers),
		SAVED_TEST(half_of_the_c_stack),
		SAVED_TEST(each_read_fails),
		SAVED_TEST(anything_on_the_c_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
