/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk over an Erlang stack: what is a frame, how deep stacks are cut, what happens where
 * memory cannot be read.  Stacks are built with their truth beside them, so each case says exactly
 * which addresses must come out.
 */
#include "abi/vm.h"
#include "node.h"

#define WALK_WORDS	(EBEAM_LEAF_CHUNKS * EBEAM_CHUNK_WORDS)
#define UNROLLED_WORDS	(EBEAM_LEAF_CHUNKS_UNROLLED * EBEAM_CHUNK_WORDS)
#define ROOT_WALK_WORDS (EBEAM_ROOT_CHUNKS * EBEAM_CHUNK_WORDS)

/* A stack of exactly so many words: a frame every `spacing` words, `spacing` - 1 terms between. */
static void build_stack(uint32_t words, uint32_t spacing)
{
	uint32_t frame = 0;

	new_heap(words + 64);
	push_bottom();
	for (uint32_t i = 1; i < words; i++) {
		if (i % spacing == 0)
			push_return(return_address(frame++));
		else
			push_word(TERM_SMALL(i));
	}
	assert_int_equal(node.hend - node.stop, 8ull * words);
}

/* Number of true frames in the top `words` words of the stack. */
static uint32_t frames_in_top(uint64_t words)
{
	uint32_t nr = 0;

	for (uint64_t at = node.stop; at < node.hend && at < node.stop + 8 * words; at += 8) {
		uint64_t word = *(uint64_t *)host_at(at, 8);

		nr += (word & 3) == 0;
	}
	return nr;
}

/* A stack of which the walk saw every word: nothing is missing from the sum. */
static void assert_exact(const struct rec_raw_sample *s)
{
	uint32_t nr = node.nr_truth, leaf = nr < EBEAM_LEAF_FRAMES ? nr : EBEAM_LEAF_FRAMES;
	uint32_t root = nr - leaf < EBEAM_ROOT_FRAMES ? nr - leaf : EBEAM_ROOT_FRAMES;

	assert_int_equal(s->nr_leaf, leaf);
	assert_int_equal(s->nr_root, root);
	assert_int_equal(s->skipped_frames, nr - leaf - root);
	assert_int_equal(s->skipped_words, 0);
	assert_int_equal(s->status,
			 nr == leaf + root ? SAMPLE_STATUS_COMPLETE : SAMPLE_STATUS_TRUNCATED);
	assert_int_equal(!!(s->flags & RAW_SAMPLE_ROOT_PART), nr > leaf);
	assert_true_frames(s);
}

/* ---- what is a frame ---------------------------------------------------------------------- */

/* A gen_server in handle_call: locals, a catch, saved frame pointers as +JPperf puts them. */
static void realistic_stack(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	push_bottom();
	push_word(0);			/* frame pointer of the last frame */
	push_return(return_address(1)); /* proc_lib:init_p_do_apply/3 */
	push_word(node.stop + 8);	/* a saved frame pointer */
	push_word(TERM_CATCH(17));
	push_word(TERM_NIL);
	push_return(return_address(2)); /* gen_server:loop/7 */
	push_word(BOXED_AT(node.heap + 64));
	push_word(LIST_AT(node.heap + 128));
	push_word(TERM_ATOM(0x1b3));
	push_return(return_address(3)); /* gen_server:try_handle_call/4 */
	push_word(NODE_EPID);
	push_word(BOXED_AT(NODE_TERMS) | 4); /* a literal */
	push_return(return_address(4));
	push_return(return_address(5)); /* a frame without locals */
	push_word(TERM_SMALL(-1));
	s = sample_in_jit();
	assert_whole(s);
	assert_int_equal(s->nr_leaf, 6);
	assert_int_equal(s->walked_words, (node.hend - node.stop) / 8);
	assert_int_equal(s->place, PLACE_JIT);
	assert_int_equal(s->stack_source, STACK_RSP);
}

/* Words that point into JIT code but carry a tag are terms; those just outside the code are no
 * frames either. */
static void tags_and_hull(void **unused)
{
	(void)unused;
	push_bottom();
	for (uint64_t tag = 1; tag < 4; tag++)
		push_word(return_address(1) | tag);
	push_return(return_address(2));
	push_word(NODE_CODE - 4);
	push_return(NODE_CODE); /* the first byte of the hull */
	push_word(NODE_CODE_2 + NODE_CODE_2_SIZE);
	push_return(NODE_CODE_2 + NODE_CODE_2_SIZE - 4);
	push_return(NODE_CODE_2);
	/* In the gap between the mappings: user space knows better and drops it. */
	push_return(NODE_CODE + NODE_CODE_SIZE + 64);
	push_word(0);
	push_word(NODE_BEAM_TEXT);
	push_word(0xfffffffffffffffcull);
	assert_whole(sample_in_jit());
}

