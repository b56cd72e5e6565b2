/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of functions, on a made-up process: which words come with them, which calls are
 * distinguished beforehand, and what limits and unreadable memory leave of them.
 */
#include "abi/vm.h"
#include "event_node.h"

#define ENTRY	 0x7f5400001000ull
#define SITE	 0x7f5400002000ull
#define X	 0x7f54a0000000ull
#define STACK	 (PROCESS + 0x1f00)
#define HEND	 (STACK + 0x80)
#define BYTES	 0x7f54b0000000ull
#define BOXED(a) ((a) | 2)
#define LIST(a)	 ((a) | 1)

static int setup_calls(void **unused)
{
	struct call_point entry = {.point = 0, .kind = CALL_KIND_CALL, .arity = 2};
	struct call_point site = {.kind = CALL_KIND_RETURN};
	struct call_filter filter = {.arity = 2};
	uint64_t addr = ENTRY;
	uint32_t zero = 0;

	setup(unused);
	HOST_ADD_MAP(call_points);
	HOST_ADD_MAP(call_filters);
	HOST_ADD_MAP(call_site_hits);
	HOST_ADD_MAP(call_threads);
	HOST_ADD_MAP(call_thread_new);
	host_add_memory(X, 64 * 8);
	host_add_memory(BYTES, 0x400);
	config.otp = 25;
	switches.kinds = 1ull << EVENT_CALLS;
	config.call_words = TERM_COPY_WORDS;
	config.call_depth = 32;
	bpf_map_update_elem(&call_points, &addr, &entry, BPF_ANY);
	addr = SITE;
	bpf_map_update_elem(&call_points, &addr, &site, BPF_ANY);
	bpf_map_update_elem(&call_filters, &zero, &filter, BPF_ANY);
	put(PROCESS, config.layout.process_hend, HEND);
	host_put_u64(STACK, SITE);
	return 0;
}

static const struct rec_raw_call *call(unsigned int n)
{
	for (unsigned int i = 0; i < host.nr_records; i++) {
		const struct rec_raw_call *rec = host.records[i].bytes;

		if (rec->h.type != REC_RAW_CALL)
			continue;
		assert_int_equal(rec->h.size, host.records[i].size);
		assert_int_equal(rec->h.size, sizeof(*rec) + 8 * rec->used);
		if (n-- == 0)
			return rec;
	}
	return NULL;
}

static uint64_t counter(uint32_t id)
{
	uint64_t *n = bpf_map_lookup_elem(&counters, &id);

	return n ? *n : 0;
}

static void hit(uint64_t ip, uint64_t sp)
{
	struct bpf_perf_event_data ctx = {
		.regs = {.ip = ip, .sp = sp, .bx = X, .r13 = PROCESS, .cs = 3}};

	assert_int_equal(call_breakpoint(&ctx), 1);
}

/* A word that came with the call. */
static bool has_word(const struct rec_raw_call *c, uint64_t addr, uint64_t *word)
{
	uint32_t nr;

	for (uint32_t at = 0; at < c->used; at += TERM_SEGMENT_HEAD + nr) {
		nr = TERM_SEGMENT_NR(c->words[at + 1]);
		assert_true(nr > 0 && at + TERM_SEGMENT_HEAD + nr <= c->used);
		if (addr >= c->words[at] && addr - c->words[at] < 8 * nr) {
			*word = c->words[at + TERM_SEGMENT_HEAD + (addr - c->words[at]) / 8];
			return true;
		}
	}
	return false;
}

static void expect_words(const struct rec_raw_call *c, uint64_t addr, const uint64_t *words,
			 unsigned int nr)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < nr; i++) {
		assert_true(has_word(c, addr + 8 * i, &word));
		assert_int_equal(word, words[i]);
	}
}

static void args(uint64_t a, uint64_t b)
{
	host_put_u64(X, a);
	host_put_u64(X + 8, b);
}

