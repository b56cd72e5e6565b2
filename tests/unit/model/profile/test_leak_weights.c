/* SPDX-License-Identifier: BSD-2-Clause */
/* model/profile/leak_weights: blocks that live for known times, seen all the time or in windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
		leak_weights_free(l, 0x10, ts + MS / 10, true);
		leak_weights_free(l, 0x1000 + ms % cached * 16, ts + 2, true);
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
	leak_weights_free(l, 0x999, 7 * MS, true);
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

/* ---- a simulated node ------------------------------------------------------------------------ */

#define SIM_MS	   60000u
#define SIM_MOST   400000u
#define SIM_KINDS  5u
#define CHECK_MS   50u
#define SIM_RUNS   8
#define SIM_INSIDE 7

struct sim_kind {
	double per_ms;
	double life_ms; /* mean; 0 = kept for ever */
	double kept;	/* share that is */
	bool alike;	/* all of its blocks have the same content */
	bool rewritten; /* once, later */
};

struct sim_block {
	uint32_t kind, slot, next_freed; /* next_freed: of those freed in the same ms */
	uint32_t ends_ms;		 /* 0 = never */
	bool freed;
};

/* All blocks have one size, and a place that is free is given away at once, the last one first. */
struct sim {
	struct sim_block blocks[SIM_MOST];
	uint32_t nr, nr_slots, nr_free, nr_watched;
	uint32_t owner[SIM_MOST], idle[SIM_MOST]; /* by slot; slots that are free */
	uint32_t freed_at[SIM_MS + 1];		  /* first block + 1 */
	struct {
		uint32_t slot, content; /* 0 = not looked at yet */
		uint8_t looks;
		bool watched;
	} seen[SIM_MOST];	    /* by slot */
	uint32_t watched[SIM_MOST]; /* slots */
	uint64_t random;
	double truth; /* bytes kept */
};

static double next_random(struct sim *s)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(s->random >> 11) / (double)(1ull << 53);
}

static uint64_t address_of(uint32_t slot)
{
	return 0x100000 + (uint64_t)slot * 64;
}

static uint32_t content_of(const struct sim *s, const struct sim_kind *kinds, uint32_t slot,
			   uint32_t ms)
{
	uint32_t id = s->owner[slot];
	const struct sim_kind *kind = &kinds[s->blocks[id - 1].kind];

	if (kind->alike)
		return 1 + s->blocks[id - 1].kind;
	return id * 2 + 100 + (kind->rewritten && ms > id % SIM_MS);
}

static void sim_alloc(struct sim *s, struct leak_weights *l, const struct sim_kind *kinds,
		      uint32_t kind, uint32_t ms, bool on)
{
	const struct sim_kind *k = &kinds[kind];
	struct sim_block *b = &s->blocks[s->nr++];
	uint32_t slot = s->nr_free ? s->idle[--s->nr_free] : s->nr_slots++;
	bool kept = next_random(s) < k->kept;
	double life = kept ? 0 : -k->life_ms * log(1 - next_random(s));

	assert_true(s->nr < SIM_MOST);
	*b = (struct sim_block){.kind = kind, .slot = slot};
	s->owner[slot] = s->nr;
	s->truth += kept ? SIZE : 0;
	if (!kept && ms + life + 1 < SIM_MS) {
		b->ends_ms = ms + (uint32_t)life + 1;
		b->next_freed = s->freed_at[b->ends_ms];
		s->freed_at[b->ends_ms] = s->nr;
	}
	if (!on || next_random(s) >= 0.25)
		return;
	leak_weights_alloc(l, &(struct leak_block){.address = address_of(slot),
						   .ts_ns = MS + ms * MS + MS / 2,
						   .bytes = 4 * SIZE,
						   .stack = kind});
	if (!s->seen[slot].watched)
		s->watched[s->nr_watched++] = slot;
	s->seen[slot].watched = true;
	s->seen[slot].content = 0;
	s->seen[slot].looks = LEAK_SAME;
}

static void sim_free(struct sim *s, struct leak_weights *l, uint32_t ms, bool on)
{
	for (uint32_t id = s->freed_at[ms]; id; id = s->blocks[id - 1].next_freed) {
		uint32_t slot = s->blocks[id - 1].slot;

		s->owner[slot] = 0;
		s->idle[s->nr_free++] = slot;
		if (on && s->seen[slot].watched) {
			leak_weights_free(l, address_of(slot), MS + ms * MS, true);
			s->seen[slot].watched = false;
		}
	}
}

/* What ebeam reads in memory. */
static void sim_check(struct sim *s, struct leak_weights *l, const struct sim_kind *kinds,
		      uint32_t ms)
{
	uint32_t nr = 0, contents[SIM_KINDS + 1] = {0};

	for (uint32_t i = 0; i < s->nr_watched; i++) {
		uint32_t slot = s->watched[i], content;
		uint64_t ts = MS + ms * MS;

		if (!s->seen[slot].watched)
			continue;
		if (!s->owner[slot]) {
			leak_weights_free(l, address_of(slot), ts, false);
			s->seen[slot].watched = false;
			continue;
		}
		s->watched[nr++] = slot;
		content = content_of(s, kinds, slot, ms);
		if (!s->seen[slot].content && content <= SIM_KINDS && contents[content]++ < 2)
			leak_weights_content(l, address_of(slot), ts, LEAK_ALIKE);
		else if (s->seen[slot].content && s->seen[slot].content != content)
			leak_weights_content(l, address_of(slot), ts, LEAK_CHANGED);
		s->seen[slot].content = content;
	}
	s->nr_watched = nr;
}

