/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a sample hit and where its Erlang stack starts: in JIT code, in the window around a call of
 * C code, in C code that JIT code called by a site that stored the stack pointer, in fragments, on
 * dirty schedulers.  Sites that keep the stack pointer in a register: test_saved.c.
 */
#include "node.h"

#define CALL_RA	    (NODE_FUNCTIONS + 0x8000 + 5) /* calls of C code are not aligned */
#define FRAGMENT_RA (NODE_FRAGMENTS + 0x207)

/* A stack like that of a gen_server; Process.stop is out of date by some frames. */
static void build_stack(void)
{
	push_bottom();
	push_frames(5, 2);
}

static void stale_stop(void)
{
	set_process(config.layout.process_stop, node.stop + 3 * 8);
}

static struct rec_raw_sample *sample_in_c(uint64_t ra)
{
	return sample(regs_in_c(ra, 120));
}

/* ---- in JIT code ----------------------------------------------------------------------------- */

static void in_jit_code(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	stale_stop();
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_state, 1u << 15);
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_flags, 1u << 22);
	r = regs_in_jit();
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_JIT);
	assert_int_equal(s->stack_source, STACK_RSP);
	assert_int_equal(s->user_ip, r.ip);
	assert_int_equal(s->flags, RAW_SAMPLE_REGS);
	assert_int_equal(s->process, NODE_PROCESS);
	assert_int_equal(s->epid, NODE_EPID);
	assert_int_equal(s->process_state, 1u << 15);
	assert_int_equal(s->process_flags, 1u << 22);
	assert_int_equal(s->call_ra, 0);
	assert_int_equal(s->saved_ra, 0);
	assert_int_equal(s->thread_type, THREAD_NORMAL);
	assert_int_equal(s->scheduler, 1);
	assert_int_equal(s->os_tid, NODE_OS_TID);
	assert_int_equal(s->h.ts_ns, host.now_ns);
}

/* The second mapping is JIT code, the gap before it is not. */
static void both_mappings(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.sp = NODE_REGISTERS; /* on the Erlang stack nothing but JIT code runs */
	r.ip = NODE_CODE_2 + 0x100;
	assert_int_equal(sample(r)->place, PLACE_JIT_RUNTIME);
	r.ip = NODE_CODE_2 - 1;
	assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
	r.ip = NODE_CODE_2 + NODE_CODE_2_SIZE;
	assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
	state.nr_jit = 1;
	r.ip = NODE_CODE_2 + 0x100;
	assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
}

/* As many mappings as there is room for. */
static void many_mappings(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.sp = NODE_REGISTERS; /* on the Erlang stack nothing but JIT code runs */
	for (uint64_t i = 0; i < EBEAM_JIT_RANGES; i++)
		state.jit[i] = (struct address_range){NODE_CODE + 0x2000 * i,
						      NODE_CODE + 0x2000 * i + 0x1000};
	state.nr_jit = EBEAM_JIT_RANGES;
	for (uint64_t i = 0; i < EBEAM_JIT_RANGES; i++) {
		r.ip = NODE_CODE + 0x2000 * i;
		assert_int_equal(sample(r)->place, PLACE_JIT_RUNTIME);
		r.ip = NODE_CODE + 0x2000 * i + 0x1000;
		assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
	}
	state.nr_jit = UINT32_MAX; /* never more than the array */
	assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
}

/* In a mapping that user space has not reported yet. */
static void unknown_mapping(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.ip = NODE_CODE_2 + NODE_CODE_2_SIZE;
	s = sample(r);
	assert_int_equal(s->place, PLACE_JIT);
	assert_int_equal(s->stack_source, STACK_RSP);
	assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(s->call_ra, 0);
}