static void a_call(void **unused)
{
	const uint64_t tuple[] = {2 << 6, ATOM(5), LIST(HEAP + 0x120)};
	const uint64_t back[] = {SMALL(3),	     TERM_NIL, SMALL(2),
				 LIST(HEAP + 0x100), SMALL(1), LIST(HEAP + 0x110)};
	const struct rec_raw_call *c;

	(void)unused;
	host_put(HEAP + 0x80, tuple, sizeof(tuple));
	host_put(HEAP + 0x100, back, sizeof(back));
	args(BOXED(HEAP + 0x80), SMALL(7));
	hit(ENTRY, STACK);
	c = call(0);
	assert_non_null(c);
	assert_int_equal(c->kind, CALL_KIND_CALL);
	assert_int_equal(c->epid, EPID);
	assert_int_equal(c->os_tid, 4712);
	assert_int_equal(c->cpu, 1);
	assert_int_equal(c->nr_terms, 2);
	assert_int_equal(c->terms, X);
	assert_int_equal(c->caller, SITE);
	assert_int_equal(c->height, (HEND - STACK) / 8);
	assert_int_equal(c->cut, 0);
	expect_words(c, X, (uint64_t[]){BOXED(HEAP + 0x80), SMALL(7)}, 2);
	expect_words(c, HEAP + 0x80, tuple, 3);
	expect_words(c, HEAP + 0x100, back, 6);
}

/* The site that a call returns to: the same height, and X0. */
static void its_end(void **unused)
{
	(void)unused;
	args(ATOM(9), TERM_NIL);
	hit(ENTRY, STACK);
	hit(SITE, STACK + 8);
	assert_non_null(call(1));
	assert_int_equal(call(1)->kind, CALL_KIND_RETURN);
	assert_int_equal(call(1)->height, call(0)->height);
	assert_int_equal(call(1)->nr_terms, 1);
	expect_words(call(1), X, (uint64_t[]){ATOM(9)}, 1);
}

static void nowhere(void **unused)
{
	(void)unused;
	args(TERM_NIL, TERM_NIL);
	hit(ENTRY + 1, STACK);
	assert_null(call(0));
}

/* Binaries of OTP 25: on the heap, off the heap, a part of one. */
static void binaries_25(void **unused)
{
	const uint64_t heap[] = {2 << 6 | 0x24, 5, 0x6f6c6c6568};
	const uint64_t whole[] = {5 << 6 | 0x20, 0x100, 0, 0x1234, BYTES, 0};
	const uint64_t part[] = {3 << 6 | 0x28, 16, 0x21, 0, BOXED(HEAP + 0x200)};
	uint64_t bytes[32], word;
	const struct rec_raw_call *c;

	(void)unused;
	for (int i = 0; i < 32; i++)
		bytes[i] = 0x0101010101010101ull * (uint64_t)i;
	host_put(BYTES, bytes, sizeof(bytes));
	host_put(HEAP + 0x100, heap, sizeof(heap));
	host_put(HEAP + 0x200, whole, sizeof(whole));
	host_put(HEAP + 0x300, part, sizeof(part));
	args(BOXED(HEAP + 0x100), BOXED(HEAP + 0x300));
	hit(ENTRY, STACK);
	c = call(0);
	expect_words(c, HEAP + 0x100, heap, 3);
	expect_words(c, HEAP + 0x200, whole, 6);
	expect_words(c, HEAP + 0x300, part, 5);
	expect_words(c, BYTES + 0x20, bytes + 4, 3);
	assert_false(has_word(c, BYTES + 0x18, &word));
	args(BOXED(HEAP + 0x200), TERM_NIL);
	hit(ENTRY, STACK);
	expect_words(call(1), BYTES, bytes, 32);
}

/* The same from OTP 27 on. */
static void binaries_27(void **unused)
{
	const uint64_t heap[] = {2 << 6 | 0x20, 40, 0x6f6c6c6568};
	const uint64_t ref[] = {2 << 6 | 0x28, 0x1234, 0};
	const uint64_t part[] = {4 << 6 | 0x24, BYTES | 1, 0x21 * 8, 0x31 * 8, BOXED(HEAP + 0x200)};
	const struct rec_raw_call *c;
	uint64_t word;

	(void)unused;
	config.otp = 27;
	host_put(HEAP + 0x100, heap, sizeof(heap));
	host_put(HEAP + 0x200, ref, sizeof(ref));
	host_put(HEAP + 0x300, part, sizeof(part));
	args(BOXED(HEAP + 0x100), BOXED(HEAP + 0x300));
	hit(ENTRY, STACK);
	c = call(0);
	expect_words(c, HEAP + 0x100, heap, 3);
	expect_words(c, HEAP + 0x200, ref, 2);
	expect_words(c, HEAP + 0x300, part, 5);
	assert_true(has_word(c, BYTES + 0x20, &word));
	assert_true(has_word(c, BYTES + 0x30, &word));
	assert_false(has_word(c, BYTES + 0x38, &word));
}

