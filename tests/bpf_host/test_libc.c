/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of malloc and its neighbours. */
#include "event_node.h"

#define BLOCK  0x55d0c0000010ull
#define STACK  0x7f5449ff0000ull
#define RESULT (HEAP + 0x700)

static uint64_t kept; /* bytes for which samples stand, dropped with their records */

static void enter(enum event_word op, struct pt_regs ctx)
{
	host.cookie = op;
	event_libc_alloc(&ctx);
}

static void leave(uint64_t result)
{
	struct pt_regs ctx = {.ax = result, .sp = STACK + 8};

	event_libc_alloc_return(&ctx);
}

static void check_event(unsigned int i, enum event_word op, uint64_t size, uint64_t address)
{
	assert_non_null(event(i));
	assert_int_equal(event(i)->kind, EVENT_LIBC_ALLOC);
	assert_int_equal(event(i)->nr_values, LIBC_VALUES);
	assert_int_equal(event(i)->values[LIBC_OP], op);
	assert_int_equal(event(i)->values[LIBC_SIZE], size);
	assert_int_equal(event(i)->values[LIBC_ADDRESS], address);
}

static void each(void **unused)
{
	struct pt_regs freed = {.di = BLOCK};

	(void)unused;
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 100, .sp = STACK});
	leave(BLOCK);
	enter(EVENT_WORD_CALLOC, (struct pt_regs){.di = 3, .si = 50, .sp = STACK});
	leave(BLOCK);
	enter(EVENT_WORD_MEMALIGN, (struct pt_regs){.di = 64, .si = 200, .sp = STACK});
	leave(BLOCK);
	host_put_u64(RESULT, BLOCK);
	enter(EVENT_WORD_POSIX_MEMALIGN,
	      (struct pt_regs){.di = RESULT, .si = 64, .dx = 300, .sp = STACK});
	leave(0);
	enter(EVENT_WORD_MMAP, (struct pt_regs){.si = 4096, .sp = STACK});
	leave(BLOCK);
	host.cookie = EVENT_WORD_FREE;
	event_libc_free(&freed);
	check_event(0, EVENT_WORD_MALLOC, 100, BLOCK);
	check_event(1, EVENT_WORD_CALLOC, 150, BLOCK);
	check_event(2, EVENT_WORD_MEMALIGN, 200, BLOCK);
	check_event(3, EVENT_WORD_POSIX_MEMALIGN, 300, BLOCK);
	check_event(4, EVENT_WORD_MMAP, 4096, BLOCK);
	check_event(5, EVENT_WORD_FREE, EVENT_UNKNOWN, BLOCK);
	assert_int_equal(event(0)->values[LIBC_STANDS_FOR], 100);
	assert_null(event(6));
	/* No memory; free(NULL); a return without a call. */
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 100, .sp = STACK});
	leave(0);
	enter(EVENT_WORD_MMAP, (struct pt_regs){.si = 4096, .sp = STACK});
	leave((uint64_t)-1);
	enter(EVENT_WORD_POSIX_MEMALIGN, (struct pt_regs){.di = RESULT, .dx = 300, .sp = STACK});
	leave(12);
	freed.di = 0;
	event_libc_free(&freed);
	leave(BLOCK);
	assert_null(event(6));
}

/* realloc() that calls malloc(), which calls mmap(): one free, one block. */
static void in_each_other(void **unused)
{
	(void)unused;
	enter(EVENT_WORD_REALLOC, (struct pt_regs){.di = BLOCK, .si = 500, .sp = STACK});
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 500, .sp = STACK - 64});
	enter(EVENT_WORD_MMAP, (struct pt_regs){.si = 4096, .sp = STACK - 128});
	leave(BLOCK - 16);
	leave(BLOCK + 64);
	leave(BLOCK + 64);
	check_event(0, EVENT_WORD_REALLOC, EVENT_UNKNOWN, BLOCK);
	check_event(1, EVENT_WORD_REALLOC, 500, BLOCK + 64);
	assert_null(event(2));
	/* A call that never returned; the next one is higher on the stack. */
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 1, .sp = STACK - 64});
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 2, .sp = STACK});
	leave(BLOCK);
	check_event(2, EVENT_WORD_MALLOC, 2, BLOCK);
	/* Entered before the probes were off for a while. */
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 3, .sp = STACK});
	switches.epoch[EVENT_LIBC_ALLOC]++;
	leave(BLOCK);
	assert_null(event(3));
}