struct sim_sum {
	double ratio, squares, inside, width, runs;
};

static void ignore(void *arg, const struct leak_block *b, uint64_t bytes)
{
	UNUSED(arg);
	UNUSED(b);
	UNUSED(bytes);
}

/* Windows of on_ms, after pauses of random length, for that share of the time. */
static void simulate(const struct sim_kind *kinds, uint32_t on_ms, double share, uint64_t seed,
		     struct sim_sum *sum)
{
	struct leak_weights *l = leak_weights_open(LEAK_MAX_BLOCKS);
	struct sim *s = calloc(1, sizeof(*s));
	uint32_t until = on_ms, on_total = 0;
	struct leak_result result;
	double low, high;
	bool on = true;

	assert_non_null(s);
	s->random = seed * 7919 + 1;
	for (uint32_t ms = 0; ms < SIM_MS; ms++) {
		if (share < 1 && ms == until) {
			on = !on;
			leak_weights_window(l, on, MS + ms * MS);
			until += on ? on_ms
				    : 1 + (uint32_t)(2 * next_random(s) * on_ms * (1 / share - 1));
		}
		on_total += on;
		sim_free(s, l, ms, on);
		for (uint32_t kind = 0; kind < SIM_KINDS; kind++)
			for (double n = kinds[kind].per_ms; next_random(s) < n; n--)
				sim_alloc(s, l, kinds, kind, ms, on);
		if (ms % CHECK_MS == CHECK_MS - 1)
			sim_check(s, l, kinds, ms);
	}
	leak_weights_finish(l, MS, MS + SIM_MS * MS, ignore, NULL, &result);
	share = (double)on_total / SIM_MS;
	assert_true(leak_weights_interval(&result, 1, &low, &high));
	sum->runs++;
	sum->ratio += (double)result.bytes / share / s->truth;
	sum->squares += pow((double)result.bytes / share / s->truth, 2);
	sum->inside += low / share <= s->truth && s->truth <= high / share;
	sum->width += (high - low) / 2 / share / s->truth;
	free(s);
	leak_weights_close(l);
}

/* Simulates it SIM_RUNS times: the mean is right to `within` of the truth, which lies within nearly
 * all of the intervals. */
static void check_sim(const struct sim_kind *kinds, uint32_t on_ms, double share, double within,
		      double narrow)
{
	struct sim_sum sum = {0};

	for (uint64_t seed = 1; seed <= SIM_RUNS; seed++)
		simulate(kinds, on_ms, share, seed, &sum);
	print_message("mean %.3f, %.0f %% of the intervals have the truth, +-%.3f\n",
		      sum.ratio / SIM_RUNS, 100 * sum.inside / SIM_RUNS, sum.width / SIM_RUNS);
	assert_true(fabs(sum.ratio / SIM_RUNS - 1) < within);
	assert_true(sum.inside >= SIM_INSIDE);
	assert_true(sum.width / SIM_RUNS < narrow);
}

static const struct sim_kind sim_kinds[SIM_KINDS] = {
	{.per_ms = 0.5, .kept = 1},	   {.per_ms = 0.5, .life_ms = 1},
	{.per_ms = 0.2, .life_ms = 100},   {.per_ms = 0.2, .life_ms = 1000},
	{.per_ms = 0.2, .life_ms = 10000},
};

static void sim_seen_all_the_time(void **state)
{
	UNUSED(state);
	check_sim(sim_kinds, 100, 1, 0.03, 0.04);
}

static void sim_in_windows(void **state)
{
	UNUSED(state);
	check_sim(sim_kinds, 20, 0.1, 0.04, 0.15);
}

/* So few windows that frees of blocks that live long are hardly seen. */
static void sim_in_few_windows(void **state)
{
	UNUSED(state);
	check_sim(sim_kinds, 20, 0.02, 0.09, 0.5);
}

/* All blocks of a stack have the same content, so that only probes tell. */
static void sim_alike(void **state)
{
	struct sim_kind kinds[SIM_KINDS];

	UNUSED(state);
	memcpy(kinds, sim_kinds, sizeof(kinds));
	for (unsigned int i = 0; i < SIM_KINDS; i++)
		kinds[i].alike = true;
	check_sim(kinds, 20, 0.1, 0.05, 0.2);
}

/* The owners of leaked blocks write to them. */
static void sim_rewritten(void **state)
{
	struct sim_kind kinds[SIM_KINDS];

	UNUSED(state);
	memcpy(kinds, sim_kinds, sizeof(kinds));
	kinds[0].rewritten = true;
	check_sim(kinds, 20, 0.1, 0.04, 0.15);
	check_sim(kinds, 20, 0.02, 1, 1.2); /* not known, which the interval says */
}

/* One stack keeps half of what it allocates, and frees the rest after a second. */
static void sim_mixed(void **state)
{
	struct sim_kind kinds[SIM_KINDS];

	UNUSED(state);
	memcpy(kinds, sim_kinds, sizeof(kinds));
	kinds[3].kept = 0.5;
	check_sim(kinds, 20, 0.1, 0.04, 0.15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_all_the_time),
		cmocka_unit_test(long_lives),
		cmocka_unit_test(in_windows),
		cmocka_unit_test(limits),
		cmocka_unit_test(young),
		cmocka_unit_test(sim_seen_all_the_time),
		cmocka_unit_test(sim_in_windows),
		cmocka_unit_test(sim_in_few_windows),
		cmocka_unit_test(sim_alike),
		cmocka_unit_test(sim_rewritten),
		cmocka_unit_test(sim_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
