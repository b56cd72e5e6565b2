/* SPDX-License-Identifier: BSD-2-Clause */
/* model/profile/leak_weights: blocks that live for known times, seen all the time or in windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/profile/leak_weights.h"

#define MS   1000000ull
#define RUN  (20000 * MS)
#define SIZE 1000u

enum { LEAK = 1, CHURN, CACHE, NR_STACKS };

struct sums {
	uint64_t bytes[NR_STACKS], blocks;
};

static void add(void *arg, const struct leak_block *b, uint64_t bytes)
{
	struct sums *s = arg;

	assert_true(b->stack < NR_STACKS && bytes > 0);
	s->bytes[b->stack] += bytes;
	s->blocks++;
}

static void allocate(struct leak_weights *l, uint64_t address, uint32_t stack, uint64_t ts_ns)
{
	leak_weights_alloc(l, &(struct leak_block){.address = address,
						   .ts_ns = ts_ns,
						   .bytes = SIZE,
						   .stack = stack,
						   .process = 7});
}

/* One block each millisecond of each stack: one that is kept, one that lives 100 us, and one whose
 * address the next one gets after `cached` ms.  Of each `every` ms the first `on` are watched. */
static void run(struct leak_weights *l, uint64_t cached, uint64_t on, uint64_t every)
{
	for (uint64_t ms = 0; ms < RUN / MS; ms++) {
		bool watched = ms % every < on;
		uint64_t ts = MS + ms * MS;

		if (every > on && ms % every == 0 && ms)
			leak_weights_window(l, true, ts);
		if (every > on && ms % every == on)
			leak_weights_window(l, false, ts);
		if (!watched)
			continue;
		allocate(l, 0x100000 + ms * 16, LEAK, ts);
		allocate(l, 0x10, CHURN, ts + 1);
		leak_weights_free(l, 0x10, ts + MS / 10);
		leak_weights_free(l, 0x1000 + ms % cached * 16, ts + 2);
		allocate(l, 0x1000 + ms % cached * 16, CACHE, ts + 3);
	}
}

static void seen_all_the_time(void **state)
{
	struct leak_weights *l = leak_weights_open(LEAK_MAX_BLOCKS);
	struct leak_result result;
	struct sums sums = {0};

	UNUSED(state);
	run(l, 2000, 1, 1);
	leak_weights_finish(l, MS, MS + RUN, add, &sums, &result);
	assert_int_equal(sums.bytes[LEAK], RUN / MS * SIZE);
	assert_int_equal(sums.bytes[CHURN], 0);
	assert_int_equal(sums.bytes[CACHE], 0);
	assert_int_equal(result.bytes, sums.bytes[LEAK]);
	assert_int_equal(result.left, sums.blocks);
	assert_int_equal(result.sampled, 3 * RUN / MS);
	assert_true(result.error < 0.02 && result.settled > 0.999);
	leak_weights_close(l);
}

/* Blocks that live as long as most of the run look as if they were kept. */
static void long_lives(void **state)
{
	struct leak_weights *l = leak_weights_open(LEAK_MAX_BLOCKS);
	struct leak_result result;
	struct sums sums = {0};

	UNUSED(state);
	run(l, 12000, 1, 1);
	leak_weights_finish(l, MS, MS + RUN, add, &sums, &result);
	assert_int_equal(sums.bytes[LEAK], RUN / MS * SIZE);
	assert_true(result.settled < LEAK_SETTLED);
	leak_weights_close(l);
}

/* A tenth of the time in windows of 40 ms: what lives for moments is not taken for a leak, although
 * the last frees of each window are missed. */
static void in_windows(void **state)
{
	struct leak_weights *l = leak_weights_open(LEAK_MAX_BLOCKS);
	struct leak_result result;
	struct sums sums = {0};
	uint64_t leaked = RUN / MS * SIZE / 10;

	UNUSED(state);
	run(l, 10, 40, 400);
	leak_weights_finish(l, MS, MS + RUN, add, &sums, &result);
	assert_true(sums.bytes[LEAK] > leaked * 0.999 && sums.bytes[LEAK] < leaked * 1.001);
	assert_int_equal(sums.bytes[CHURN], 0);
	assert_true(sums.bytes[CACHE] < leaked / 50);
	leak_weights_close(l);
}

static void limits(void **state)
{
	struct leak_weights *l = leak_weights_open(2);
	struct leak_result result;
	struct sums sums = {0};

	UNUSED(state);
	for (uint64_t i = 1; i <= 5; i++)
		allocate(l, i * 16, LEAK, i * MS);
	allocate(l, 16, LEAK, 6 * MS); /* its free was not seen */
	leak_weights_free(l, 0x999, 7 * MS);
	leak_weights_finish(l, 0, 60 * MS, add, &sums, &result);
	assert_int_equal(result.sampled, 6);
	assert_int_equal(result.overflow, 3);
	assert_int_equal(result.freed, 1);
	leak_weights_close(l);
	/* nothing at all; and a run without a length */
	l = leak_weights_open(2);
	leak_weights_finish(l, 5, 5, add, &sums, &result);
	assert_int_equal(result.bytes, 0);
	leak_weights_close(l);
	leak_weights_close(NULL);
}

/* What is younger than a tenth of the run may simply live. */
static void young(void **state)
{
	struct leak_weights *l = leak_weights_open(10);
	struct leak_result result;
	struct sums sums = {0};

	UNUSED(state);
	allocate(l, 16, LEAK, 95 * MS);
	leak_weights_finish(l, 0, 100 * MS, add, &sums, &result);
	assert_int_equal(sums.blocks, 0);
	leak_weights_close(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_all_the_time),
		cmocka_unit_test(long_lives),
		cmocka_unit_test(in_windows),
		cmocka_unit_test(limits),
		cmocka_unit_test(young),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