static void sample(uint64_t size)
{
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = size, .sp = STACK});
	leave(BLOCK);
	if (event(0)) {
		assert_int_equal(event(0)->values[LIBC_SIZE], size);
		assert_int_equal(event(0)->values[LIBC_STANDS_FOR] % state.libc_every, 0);
		kept += event(0)->values[LIBC_STANDS_FOR];
	}
	host_drop_records();
}

/* Samples stand for as many bytes as there were, for each of two sizes that take turns. */
static void samples(void **unused)
{
	uint64_t sums[2] = {0};
	struct event_count *n;

	(void)unused;
	config.libc_sampled = 1;
	state.libc_every = 4096;
	for (unsigned int i = 0; i < 40000; i++) {
		kept = 0;
		sample(i % 2 ? 96 : 4000);
		sums[i % 2] += kept;
	}
	assert_true(sums[0] > 20000 * 4000ull * 0.99 && sums[0] < 20000 * 4000ull * 1.01);
	assert_true(sums[1] > 20000 * 96ull * 0.85 && sums[1] < 20000 * 96ull * 1.15);
	n = count_of(EVENT_LIBC_ALLOC);
	assert_int_equal(n->ns, 40000);
	assert_int_equal(n->size, 20000 * 4096ull);
	/* A block larger than what is cut stands for itself, on average. */
	for (unsigned int i = kept = 0; i < 100; i++)
		sample(1000000);
	assert_true(kept > 100 * 1000000ull - 8192 && kept < 100 * 1000000ull + 8192);
	state.libc_every = 1 << 20;
	for (unsigned int i = kept = 0; i < 20000; i++)
		sample(1000);
	assert_true(kept > 17 << 20 && kept < 21 << 20);
}

/* Only the free of a sample is said, whoever does it. */
static void frees_of_samples(void **unused)
{
	struct pt_regs freed = {.di = BLOCK + 64};

	(void)unused;
	config.libc_sampled = config.libc_frees = 1;
	state.libc_every = 1;
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 100, .sp = STACK});
	leave(BLOCK);
	host.cookie = EVENT_WORD_FREE;
	event_libc_free(&freed);
	assert_null(event(1));
	freed.di = BLOCK;
	event_libc_free(&freed);
	event_libc_free(&freed);
	check_event(1, EVENT_WORD_FREE, EVENT_UNKNOWN, BLOCK);
	assert_null(event(2));
}

/* munmap() of a part of a mapping does not free it; of its start it leaves the rest, at another
 * address.  All counts in whole pages. */
static void part_of_a_mapping(void **unused)
{
	struct pt_regs freed = {.di = BLOCK + 8192, .si = 8192};

	(void)unused;
	config.libc_sampled = config.libc_frees = 1;
	state.libc_every = 1;
	enter(EVENT_WORD_MMAP, (struct pt_regs){.si = 10000, .sp = STACK});
	leave(BLOCK);
	host.cookie = EVENT_WORD_MUNMAP;
	event_libc_free(&freed);
	assert_null(event(1));
	freed = (struct pt_regs){.di = BLOCK, .si = 4000};
	event_libc_free(&freed);
	check_event(1, EVENT_WORD_MUNMAP, 4096, BLOCK);
	event_libc_free(&freed);
	assert_null(event(2));
	freed = (struct pt_regs){.di = BLOCK + 4096, .si = 8192};
	event_libc_free(&freed);
	check_event(2, EVENT_WORD_MUNMAP, EVENT_UNKNOWN, BLOCK + 4096);
}

/* A thread that is no scheduler has its C stack. */
static void of_a_thread(void **unused)
{
	const struct rec_raw_cstack *c;
	const struct rec_raw_sample *s;

	(void)unused;
	config.event_stacks = config.native_stacks = 1;
	state.threads_known = 1;
	host_add_memory(STACK, 0x10000);
	enter(EVENT_WORD_MALLOC, (struct pt_regs){.di = 100, .sp = STACK});
	leave(BLOCK);
	assert_int_equal(host.nr_records, 3);
	c = host.records[0].bytes;
	s = host.records[1].bytes;
	assert_int_equal(c->h.type, REC_RAW_CSTACK);
	assert_int_equal(c->sp, STACK + 8);
	assert_int_equal(c->h.ts_ns, s->h.ts_ns);
	assert_int_equal(s->h.type, REC_RAW_SAMPLE);
	assert_int_equal(s->thread_type, THREAD_OTHER);
	assert_int_equal(s->epid, 0);
	assert_int_equal(event(0)->flags, RAW_EVENT_STACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(each),	   TEST(in_each_other),	    TEST(samples), TEST(frees_of_samples),
		TEST(of_a_thread), TEST(part_of_a_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