static void stack_pointer_not_aligned(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.sp += 4;
	assert_int_equal(sample(r)->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(sample(r)->nr_leaf, 0);
}

/* ---- around a call of C code ----------------------------------------------------------------- */

/* rsp is the C stack already, or still: the leave instruction ahead tells where E went. */
static void runtime_window(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.ip = CALL_RA;
	r.sp = NODE_REGISTERS;
	put_leave(CALL_RA, SITE_STOP);
	r.bp = 0x1234; /* whatever it held before */
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_JIT_RUNTIME);
	assert_int_equal(s->stack_source, STACK_STOP);

	state.code_generation++;
	put_leave(CALL_RA, SITE_SAVED);
	stale_stop();
	r.bp = node.stop;
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_JIT_RUNTIME);
	assert_int_equal(s->stack_source, STACK_SAVED);
	/* Builds with frame pointers store it at every call, whatever the code looks like. */
	config.frame_pointers = 1;
	set_process(config.layout.process_stop, node.stop);
	r.bp = node.stop + 16;
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->stack_source, STACK_STOP);
}

static void runtime_window_with_odd_register(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	r = regs_in_jit();
	r.ip = CALL_RA;
	r.sp = NODE_REGISTERS;
	put_leave(CALL_RA, SITE_SAVED);
	for (int i = 0; i < 4; i++) {
		r.bp = (uint64_t[]){0, node.hend + 8, node.heap - 8, node.stop + 1}[i];
		assert_int_equal(sample(r)->status, SAMPLE_STATUS_BAD_BOUNDS);
		assert_int_equal(sample(r)->nr_leaf, 0);
	}
	r.bp = node.stop;
	assert_whole(sample(r));
}

/* Code that cannot be read leaves open where E went: no stack is better than a stale one. */
static void unreadable_site(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	host.fail_addr = CALL_RA + 100;
	s = sample_in_c(CALL_RA);
	assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
	assert_int_equal(s->place, PLACE_C_FROM_JIT);
	assert_int_equal(s->call_ra, CALL_RA);
	assert_int_equal(s->nr_leaf, 0);
	r = regs_in_jit();
	r.ip = CALL_RA;
	r.sp = NODE_REGISTERS;
	s = sample(r);
	assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
	assert_int_equal(s->nr_leaf, 0);
	host.fail_addr = 0;
	assert_whole(sample(r));
	assert_whole(sample_in_c(CALL_RA));
}

/* ---- in C code ------------------------------------------------------------------------------- */

static void in_c_code(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	host_put_u64(NODE_REGISTERS + (uint64_t)config.layout.registers_tmp_mem + 8, 0x7f5499);
	s = sample_in_c(CALL_RA);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_C_FROM_JIT);
	assert_int_equal(s->stack_source, STACK_STOP);
	assert_int_equal(s->call_ra, CALL_RA);
	assert_int_equal(s->light_bif, 0x7f5499);
	assert_int_equal(s->saved_ra, 0);
	/* A call that does not return has no leave instruction and stores E. */
	s = sample_in_c(CALL_RA + 0x400);
	assert_whole(s);
	assert_int_equal(s->stack_source, STACK_STOP);
}

/* Process.current: the function, where the VM has stored one. */
static void current_function(void **unused)
{
	static const uint64_t mfa[3] = {TERM_ATOM(70), TERM_ATOM(71), 2};
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	s = sample_in_jit();
	assert_int_equal(s->current_mfa[0] | s->current_mfa[1] | s->current_mfa[2], 0);
	host_put(NODE_TERMS, mfa, sizeof(mfa));
	set_process(config.layout.process_current, NODE_TERMS);
	s = sample_in_jit();
	assert_memory_equal(s->current_mfa, mfa, sizeof(mfa));
	set_process(config.layout.process_current, 0x10); /* stale */
	s = sample_in_jit();
	assert_int_equal(s->current_mfa[0] | s->current_mfa[1] | s->current_mfa[2], 0);
	assert_whole(s);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
}