/* That were appended to: their bytes are where the Binary says, not where the bits say. */
static void binaries_that_move(void **unused)
{
	const uint64_t ref[] = {2 << 6 | 0x28, BYTES - 32, 0};
	const uint64_t grown[] = {4 << 6 | 0x24, 0x1000 | 2, 0x20 * 8, 0x30 * 8,
				  BOXED(HEAP + 0x200)};
	uint64_t word;

	(void)unused;
	config.otp = 27;
	((struct beam_layout *)&config.layout)->binary_orig_bytes = 32;
	host_put(HEAP + 0x200, ref, sizeof(ref));
	host_put(HEAP + 0x300, grown, sizeof(grown));
	args(BOXED(HEAP + 0x300), TERM_NIL);
	hit(ENTRY, STACK);
	expect_words(call(0), HEAP + 0x300, grown, 5);
	assert_true(has_word(call(0), BYTES + 0x20, &word));
	assert_true(has_word(call(0), BYTES + 0x28, &word));
	assert_false(has_word(call(0), BYTES + 0x30, &word));
	/* Whose Binary is not known. */
	host_put(HEAP + 0x200, (const uint64_t[]){2 << 6 | 0x24}, 8);
	hit(ENTRY, STACK);
	assert_false(has_word(call(1), BYTES + 0x20, &word));
}

/* Flat: header, size, keys, values. */
static void maps(void **unused)
{
	const uint64_t keys[] = {2 << 6, ATOM(1), ATOM(2)};
	const uint64_t map[] = {0x3c, 2, BOXED(HEAP + 0x100), SMALL(1), LIST(HEAP + 0x140)};
	const uint64_t cell[] = {SMALL(5), TERM_NIL};

	(void)unused;
	host_put(HEAP + 0x100, keys, sizeof(keys));
	host_put(HEAP + 0x140, cell, sizeof(cell));
	host_put(HEAP + 0x180, map, sizeof(map));
	args(BOXED(HEAP + 0x180), TERM_NIL);
	hit(ENTRY, STACK);
	expect_words(call(0), HEAP + 0x180, map, 5);
	expect_words(call(0), HEAP + 0x100, keys, 3);
	expect_words(call(0), HEAP + 0x140, cell, 2);
}

static void limits(void **unused)
{
	const uint64_t outer[] = {1 << 6, BOXED(HEAP + 0x100)};
	const uint64_t inner[] = {1 << 6, BOXED(HEAP + 0x140)};
	const uint64_t most[] = {1 << 6, ATOM(1)};
	uint64_t word;

	(void)unused;
	host_put(HEAP + 0x80, outer, sizeof(outer));
	host_put(HEAP + 0x100, inner, sizeof(inner));
	host_put(HEAP + 0x140, most, sizeof(most));
	args(BOXED(HEAP + 0x80), TERM_NIL);
	config.call_depth = 2;
	hit(ENTRY, STACK);
	assert_true(has_word(call(0), HEAP + 0x100, &word));
	assert_false(has_word(call(0), HEAP + 0x140, &word));
	assert_int_equal(call(0)->cut, 1);
	config.call_depth = 32;
	config.call_words = 9; /* arguments 4, outer 4 */
	hit(ENTRY, STACK);
	assert_true(has_word(call(1), HEAP + 0x80, &word));
	assert_false(has_word(call(1), HEAP + 0x100, &word));
	assert_int_equal(call(1)->cut, 1);
}

/* What contains itself ends at the limit. */
static void circles(void **unused)
{
	const uint64_t cell[] = {LIST(HEAP + 0x100), LIST(HEAP + 0x100)};
	const uint64_t tuple[] = {3 << 6, BOXED(HEAP + 0x200), LIST(HEAP + 0x100),
				  BOXED(HEAP + 0x200)};

	(void)unused;
	host_put(HEAP + 0x100, cell, sizeof(cell));
	host_put(HEAP + 0x200, tuple, sizeof(tuple));
	args(BOXED(HEAP + 0x200), LIST(HEAP + 0x100));
	config.call_depth = 1000000;
	hit(ENTRY, STACK);
	assert_non_null(call(0));
	assert_true(call(0)->used <= TERM_COPY_WORDS);
	assert_int_equal(call(0)->cut, 1);
}

