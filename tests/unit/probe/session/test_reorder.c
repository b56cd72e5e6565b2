/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order across rings, without a kernel: what is held back, what goes out, in which order; late
 * records; what is no record; bounds.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/session/reorder.h"

#define END UINT64_MAX

/* A sample of one ring, numbered. */
struct rec {
	struct rec_header h;
	uint32_t ring, nr;
};

static int open_test(void **state)
{
	struct reorder *r;

	reorder_open(&r);
	*state = r;
	return 0;
}

static int close_test(void **state)
{
	reorder_close(*state);
	return 0;
}

static void add(struct reorder *r, uint64_t ts_ns, uint32_t ring, uint32_t nr)
{
	const struct rec rec = {
		.h = {.type = REC_RAW_SAMPLE, .size = sizeof(rec), .ts_ns = ts_ns},
		.ring = ring,
		.nr = nr,
	};

	assert_true(reorder_add(r, &rec, sizeof(rec)));
}

static bool is_late; /* the one before */

static void assert_next(struct reorder *r, uint64_t ts_ns, uint32_t ring, uint32_t nr)
{
	const struct rec *rec = (const struct rec *)reorder_next(r);

	assert_non_null(rec);
	assert_int_equal((uintptr_t)rec % 8, 0);
	assert_int_equal(rec->h.ts_ns, ts_ns);
	assert_int_equal(rec->ring, ring);
	assert_int_equal(rec->nr, nr);
	is_late = rec->h.flags & REC_LATE;
}

static void assert_dry(struct reorder *r)
{
	assert_null(reorder_next(r));
	assert_null(reorder_next(r));
}

/* The beginning of a collection of 300 ms: its time is true, and counts for nobody else. */
static void test_collection(void **state)
{
	struct rec_raw_event gc = {.h = {.type = REC_RAW_EVENT, .size = sizeof(gc), .ts_ns = 100}};
	struct reorder *r = *state;
	const struct rec_header *h;

	add(r, 200000000, 0, 0);
	reorder_release(r, 200000000);
	assert_next(r, 200000000, 0, 0);
	for (int late = 0; late < 2; late++) {
		gc.kind = late ? EVENT_GC_MINOR_END : EVENT_GC_MAJOR_START;
		assert_true(reorder_add(r, &gc, sizeof(gc)));
	}
	add(r, 300000100, 0, 1);
	reorder_release(r, END);
	h = reorder_next(r);
	assert_int_equal(h->ts_ns, 100);
	assert_int_equal(((const struct rec_raw_event *)h)->kind, EVENT_GC_MAJOR_START);
	assert_int_equal(reorder_late(r), 0);
	assert_int_equal(reorder_next(r)->ts_ns, 200000000);
	assert_int_equal(reorder_late(r), 1);
	assert_next(r, 300000100, 0, 1);
}

static void test_order(void **state)
{
	struct reorder *r = *state;

	add(r, 10, 0, 0);
	add(r, 40, 0, 1);
	add(r, 50, 0, 2);
	add(r, 20, 1, 0);
	add(r, 45, 1, 1);
	add(r, 5, 2, 0);
	add(r, 40, 2, 1); /* the same time: as they were drained */
	assert_dry(r);	  /* nothing was released */
	reorder_release(r, END);
	assert_next(r, 5, 2, 0);
	assert_next(r, 10, 0, 0);
	assert_next(r, 20, 1, 0);
	assert_next(r, 40, 0, 1);
	assert_next(r, 40, 2, 1);
	assert_next(r, 45, 1, 1);
	assert_next(r, 50, 0, 2);
	assert_dry(r);
	assert_int_equal(reorder_late(r), 0);
}

/* What is younger than the limit waits, and may be overtaken by what the next drain finds. */
static void test_window(void **state)
{
	struct reorder *r = *state;

	add(r, 100, 0, 0);
	add(r, 130, 0, 1);
	add(r, 110, 1, 0);
	reorder_release(r, 110);
	assert_next(r, 100, 0, 0);
	assert_next(r, 110, 1, 0); /* the limit itself is in */
	assert_dry(r);
	add(r, 120, 1, 1);
	add(r, 130, 1, 2);
	reorder_release(r, 119);
	assert_dry(r);
	reorder_release(r, 130);
	assert_next(r, 120, 1, 1);
	assert_next(r, 130, 0, 1); /* has waited longer */
	assert_next(r, 130, 1, 2);
	assert_dry(r);
	reorder_release(r, END);
	assert_dry(r);
	assert_int_equal(reorder_late(r), 0);
}

/* Records added, and released, before all that was released went out. */
static void test_interleaved(void **state)
{
	struct reorder *r = *state;

	for (uint32_t i = 0; i < 4; i++)
		add(r, 10 * i, 0, i);
	reorder_release(r, 30);
	assert_next(r, 0, 0, 0);
	add(r, 15, 1, 0);
	assert_next(r, 10, 0, 1); /* not looked at before it is released */
	reorder_release(r, 30);
	assert_next(r, 15, 1, 0);
	assert_next(r, 20, 0, 2);
	assert_next(r, 30, 0, 3);
	assert_dry(r);
}