/* Nothing was called from JIT code: on a dirty scheduler, and on a normal one in its own loop. */
static void in_c_without_jit(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	set_process(config.layout.process_i, return_address(31));
	put_leave(CALL_RA, SITE_STOP);
	s = sample_in_c(NODE_BEAM_TEXT + 99);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_C_PROCESS);
	assert_int_equal(s->stack_source, STACK_STOP);
	assert_int_equal(s->call_ra, 0);
	assert_int_equal(s->light_bif, 0);
	assert_int_equal(s->saved_ra, 0);
	for (int type = THREAD_DIRTY_CPU; type <= THREAD_DIRTY_IO; type++) {
		know_thread((uint8_t)type);
		/* What stands below its registers is someone else's memory. */
		s = sample_in_c(CALL_RA);
		assert_whole(s);
		assert_int_equal(s->place, PLACE_C_PROCESS);
		assert_int_equal(s->thread_type, type);
		assert_int_equal(s->saved_ra, return_address(31)); /* where it goes on */
		assert_int_equal(s->call_ra, 0);
	}
}

/* In a match specification: the process is the one that called C, found by r13 or where C code has
 * pushed it; neither one that runs elsewhere nor the process without pid is taken for it. */
static void in_a_match_specification(void **unused)
{
	static const uint64_t ids[] = {TERM_INVALID_PID_25, TERM_INVALID_PID};
	const uint64_t pseudo = 0x7f54a0000000ull, other = pseudo + 4096;
	struct rec_raw_sample *s;
	struct pt_regs r;

	(void)unused;
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	host_add_memory(pseudo, 8192);
	host_put_u64(NODE_ESDP + config.layout.sched_current_process, pseudo);
	host_put_u64(pseudo + config.layout.process_scheduler_data, NODE_ESDP);
	host_put_u64(other + config.layout.process_id, NODE_EPID + 16);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		host_put_u64(pseudo + config.layout.process_id, ids[i]);
		r = regs_in_c(CALL_RA, 500);
		for (uint32_t k = 2; k < 500; k++)
			put_c_word(k, k % 3 ? pseudo : other);
		s = sample(r);
		assert_int_equal(s->process | s->epid, 0);
		assert_int_equal(s->status, SAMPLE_STATUS_BAD_BOUNDS);
		put_c_word(258, NODE_PROCESS); /* beyond what is searched */
		assert_int_equal(sample(r)->process, 0);
		put_c_word(258, 0);
		put_c_word(150, NODE_PROCESS);
		s = sample(r);
		assert_int_equal(s->process, NODE_PROCESS);
		assert_int_equal(s->epid, NODE_EPID);
		assert_whole(s);
		put_c_word(150, 0);
		r.r13 = NODE_PROCESS;
		s = sample(r);
		assert_int_equal(s->process, NODE_PROCESS);
		assert_whole(s);
		know_thread(THREAD_DIRTY_CPU); /* has no call from JIT code */
		assert_int_equal(sample(r)->process, 0);
		know_thread(THREAD_NORMAL);
	}
}

/* There is no JIT code: the stack is that of the last stop, whatever registers hold. */
static void interpreted(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	config.interpreted = 1;
	s = sample_in_c(CALL_RA);
	assert_int_equal(s->status, SAMPLE_STATUS_AMBIGUOUS);
	assert_int_equal(s->place, PLACE_INTERPRETER);
	assert_int_equal(s->stack_source, STACK_LAST);
	assert_int_equal(s->nr_leaf, node.nr_truth);
	assert_int_equal(s->call_ra, 0);
	know_thread(THREAD_DIRTY_CPU);
	s = sample_in_c(CALL_RA);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_C_PROCESS);
	config.interpreted = 0;
}

/* A stack pointer above the scheduler's registers is that of another stack. */
static void on_another_c_stack(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	r = regs_in_c(CALL_RA, 10);
	r.sp = NODE_REGISTERS;
	assert_int_equal(sample(r)->place, PLACE_C_PROCESS);
	r.sp = NODE_REGISTERS - 8;
	assert_int_equal(sample(r)->place, PLACE_C_FROM_JIT);
}