/* Headers of any kind and size, pointers to anywhere. */
static void hostile(void **unused)
{
	(void)unused;
	srand(7);
	for (int round = 0; round < 2000; round++) {
		uint64_t words[0x1000 / 8];

		for (size_t i = 0; i < sizeof(words) / 8; i++) {
			uint64_t r = ((uint64_t)rand() << 31 ^ (uint64_t)rand()) << (rand() % 3);

			words[i] = rand() % 3 ? HEAP + r % 0x1000 : r;
		}
		host_put(HEAP, words, sizeof(words));
		config.otp = rand() % 2 ? 25 : 29;
		args(words[0], words[1]);
		hit(ENTRY, STACK);
		assert_non_null(call((unsigned int)round));
	}
}

/* Each read of the program fails once. */
static void faults(void **unused)
{
	const uint64_t tuple[] = {2 << 6, LIST(HEAP + 0x100), TERM_NIL};
	const uint64_t cell[] = {SMALL(1), TERM_NIL};

	for (uint64_t nth = 1; nth < 20; nth++) {
		teardown(unused);
		setup_calls(unused);
		host_put(HEAP + 0x80, tuple, sizeof(tuple));
		host_put(HEAP + 0x100, cell, sizeof(cell));
		args(BOXED(HEAP + 0x80), TERM_NIL);
		host.fail_read = nth;
		hit(ENTRY, STACK);
		if (call(0)) {
			assert_int_equal(call(0)->epid, EPID);
			assert_true(call(0)->used <= TERM_COPY_WORDS);
		}
	}
}

static void set_tests(const struct call_test *tests, uint32_t nr)
{
	struct call_filter filter = {.nr = nr, .arity = 2};
	uint32_t zero = 0;

	memcpy(filter.tests, tests, nr * sizeof(*tests));
	bpf_map_update_elem(&call_filters, &zero, &filter, BPF_ANY);
}

static bool passes(uint64_t a, uint64_t b)
{
	unsigned int before = host.nr_records;

	args(a, b);
	hit(ENTRY, STACK);
	return host.nr_records > before;
}

static void filters(void **unused)
{
	const struct call_test equal[] = {
		{.arg = 0, .op = CALL_TEST_EQUAL, .element = -1, .value = ATOM(3)}};
	const struct call_test guard[] = {
		{.arg = 1, .op = CALL_TEST_SMALL_GT, .element = -1, .group = 1, .value = SMALL(3)},
		{.arg = 1, .op = CALL_TEST_SMALL_LT, .element = -1, .group = 1, .value = SMALL(9)},
		{.arg = 1, .op = CALL_TEST_EQUAL, .element = -1, .group = 2, .value = SMALL(0)}};
	const struct call_test tagged[] = {
		{.arg = 0,
		 .op = CALL_TEST_HEADER,
		 .element = -1,
		 .value = 0xffffffffull << 32 | 2 << 6},
		{.arg = 0, .op = CALL_TEST_EQUAL, .element = 0, .value = ATOM(4)}};
	const struct call_test type[] = {{.arg = 0,
					  .op = CALL_TEST_TYPE,
					  .element = -1,
					  .value = 1 << CALL_TYPE_CONS | 1 << CALL_TYPE_NIL}};
	const uint64_t ok[] = {2 << 6, ATOM(4), TERM_NIL}, no[] = {2 << 6, ATOM(5), TERM_NIL};

	(void)unused;
	host_put(HEAP + 0x80, ok, sizeof(ok));
	host_put(HEAP + 0x100, no, sizeof(no));
	set_tests(equal, 1);
	assert_true(passes(ATOM(3), TERM_NIL));
	assert_false(passes(ATOM(4), TERM_NIL));
	set_tests(guard, 3);
	assert_true(passes(TERM_NIL, SMALL(4)));
	assert_true(passes(TERM_NIL, SMALL(8)));
	assert_true(passes(TERM_NIL, SMALL(0)));
	assert_false(passes(TERM_NIL, SMALL(3)));
	assert_false(passes(TERM_NIL, SMALL(9)));
	assert_false(passes(TERM_NIL, SMALL(-4)));
	assert_true(passes(TERM_NIL, BOXED(HEAP + 0x80))); /* may be a large number: not for BPF */
	set_tests(tagged, 2);
	assert_true(passes(BOXED(HEAP + 0x80), TERM_NIL));
	assert_false(passes(BOXED(HEAP + 0x100), TERM_NIL));
	assert_false(passes(ATOM(4), TERM_NIL));
	assert_false(passes(BOXED(0x1000), TERM_NIL)); /* unreadable */
	set_tests(type, 1);
	assert_true(passes(TERM_NIL, TERM_NIL));
	assert_true(passes(LIST(HEAP), TERM_NIL));
	assert_false(passes(SMALL(1), TERM_NIL));
}