static void empty_stack(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	assert_int_equal(node.stop, node.hend);
	s = sample_in_jit();
	assert_whole(s);
	assert_int_equal(s->nr_leaf, 0);
	assert_int_equal(s->walked_words, 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* A hibernated process: the bottom return address alone. */
static void one_word(void **unused)
{
	(void)unused;
	push_bottom();
	assert_whole(sample_in_jit());
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* Frames on both sides of each border between chunks, for every length. */
static void chunk_borders(void **unused)
{
	(void)unused;
	for (uint32_t words = 1; words <= 3 * EBEAM_CHUNK_WORDS + 1; words++) {
		build_stack(words, words % 3 + 1);
		assert_whole(sample_in_jit());
	}
	/* The one frame at each offset in turn. */
	for (uint32_t at = 0; at < 2 * EBEAM_CHUNK_WORDS; at++) {
		new_heap(3 * EBEAM_CHUNK_WORDS);
		for (uint32_t i = 0; i < 2 * EBEAM_CHUNK_WORDS; i++) {
			if (i == at)
				push_return(return_address(i));
			else
				push_word(TERM_NIL);
		}
		assert_whole(sample_in_jit());
	}
}

/* The walk alone, with an end that is no whole number of words from the start. */
static void odd_end(void **unused)
{
	struct walk *w = walk_scratch();

	(void)unused;
	build_stack(2 * EBEAM_CHUNK_WORDS + 5, 1);
	for (uint64_t cut = 1; cut < 8; cut++) {
		memset(w, 0, sizeof(*w));
		walk_stack(w, node.stop, node.hend - cut);
		assert_int_equal(w->rec.status, SAMPLE_STATUS_COMPLETE);
		assert_int_equal(w->rec.nr_leaf, 2 * EBEAM_CHUNK_WORDS + 4);
		assert_int_equal(w->rec.nr_root, 0);
		assert_int_equal(w->rec.skipped_words, 0);
		for (uint32_t i = 0; i < w->rec.nr_leaf; i++)
			assert_int_equal(w->addrs[i], true_frame(i));
	}
	/* A process whose bounds are no stack's is not walked at all. */
	set_process(config.layout.process_hend, node.hend - 4);
	assert_int_equal(sample_in_jit()->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(sample_in_jit()->nr_leaf, 0);
}

/* Around each limit the count of what is missing is exact. */
static void frame_limits(void **unused)
{
	static const uint32_t frames[] = {
		EBEAM_LEAF_FRAMES - 1,
		EBEAM_LEAF_FRAMES,
		EBEAM_LEAF_FRAMES + 1,
		EBEAM_LEAF_FRAMES + 2,
		EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES - 1,
		EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES,
		EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + 1,
		EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + 5 * EBEAM_CHUNK_WORDS,
		2000,
		2700,
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (uint32_t spacing = 1; spacing <= 3; spacing++) {
			build_stack((frames[i] - 1) * spacing + 1, spacing);
			assert_int_equal(node.nr_truth, frames[i]);
			assert_exact(sample_in_jit());
		}
	}
	build_stack(WALK_WORDS, 1); /* the largest that the walk sees whole */
	assert_exact(sample_in_jit());
	assert_int_equal(sample_in_jit()->walked_words, WALK_WORDS);
}

/* ---- recursion ---------------------------------------------------------------------------- */

static void build_recursion(uint32_t below, uint32_t times, uint32_t above)
{
	new_heap(2 * (below + times + above) + 64);
	push_bottom();
	for (uint32_t i = 0; i < below; i++)
		push_return(return_address(i));
	for (uint32_t i = 0; i < times; i++) {
		push_return(return_address(below));
		push_word(TERM_SMALL(i));
	}
	for (uint32_t i = 0; i < above; i++)
		push_return(return_address(below + 1 + i));
}

/* Equal return addresses are one address and a number. */
static void recursion(void **unused)
{
	static const uint32_t times[] = {1, 2, 3, EBEAM_LEAF_FRAMES, 4000};

	(void)unused;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		const struct rec_raw_sample *s;
		uint32_t words = times[i] > 1 ? 2 : 1;

		build_recursion(10, times[i], 5);
		s = sample_in_jit();
		assert_int_equal(s->status, SAMPLE_STATUS_COMPLETE);
		assert_int_equal(s->nr_root + s->skipped_frames + s->skipped_words, 0);
		assert_int_equal(s->nr_leaf, 5 + words + 10 + 1);
		assert_int_equal(s->addrs[5], return_address(10));
		if (times[i] > 1)
			assert_int_equal(s->addrs[6], RAW_REPEATED | (times[i] - 1));
		for (uint32_t k = 0; k < 5; k++)
			assert_int_equal(s->addrs[k], true_frame(k));
		for (uint32_t k = 0; k < 10; k++)
			assert_int_equal(s->addrs[5 + words + k], return_address(9 - k));
	}
}

/* Where the leaf part is full: what does not fit is counted, whatever it is. */
static void recursion_beyond_the_limit(void **unused)
{
	(void)unused;
	for (uint32_t above = EBEAM_LEAF_FRAMES - 2; above <= EBEAM_LEAF_FRAMES; above++) {
		const struct rec_raw_sample *s;
		uint32_t left = EBEAM_LEAF_FRAMES - above;

		build_recursion(200, 300, above);
		s = sample_in_jit();
		assert_int_equal(s->status, SAMPLE_STATUS_TRUNCATED);
		assert_int_equal(s->nr_leaf, EBEAM_LEAF_FRAMES);
		if (left > 0)
			assert_int_equal(s->addrs[above], return_address(200));
		if (left > 1)
			assert_int_equal(s->addrs[above + 1], RAW_REPEATED | 299);
		/* All frames are in one of the parts, or counted. */
		assert_int_equal(s->nr_root, EBEAM_ROOT_FRAMES);
		assert_int_equal(above + (left > 1 ? 300 : left) + s->skipped_frames + s->nr_root,
				 node.nr_truth);
		for (uint32_t k = 0; k < EBEAM_ROOT_FRAMES; k++)
			assert_int_equal(s->addrs[s->nr_leaf + k], node.truth[k]);
	}
}

/* ---- deeper than the walk ----------------------------------------------------------------- */

/* What must hold for a stack whose middle was not looked at. */
static void assert_cut(const struct rec_raw_sample *s, uint64_t walked)
{
	uint64_t words = (node.hend - node.stop) / 8;
	uint32_t seen = frames_in_top(walked);
	uint32_t leaf = seen < EBEAM_LEAF_FRAMES ? seen : EBEAM_LEAF_FRAMES;
	uint32_t hidden;

	assert_int_equal(s->walked_words, walked);
	assert_int_equal(s->nr_leaf, leaf);
	assert_int_equal(s->skipped_frames, seen - leaf);
	assert_true_frames(s);
	/* The root part stands beyond what the leaf side walked. */
	assert_true(s->nr_root <= node.nr_truth - seen);
	assert_true(s->skipped_words <= words - walked);
	/* Between both stands as much as the record says: no frame twice, none forgotten. */
	hidden = frames_in_top(walked + s->skipped_words) - seen;
	assert_int_equal(seen + hidden + s->nr_root, node.nr_truth);
	assert_int_equal(s->status, s->skipped_frames || s->skipped_words ? SAMPLE_STATUS_TRUNCATED
									  : SAMPLE_STATUS_COMPLETE);
	assert_true(s->flags & RAW_SAMPLE_ROOT_PART);
}

static void deeper_than_the_walk(void **unused)
{
	static const uint32_t beyond[] = {
		1,
		2,
		EBEAM_CHUNK_WORDS - 1,
		EBEAM_CHUNK_WORDS,
		EBEAM_CHUNK_WORDS + 1,
		EBEAM_ROOT_FRAMES,
		ROOT_WALK_WORDS - 1,
		ROOT_WALK_WORDS,
		ROOT_WALK_WORDS + 1,
		2 * ROOT_WALK_WORDS,
		50000,
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		for (uint32_t spacing = 1; spacing <= 11; spacing += 5) {
			build_stack(WALK_WORDS + beyond[i], spacing);
			assert_cut(sample_in_jit(), WALK_WORDS);
		}
	}
}

/* Where the two sides together see every word, nothing is missing and the sample says so. */
static void sides_that_meet(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	build_stack(WALK_WORDS + 100, 11);
	s = sample_in_jit();
	assert_whole(s);
	assert_true(s->nr_root > 0);
	/* With no frame in the words between. */
	new_heap(WALK_WORDS + 300);
	push_bottom();
	for (int i = 0; i < 150; i++)
		push_word(TERM_NIL);
	push_frames(110, 74);
	s = sample_in_jit();
	assert_true(s->walked_words == WALK_WORDS);
	assert_whole(s);
}

/* The root side ends after its words, whatever it has found by then. */
static void few_frames_near_the_root(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	new_heap(WALK_WORDS + 3000);
	push_bottom();
	for (int i = 0; i < 2000; i++)
		push_word(TERM_SMALL(i));
	push_frames(WALK_WORDS / 9, 9);
	s = sample_in_jit();
	assert_cut(s, WALK_WORDS);
	assert_int_equal(s->nr_root, 1);
	assert_int_equal(s->status, SAMPLE_STATUS_TRUNCATED);
	assert_int_equal(s->skipped_words,
			 (node.hend - node.stop) / 8 - WALK_WORDS - ROOT_WALK_WORDS);
}

/* Kernel frames stand before the others and take nothing from them. */
static void kernel_frames_first(void **unused)
{
	struct pt_regs regs;

	(void)unused;
	build_stack(EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES + 9, 1);
	for (int i = 0; i < 128; i++)
		host.kernel_stack[i] = 0xffffffff81000000ull + (uint64_t)i;
	host.task_regs = regs_in_jit();
	memset(&regs, 0, sizeof(regs));
	for (long frames = 0; frames <= EBEAM_KERNEL_FRAMES + 8; frames += 20) {
		struct rec_raw_sample *s;
		long kept = frames < EBEAM_KERNEL_FRAMES ? frames : EBEAM_KERNEL_FRAMES;

		host.kernel_stack_size = 8 * frames;
		s = sample(regs);
		assert_true(s->flags & RAW_SAMPLE_KERNEL);
		assert_int_equal(s->nr_kernel, kept);
		for (long i = 0; i < kept; i++)
			assert_int_equal(s->addrs[i], host.kernel_stack[i]);
		assert_exact(s);
	}
	host.kernel_stack_size = -EFAULT;
	assert_int_equal(sample(regs)->nr_kernel, 0);
	assert_exact(sample(regs));
}

/* ---- memory that cannot be read ----------------------------------------------------------- */

/* Each read of the stack in turn: the sample is never called whole, and holds no wrong frame. */
static void each_read_fails(void **unused)
{
	static const uint32_t words[] = {1, 40, 3 * EBEAM_CHUNK_WORDS, WALK_WORDS + 700};

	(void)unused;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t failed = 0,
			 chunks = (words[i] + EBEAM_CHUNK_WORDS - 1) / EBEAM_CHUNK_WORDS;

		build_stack(words[i], 3);
		for (uint64_t n = 1;; n++) {
			uint64_t faults = counter(COUNTER_READ_FAULT);
			struct rec_raw_sample *s;

			host.fail_read = n;
			s = sample_in_jit();
			assert_true_frames(s);
			if (host.reads < n)
				break;
			assert_int_equal(counter(COUNTER_READ_FAULT), faults + 1);
			if (host.failed_addr < node.stop || host.failed_addr >= node.hend)
				continue;
			assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
			failed++;
		}
		/* Of a stack that is cut, the root side reads until it has its frames. */
		if (words[i] > WALK_WORDS)
			chunks = EBEAM_LEAF_CHUNKS + EBEAM_ROOT_FRAMES * 3 / EBEAM_CHUNK_WORDS + 1;
		assert_in_range(failed, chunks - 1, chunks);
	}
}

/* A hole at each word: what stands before it is kept. */
static void hole_at_each_word(void **unused)
{
	uint32_t words = 2 * EBEAM_CHUNK_WORDS + 9;

	(void)unused;
	build_stack(words, 2);
	for (uint32_t i = 0; i < words; i++) {
		struct rec_raw_sample *s;
		uint32_t before = i / EBEAM_CHUNK_WORDS * EBEAM_CHUNK_WORDS;

		host.fail_addr = node.stop + 8ull * i + i % 8;
		s = sample_in_jit();
		assert_int_equal(s->status, SAMPLE_STATUS_STACK_UNREADABLE);
		assert_int_equal(s->walked_words, before);
		assert_int_equal(s->nr_leaf, frames_in_top(before));
		assert_true_frames(s);
	}
}

/* ---- a heap that is being swapped --------------------------------------------------------- */

/* The collector has moved the stack to a block whose bounds are not stored yet. */
static void move_stack(void)
{
	set_process(config.layout.process_heap, 0x7f5100000000ull);
	set_process(config.layout.process_hend, 0x7f5100001000ull);
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_state, 1u << 17 | 1u << 15);
}

/* In the collector, called from JIT code by a site that stored the stack pointer. */
static struct rec_raw_sample *sample_in_collector(void)
{
	uint64_t ra = return_address(777);

	put_leave(ra, SITE_STOP);
	return sample(regs_in_c(ra, 100));
}

/* The end of the stack is where its bottom return address stands, whatever lies behind. */
static void moved_stack_ends_at_the_bottom(void **unused)
{
	(void)unused;
	for (uint32_t frames = 0; frames < 2 * EBEAM_CHUNK_WORDS + 3; frames++) {
		struct rec_raw_sample *s;

		new_heap(3000);
		for (int i = 0; i < 2500; i++)
			push_word(return_address(5000)); /* someone else's memory */
		node.nr_truth = 0;
		push_bottom();
		push_frames(frames, 0);
		move_stack();
		s = sample_in_collector();
		assert_int_equal(s->place, PLACE_C_FROM_JIT);
		assert_int_equal(s->stack_source, STACK_STOP);
		assert_whole(s);
		assert_int_equal(s->walked_words, frames + 1);
	}
}

/* A deep one: the root part is taken from the stack, not from what lies behind it. */
static void moved_deep_stack(void **unused)
{
	(void)unused;
	for (uint32_t extra = 0; extra < 200; extra += 33) {
		new_heap(9000);
		for (int i = 0; i < 4000; i++)
			push_word(return_address(5000));
		node.nr_truth = 0;
		push_bottom();
		push_frames(EBEAM_LEAF_FRAMES + extra, 1);
		move_stack();
		assert_exact(sample_in_collector());
	}
}

/* The block may be the last thing before a page that is not there. */
static void moved_stack_at_the_end_of_a_mapping(void **unused)
{
	(void)unused;
	for (uint32_t frames = 1; frames < 3 * EBEAM_CHUNK_WORDS; frames += 7) {
		new_heap(1024); /* ends with a page */
		push_bottom();
		push_frames(frames, 0);
		move_stack();
		assert_whole(sample_in_collector());
	}
}

static void moved_stack_without_bottom(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	new_heap(10000);
	for (int i = 0; i < 9000; i++)
		push_word(i % 2 ? TERM_NIL : return_address(3));
	move_stack();
	s = sample_in_collector();
	assert_int_equal(s->status, SAMPLE_STATUS_BAD_BOUNDS);
	/* One that is cut off by unmapped memory. */
	new_heap(50);
	push_frames(20, 0);
	move_stack();
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_STACK_UNREADABLE);
	/* So near the top of the address space that the end wraps. */
	set_process(config.layout.process_stop, 0xfffffffffffff000ull);
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_BAD_BOUNDS);
}