/* Interrupted in the kernel: the registers of user mode are those that count. */
static void in_the_kernel(void **unused)
{
	struct pt_regs in_kernel;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	memset(&in_kernel, 0x5a, sizeof(in_kernel));
	in_kernel.cs = 0x10;
	host.task_regs = regs_in_c(CALL_RA, 50);
	host.kernel_stack[0] = 0xffffffff81000010ull;
	host.kernel_stack[1] = 0xffffffff81000020ull;
	host.kernel_stack_size = 16;
	s = sample(in_kernel);
	assert_whole(s);
	assert_int_equal(s->flags, RAW_SAMPLE_REGS | RAW_SAMPLE_KERNEL);
	assert_int_equal(s->user_ip, NODE_BEAM_TEXT);
	assert_int_equal(s->place, PLACE_C_FROM_JIT);
	assert_int_equal(s->nr_kernel, 2);
	assert_int_equal(s->addrs[0], 0xffffffff81000010ull);
	assert_int_equal(s->addrs[1], 0xffffffff81000020ull);
}

/* The same on a kernel that has no helper for them: they stand at the top of the kernel stack. */
static void in_an_old_kernel(void **unused)
{
	static uint64_t stack[KERNEL_STACK_SIZE / 8];
	struct pt_regs in_kernel, *user;
	struct rec_raw_sample *s;

	(void)unused;
	HOST_KERNEL(false);
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	memset(&in_kernel, 0x5a, sizeof(in_kernel));
	in_kernel.cs = 0x10;
	host.task.stack = stack;
	user = (struct pt_regs *)((char *)stack + sizeof(stack)) - 1;
	*user = regs_in_c(CALL_RA, 50);
	user->cs = USER_CS;
	s = sample(in_kernel);
	assert_whole(s);
	assert_int_equal(s->flags, RAW_SAMPLE_REGS | RAW_SAMPLE_KERNEL);
	assert_int_equal(s->user_ip, NODE_BEAM_TEXT);
	user->cs = 0x10; /* that is no frame of user code */
	s = sample(in_kernel);
	assert_int_equal(s->flags, RAW_SAMPLE_KERNEL);
	assert_int_equal(s->user_ip, 0);
}

/* ---- fragments ------------------------------------------------------------------------------- */

/* One level: the fragment's own return address, unaligned, on top of the stack. */
static void in_a_fragment(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	push_return(NODE_FUNCTIONS + 0x9003);
	r = regs_in_jit();
	r.ip = FRAGMENT_RA;
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_JIT);
	assert_int_equal(s->saved_ra, NODE_FUNCTIONS + 0x9003);
	assert_int_equal(s->nr_leaf, 7);
	/* The same word means nothing when the sample is not in a fragment. */
	r.ip = return_address(8000);
	s = sample(r);
	assert_int_equal(s->nr_leaf, 6);
	assert_int_equal(s->saved_ra, 0);
}

static void c_called_by_a_fragment(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	build_stack();
	push_return(NODE_FUNCTIONS + 0x9002);
	put_leave(FRAGMENT_RA, SITE_STOP);
	s = sample_in_c(FRAGMENT_RA);
	assert_whole(s);
	assert_int_equal(s->place, PLACE_C_FROM_JIT);
	assert_int_equal(s->call_ra, FRAGMENT_RA);
	assert_int_equal(s->saved_ra, NODE_FUNCTIONS + 0x9002);
}

/* Fragments that call fragments: all unaligned addresses up to the limit are frames. */
static void nested_fragments(void **unused)
{
	(void)unused;
	for (uint32_t depth = 1; depth <= 6; depth++) {
		struct pt_regs r;
		struct rec_raw_sample *s;

		new_heap(200);
		build_stack();
		push_return(NODE_FUNCTIONS + 0x9001);
		for (uint32_t i = 1; i < depth; i++)
			push_return(NODE_FRAGMENTS + 0x101 + 0x10 * i);
		r = regs_in_jit();
		r.ip = FRAGMENT_RA;
		s = sample(r);
		assert_int_equal(s->saved_ra, true_frame(0));
		if (depth <= 4) {
			assert_whole(s);
			continue;
		}
		/* Deeper than any release nests: the unaligned rest is not derived from terms. */
		assert_int_equal(s->nr_leaf, node.nr_truth - (depth - 4));
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(s->addrs[i], true_frame(i));
		for (uint32_t i = 4; i < s->nr_leaf; i++)
			assert_int_equal(s->addrs[i], true_frame(i + depth - 4));
	}
}