/* ---- stacks ---------------------------------------------------------------------------------- */

#define JIT_START (ENTRY & ~0xffffull)
#define FS	  0x7f5500000000ull

static const struct rec_raw_sample *stack(unsigned int n)
{
	for (unsigned int i = 0; i < host.nr_records; i++) {
		const struct rec_raw_sample *rec = host.records[i].bytes;

		if (rec->h.type == REC_RAW_SAMPLE && n-- == 0)
			return rec;
	}
	return NULL;
}

static void ask_for_stacks(void)
{
	struct call_filter filter = {.arity = 2, .stack = 1};
	uint32_t zero = 0;

	bpf_map_update_elem(&call_filters, &zero, &filter, BPF_ANY);
	state.jit_hull.start = state.jit[0].start = JIT_START;
	state.jit_hull.end = state.jit[0].end = JIT_START + 0x10000;
	state.nr_jit = 1;
	put(PROCESS, config.layout.process_stop, STACK);
	put(PROCESS, config.layout.process_htop, HEAP);
	put(PROCESS, config.layout.process_heap, PROCESS);
	put(PROCESS, config.layout.process_hend, HEND);
	host_put_u64(STACK + 8, SMALL(1));
	host_put_u64(STACK + 16, SITE + 0x40);
	args(TERM_NIL, TERM_NIL);
}