static void test_late(void **state)
{
	struct reorder *r = *state;

	add(r, 100, 0, 0);
	reorder_release(r, 100);
	assert_next(r, 100, 0, 0);
	add(r, 90, 1, 0);
	add(r, 95, 1, 1);
	add(r, 100, 1, 2); /* not late: as old as the last one */
	add(r, 101, 1, 3);
	reorder_release(r, END);
	assert_next(r, 100, 1, 0);
	assert_true(is_late);
	assert_next(r, 100, 1, 1);
	assert_true(is_late);
	assert_next(r, 100, 1, 2);
	assert_false(is_late);
	assert_next(r, 101, 1, 3);
	assert_false(is_late);
	assert_int_equal(reorder_late(r), 2);
}

/* Nothing is lost or invented, times never go back, and each ring keeps its own order. */
static void test_many(void **state)
{
	enum { RINGS = 8, ROUNDS = 200, WINDOW = 50 };
	struct reorder *r = *state;
	uint64_t clock[RINGS] = {0}, last = 0;
	uint32_t added[RINGS] = {0}, seen[RINGS] = {0};
	const struct rec *rec;
	unsigned int seed = 1;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (uint32_t ring = 0; ring < RINGS; ring++) {
			while (clock[ring] < 100 * round) {
				clock[ring] += 1 + (unsigned int)rand_r(&seed) % 30;
				add(r, clock[ring], ring, added[ring]++);
			}
		}
		reorder_release(r, round < ROUNDS ? 100 * round - WINDOW : END);
		while ((rec = (const struct rec *)reorder_next(r))) {
			assert_true(rec->h.ts_ns >= last);
			last = rec->h.ts_ns;
			assert_true(round == ROUNDS || last <= 100 * round - WINDOW);
			assert_int_equal(rec->nr, seen[rec->ring]++);
		}
	}
	assert_memory_equal(added, seen, sizeof(added));
	assert_int_equal(reorder_late(r), 0);
}

/* Sizes that are no multiples of 8, as of code records; padding is not left to chance. */
static void test_sizes(void **state)
{
	struct reorder *r = *state;
	char bytes[64];

	for (uint32_t size = 16; size < 64; size++) {
		struct rec_header h = {.type = REC_RAW_CODE, .size = size, .ts_ns = size};

		memset(bytes, (int)size, sizeof(bytes));
		memcpy(bytes, &h, sizeof(h));
		assert_true(reorder_add(r, bytes, sizeof(bytes)));
		if (size % 5 == 0)
			reorder_release(r, 16); /* leaves some, which move */
	}
	reorder_release(r, END);
	for (uint32_t size = 16; size < 64; size++) {
		const struct rec_header *h = reorder_next(r);
		const char *p = (const char *)h;

		assert_int_equal(h->size, size);
		for (uint32_t i = sizeof(*h); i < (size + 7) / 8 * 8; i++)
			assert_int_equal(p[i], i < size ? (char)size : 0);
	}
	assert_dry(r);
}

static void test_no_records(void **state)
{
	struct reorder *r = *state;
	struct rec_header h = {.type = REC_RAW_SAMPLE, .ts_ns = 1};
	static const struct {
		uint32_t claimed;
		size_t size;
	} cases[] = {{16, 15}, {16, 0}, {0, 16}, {15, 16}, {17, 16}, {UINT32_MAX, 16}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		h.size = cases[i].claimed;
		assert_true(reorder_add(r, &h, cases[i].size));
	}
	reorder_release(r, END);
	assert_dry(r);
}

/* Full is full, until something went out. */
static void test_bound(void **state)
{
	struct reorder *r = *state;
	struct {
		struct rec_header h;
		char bytes[EBEAM_MAX_RECORD_SIZE - sizeof(struct rec_header)];
	} *rec = calloc(1, sizeof(*rec));
	uint64_t added = 0, taken = 0;

	rec->h = (struct rec_header){.type = REC_RAW_SAMPLE, .size = sizeof(*rec)};
	for (int round = 0; round < 2; round++) {
		do {
			rec->h.ts_ns = ++added;
		} while (reorder_add(r, rec, sizeof(*rec)));
		assert_in_range((added - taken) * sizeof(*rec), REORDER_MAX_SIZE,
				REORDER_MAX_SIZE + sizeof(*rec));
		rec->h.ts_ns = ++added;
		assert_false(reorder_add(r, rec, sizeof(*rec))); /* kept all the same */
		reorder_release(r, added / 2);
		while (reorder_next(r))
			taken++;
		assert_int_equal(taken, added / 2);
	}
	/* Large rings: twice what is in them. */
	reorder_release(r, END);
	while (reorder_next(r))
		taken++;
	assert_int_equal(taken, added);
	reorder_expect(r, REORDER_MAX_SIZE);
	for (size_t i = 0; i < 2 * REORDER_MAX_SIZE / sizeof(*rec); i++) {
		rec->h.ts_ns = ++added;
		assert_true(reorder_add(r, rec, sizeof(*rec)));
	}
	assert_false(reorder_add(r, rec, sizeof(*rec)));
	reorder_close(r);
	reorder_open(&r);
	*state = r;
	free(rec);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_order),      TEST(test_window), TEST(test_interleaved),
		TEST(test_late),       TEST(test_many),	  TEST(test_sizes),
		TEST(test_no_records), TEST(test_bound),  TEST(test_collection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