/* What was looked for in one sample is not in the next. */
static void moved_stack_then_others(void **unused)
{
	(void)unused;
	new_heap(1024);
	push_bottom();
	push_frames(3, 1);
	move_stack();
	assert_whole(sample_in_collector());
	/* Bounds are back, and this stack has another bottom. */
	new_heap(100);
	push_frames(3, 1);
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_state, 0);
	assert_whole(sample_in_collector());
	/* Moved again: no bottom this time. */
	new_heap(9000);
	push_frames(8500, 0);
	move_stack();
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_BAD_BOUNDS);
}

/* Only a process that is being collected may have its stack elsewhere. */
static void outside_the_heap(void **unused)
{
	struct rec_raw_sample *s;

	(void)unused;
	push_bottom();
	push_frames(3, 1);
	move_stack();
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_state, 1u << 15);
	s = sample_in_collector();
	assert_int_equal(s->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(s->nr_leaf, 0);
	move_stack();
	set_process(config.layout.process_stop, node.stop + 4);
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_BAD_BOUNDS);
	set_process(config.layout.process_stop, 0);
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_BAD_BOUNDS);
	set_process(config.layout.process_stop, node.stop);
	state.normal_exit = 0; /* not known */
	assert_int_equal(sample_in_collector()->status, SAMPLE_STATUS_BAD_BOUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(realistic_stack),
		NODE_TEST(tags_and_hull),
		NODE_TEST(empty_stack),
		NODE_TEST(one_word),
		NODE_TEST(chunk_borders),
		NODE_TEST(odd_end),
		NODE_TEST(frame_limits),
		NODE_TEST(recursion),
		NODE_TEST(recursion_beyond_the_limit),
		NODE_TEST(deeper_than_the_walk),
		NODE_TEST(sides_that_meet),
		NODE_TEST(few_frames_near_the_root),
		NODE_TEST(kernel_frames_first),
		NODE_TEST(each_read_fails),
		NODE_TEST(hole_at_each_word),
		NODE_TEST(moved_stack_ends_at_the_bottom),
		NODE_TEST(moved_deep_stack),
		NODE_TEST(moved_stack_at_the_end_of_a_mapping),
		NODE_TEST(moved_stack_without_bottom),
		NODE_TEST(moved_stack_then_others),
		NODE_TEST(outside_the_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