/* All return addresses from the top of the stack on; a scheduler that nobody knows is enough. */
static void stack_of_a_call(void **unused)
{
	(void)unused;
	ask_for_stacks();
	hit(ENTRY, STACK);
	assert_non_null(call(0));
	assert_int_equal(call(0)->flags, RAW_CALL_STACK);
	assert_int_equal(stack(0)->flags, RAW_SAMPLE_REGS | RAW_SAMPLE_EVENT);
	assert_int_equal(stack(0)->h.ts_ns, call(0)->h.ts_ns);
	assert_int_equal(stack(0)->os_tid, call(0)->os_tid);
	assert_int_equal(stack(0)->user_ip, ENTRY);
	assert_int_equal(stack(0)->status, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(stack(0)->nr_leaf, 2);
	assert_int_equal(stack(0)->addrs[0], SITE);
	assert_int_equal(stack(0)->addrs[1], SITE + 0x40);
	/* An end has none, and what was not asked for neither. */
	hit(SITE, STACK + 8);
	assert_int_equal(call(1)->flags, 0);
	assert_null(stack(1));
	/* Recursion, again and again: nothing is left of the stack before. */
	host_put_u64(STACK + 16, SITE);
	for (uint32_t i = 1; i <= 3; i++) {
		hit(ENTRY, STACK);
		assert_int_equal(stack(i)->nr_leaf, 2);
		assert_int_equal(stack(i)->addrs[0], SITE);
		assert_int_equal(stack(i)->addrs[1], RAW_REPEATED | 1);
	}
}

/* The process stands at where C code was called from. */
static void stack_of_c_function(void **unused)
{
	struct thread_info scheduler = {.type = THREAD_NORMAL, .registers = 0x7f5600001000ull};
	struct pt_regs ctx = {.di = PROCESS, .si = X, .dx = SITE, .sp = scheduler.registers - 8};
	uint64_t key = FSBASE;

	(void)unused;
	ask_for_stacks();
	host_add_memory(scheduler.registers - 64, 128);
	host_put_u64(scheduler.registers - 8, SITE + 0x80);
	bpf_map_update_elem(&threads, &key, &scheduler, BPF_ANY);
	host.cookie = CALL_COOKIE(0, false);
	call_function(&ctx);
	assert_int_equal(call(0)->flags, RAW_CALL_STACK);
	assert_int_equal(stack(0)->place, PLACE_C_FROM_JIT);
	assert_int_equal(stack(0)->call_ra, SITE + 0x80);
	/* On a thread that is not known to be a scheduler there is none, which is reported. */
	bpf_map_delete_elem(&threads, &key);
	call_function(&ctx);
	assert_int_equal(call(1)->flags, 0);
	assert_int_equal(counter(COUNTER_NO_STACK), 1);
}

/* When a thread last came to a return site is known, if room was made for that. */
static void last_hits(void **unused)
{
	struct call_site_thread key = {.addr = SITE, .os_tid = 4712};
	struct call_site_hit *last, never = {0};

	(void)unused;
	args(TERM_NIL, TERM_NIL);
	hit(SITE, STACK + 8);
	assert_null(bpf_map_lookup_elem(&call_site_hits, &key));
	bpf_map_update_elem(&call_site_hits, &key, &never, BPF_ANY);
	last = bpf_map_lookup_elem(&call_site_hits, &key);
	hit(ENTRY, STACK);
	assert_int_equal(last->last_ns, 0);
	hit(SITE, STACK + 8);
	assert_int_equal(last->last_ns, call(2)->h.ts_ns);
	/* Of somebody who is not asked about, too. */
	host.now_ns += 1000;
	config.event_epid = EPID + 0x100;
	hit(SITE, STACK + 8);
	assert_null(call(3));
	assert_true(last->last_ns > call(2)->h.ts_ns);
}

/* Hits that the kernel counted and did not report. */
static void skipped_hits(void **unused)
{
	struct call_site_thread key = {.addr = SITE, .os_tid = 4712};
	struct call_site_hit never = {0};
	static const uint64_t nr[] = {1, 2, 5, 6, 1, 2, 4};

	(void)unused;
	args(TERM_NIL, TERM_NIL);
	host.perf_count = 7; /* of a thread that is not known yet */
	hit(SITE, STACK + 8);
	bpf_map_update_elem(&call_site_hits, &key, &never, BPF_ANY);
	for (size_t i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		host.perf_count = nr[i];
		hit(SITE, STACK + 8);
		assert_int_equal(counter(COUNTER_CALLS_SKIPPED), i < 2 ? 0 : i < 6 ? 2 : 3);
	}
	host.perf_count = 3; /* of an event that is new, too */
	hit(SITE, STACK + 8);
	assert_int_equal(counter(COUNTER_CALLS_SKIPPED), 5);
	host.perf_count = 0; /* a kernel that does not say */
	hit(SITE, STACK + 8);
	assert_int_equal(counter(COUNTER_CALLS_SKIPPED), 5);
	assert_non_null(call(9));
}

static struct bpf_perf_event_data hit_with_left(uint32_t left)
{
	return (struct bpf_perf_event_data){
		.regs = {.ip = ENTRY, .sp = STACK, .bx = X, .r13 = PROCESS, .r14 = left, .cs = 3}};
}

/* When the first and the last hit of an event were, by reductions and by its own time. */
static void moments(void **unused)
{
	struct call_site_thread key = {.addr = ENTRY, .os_tid = 4712};
	struct call_site_hit *h, never = {0};
	struct {
		uint64_t nr, on_ns, done;
		uint32_t left;
		uint64_t first_ns, first, last;
	} hits[] = {
		{1, 10, 100000, 3999, 10, 100001, 100001},
		{2, 25, 100000, 3990, 10, 100001, 100010},
		/* Another slice; a process that has used up what it was given. */
		{3, 40, 104000, (uint32_t)-5, 10, 100001, 108005},
		/* Another event. */
		{1, 7, 108010, 4000, 7, 108010, 108010},
	};

	(void)unused;
	args(TERM_NIL, TERM_NIL);
	config.layout.sched_reductions = 8;
	bpf_map_update_elem(&call_site_hits, &key, &never, BPF_ANY);
	h = bpf_map_lookup_elem(&call_site_hits, &key);
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++) {
		struct bpf_perf_event_data ctx = hit_with_left(hits[i].left);

		host.perf_count = hits[i].nr;
		host.perf_on_ns = hits[i].on_ns;
		put(ESDP, config.layout.sched_reductions, hits[i].done);
		call_breakpoint(&ctx);
		assert_int_equal(h->first.on_ns, hits[i].first_ns);
		assert_int_equal(h->first.reductions, hits[i].first);
		assert_int_equal(h->last.on_ns, hits[i].on_ns);
		assert_int_equal(h->last.reductions, hits[i].last);
	}
	put(PROCESS, config.layout.process_scheduler_data, 0);
	hit(ENTRY, STACK);
	assert_int_equal(h->last.reductions, 0);
}