/* A fragment that was jumped to has nothing of its own on the stack. */
static void fragment_without_return(void **unused)
{
	struct pt_regs r;
	struct rec_raw_sample *s;

	(void)unused;
	build_stack(); /* a term on top */
	r = regs_in_jit();
	r.ip = FRAGMENT_RA;
	s = sample(r);
	assert_whole(s);
	assert_int_equal(s->saved_ra, TERM_SMALL(5));
	push_return(return_address(77)); /* the caller of the function that jumped */
	r.sp = node.stop;
	assert_whole(sample(r));
	/* On an empty stack. */
	new_heap(64);
	r.sp = node.stop;
	assert_whole(sample(r));
}

/* Where the fragment's return address cannot be read, its frame is not just left out. */
static void unreadable_fragment_return(void **unused)
{
	struct pt_regs r;

	(void)unused;
	build_stack();
	push_return(NODE_FUNCTIONS + 0x9003);
	r = regs_in_jit();
	r.ip = FRAGMENT_RA;
	for (uint64_t n = 1;; n++) {
		struct rec_raw_sample *s;

		host.fail_read = n;
		s = sample(r);
		if (host.reads < n)
			break;
		if (host.failed_addr >= node.stop && host.failed_addr < node.hend)
			assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
	}
}

/* Fragment frames count towards the limit like any other. */
static void fragment_on_a_deep_stack(void **unused)
{
	(void)unused;
	for (uint32_t frames = EBEAM_LEAF_FRAMES - 5; frames < EBEAM_LEAF_FRAMES + 5; frames++) {
		struct pt_regs r;
		struct rec_raw_sample *s;

		new_heap(2000);
		push_bottom();
		push_frames(frames - 2, 0);
		push_return(NODE_FUNCTIONS + 0x9003);
		r = regs_in_jit();
		r.ip = FRAGMENT_RA;
		s = sample(r);
		assert_whole(s);
		assert_int_equal(s->nr_leaf,
				 frames < EBEAM_LEAF_FRAMES ? frames : EBEAM_LEAF_FRAMES);
	}
}

/* ---- unreadable ------------------------------------------------------------------------------ */

/* Whatever cannot be read before the walk, the sample is not called whole. */
static void each_read_before_the_walk(void **unused)
{
	uint64_t unreadable = 0;

	(void)unused;
	build_stack();
	put_leave(CALL_RA, SITE_STOP);
	for (uint64_t n = 1;; n++) {
		struct rec_raw_sample *s;

		host.fail_read = n;
		state.code_generation++; /* the site is read again */
		s = sample_in_c(CALL_RA);
		if (host.reads < n)
			break;
		if (s->status == SAMPLE_STATUS_COMPLETE) {
			assert_whole(s);
			continue;
		}
		assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
		assert_int_equal(s->nr_leaf, 0);
		unreadable++;
	}
	/* Current process; id, two pairs of bounds, state, flags; call, its code; stack. */
	assert_int_equal(unreadable, 1 + 5 + 2 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(in_jit_code),
		NODE_TEST(both_mappings),
		NODE_TEST(many_mappings),
		NODE_TEST(unknown_mapping),
		NODE_TEST(stack_pointer_not_aligned),
		NODE_TEST(runtime_window),
		NODE_TEST(runtime_window_with_odd_register),
		NODE_TEST(unreadable_site),
		NODE_TEST(in_c_code),
		NODE_TEST(current_function),
		NODE_TEST(in_c_without_jit),
		NODE_TEST(in_a_match_specification),
		NODE_TEST(interpreted),
		NODE_TEST(on_another_c_stack),
		NODE_TEST(in_the_kernel),
		NODE_TEST(in_an_old_kernel),
		NODE_TEST(in_a_fragment),
		NODE_TEST(c_called_by_a_fragment),
		NODE_TEST(nested_fragments),
		NODE_TEST(fragment_without_return),
		NODE_TEST(unreadable_fragment_return),
		NODE_TEST(fragment_on_a_deep_stack),
		NODE_TEST(each_read_before_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