/* A BIF is called: process, arguments, caller. */
static struct pt_regs enter_bif(void)
{
	struct pt_regs ctx = {.di = PROCESS, .si = X, .dx = SITE};

	put(PROCESS, config.layout.process_stop, STACK);
	host.cookie = CALL_COOKIE(0, false);
	args(SMALL(1), SMALL(2));
	call_function(&ctx);
	return ctx;
}

/* What is reported of it, and of what it returns. */
static void c_functions(void **unused)
{
	struct pt_regs ctx = enter_bif(), back = {.ax = ATOM(6)};

	(void)unused;
	call_function_return(&back);
	assert_non_null(call(1));
	assert_int_equal(call(0)->nr_terms, 2);
	assert_int_equal(call(0)->caller, SITE);
	assert_int_equal(call(1)->kind, CALL_KIND_RETURN);
	assert_int_equal(call(1)->height, call(0)->height);
	expect_words(call(1), call(1)->terms, (uint64_t[]){ATOM(6)}, 1);
	assert_int_equal(call(1)->flags, 0);
	/* No value, as it goes on elsewhere (TRAP); and no call of which it could be the end. */
	back.ax = 0;
	put(PROCESS, config.layout.process_freason, 1 << 10);
	call_function(&ctx);
	call_function_return(&back);
	assert_int_equal(call(3)->nr_terms, 0);
	assert_int_equal(call(3)->flags, RAW_CALL_GOES_ON);
	call_function_return(&back);
	assert_null(call(4));
	/* It raised: the exception tells (EXC_BADARG). */
	put(PROCESS, config.layout.process_freason, 3 << 10 | 1 << 6 | 1 << 4);
	call_function(&ctx);
	assert_non_null(call(4));
	call_function_return(&back);
	assert_null(call(5));
	free(host.records[--host.nr_records].bytes);
	/* Its probes are on their way out: the end of a call that was reported, and calls, are
	 * not. */
	call_function(&ctx);
	assert_non_null(call(4));
	switches.kinds = 0;
	call_function_return(&back);
	call_function(&ctx);
	switches.kinds = 1ull << EVENT_CALLS;
	call_function_return(&back);
	assert_null(call(5));
}

/* A thread entered a function, nobody saw it leave, and when the probes are back it leaves another
 * one that it entered meanwhile. */
static void returns_while_off(void **unused)
{
	struct pt_regs ctx = enter_bif(), back = {.ax = ATOM(6)};

	(void)unused;
	assert_non_null(call(0));
	switches.epoch[EVENT_CALLS]++;
	call_function_return(&back);
	assert_null(call(1));
	call_function(&ctx);
	call_function_return(&back);
	assert_int_equal(call(2)->kind, CALL_KIND_RETURN);
}

static void no_room(void **unused)
{
	(void)unused;
	args(TERM_NIL, TERM_NIL);
	host.ring_room = 0;
	hit(ENTRY, STACK);
	assert_null(call(0));
	assert_int_equal(counter(COUNTER_CALLS), 1);
	assert_int_equal(counter(COUNTER_CALLS_LOST), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup_calls, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_call),
		CASE(its_end),
		CASE(nowhere),
		CASE(binaries_25),
		CASE(binaries_27),
		CASE(binaries_that_move),
		CASE(maps),
		CASE(limits),
		CASE(circles),
		CASE(hostile),
		CASE(faults),
		CASE(filters),
		CASE(c_functions),
		CASE(last_hits),
		CASE(no_room),
		CASE(stack_of_a_call),
		CASE(stack_of_c_function),
		CASE(returns_while_off),
		CASE(skipped_hits),
		CASE(moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
