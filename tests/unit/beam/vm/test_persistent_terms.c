/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of persistent terms among variables that point to other things, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/vm/persistent_terms.h"
#include "lib/image.h"

#define DATA	  ((raddr)0x500000)
#define TEXT	  ((raddr)0x400000)
#define NR_WORDS  3000
#define ALLOCATED 8
#define TERMS	  96 /* offset of the buckets */

struct world {
	struct image *im;
	uint64_t data[NR_WORDS];
	raddr table, areas[3];
};

/* A literal area with the tuple {atom, small} and `more` words behind it. */
static raddr put_area(struct world *w, uint64_t number, uint64_t more)
{
	raddr at = image_alloc(w->im, 40 + 8 * more);

	image_u64(w->im, at + 8, at + 16 + 8 * (3 + more));
	image_u64(w->im, at + 16, 2 << 6);
	image_u64(w->im, at + 24, number << 6 | 0x0b);
	image_u64(w->im, at + 32, number << 4 | 0x0f);
	return at;
}

static raddr put_table(struct world *w)
{
	raddr t = image_alloc(w->im, TERMS + 8 * ALLOCATED);

	image_put(w->im, t, (uint64_t[]){ALLOCATED, 3, ALLOCATED - 1}, 24);
	for (raddr i = 0; i < ALLOCATED; i++)
		image_u64(w->im, t + TERMS + 8 * i, TERM_NIL);
	for (raddr i = 0; i < 3; i++) {
		w->areas[i] = put_area(w, i + 1, 10 * i);
		image_u64(w->im, t + TERMS + 8 * (2 * i + 1), (w->areas[i] + 16) | 2);
	}
	return t;
}

static void set_variable(struct world *w, size_t i, uint64_t value)
{
	w->data[i] = value;
	image_u64(w->im, DATA + 8 * i, value);
}

static void world_open(struct world *w)
{
	*w = (struct world){.im = image_open()};
	image_map(w->im, DATA, NR_WORDS * 8);
	for (size_t i = 0; i < NR_WORDS; i += 2)
		set_variable(w, i, DATA + 8 * i);
	w->table = put_table(w);
	set_variable(w, 2047, w->table);
}

static unsigned int search(struct world *w, struct persistent_terms *out)
{
	const struct persistent_space s = {.data = w->data,
					   .nr = NR_WORDS,
					   .data_addr = DATA,
					   .text = TEXT,
					   .text_end = TEXT + 0x1000};

	return persistent_terms_search(out, image_mem(w->im), &s);
}

static void expect_tables(struct world *w, unsigned int nr)
{
	struct persistent_terms t;

	assert_int_equal(search(w, &t), nr);
	persistent_terms_free(&t);
}

static void the_only_table(void **state)
{
	struct persistent_terms t;
	struct world w;

	UNUSED(state);
	world_open(&w);
	set_variable(&w, 2999, w.table); /* by another variable */
	assert_int_equal(search(&w, &t), 1);
	assert_int_equal(t.v.len, 3);
	assert_int_equal(t.v.data[1].key, 2 << 6 | 0x0b);
	assert_int_equal(t.v.data[1].value, 2 << 4 | 0x0f);
	assert_int_equal(t.v.data[0].words, 3);
	assert_int_equal(t.v.data[2].words, 23);
	assert_int_equal(t.bytes, TERMS + 8 * ALLOCATED + 3 * 16 + 8 * (3 + 13 + 23));
	persistent_terms_free(&t);
	image_close(w.im);
}

/* Empty buckets only: exact, or it is none. */
static void no_terms(void **state)
{
	struct persistent_terms t;
	struct world w;

	UNUSED(state);
	world_open(&w);
	for (raddr i = 0; i < ALLOCATED; i++)
		image_u64(w.im, w.table + TERMS + 8 * i, TERM_NIL);
	image_u64(w.im, w.table + 8, 1);
	expect_tables(&w, 0);
	image_u64(w.im, w.table + 8, 0);
	assert_int_equal(search(&w, &t), 1);
	assert_int_equal(t.v.len, 0);
	persistent_terms_free(&t);
	image_close(w.im);
}

static void two_tables(void **state)
{
	struct world w;

	UNUSED(state);
	world_open(&w);
	set_variable(&w, 11, put_table(&w));
	expect_tables(&w, 2);
	/* The one that will be the next: behind the function that makes it so. */
	set_variable(&w, 10, TEXT + 0x100);
	expect_tables(&w, 1);
	image_close(w.im);
}

static void what_is_none(void **state)
{
	struct world w;
	raddr bucket;

	UNUSED(state);
	world_open(&w);
	bucket = w.table + TERMS + 8;
	image_u64(w.im, w.table + 16, ALLOCATED); /* the mask */
	expect_tables(&w, 0);
	image_put(w.im, w.table, (uint64_t[]){ALLOCATED, 3, ALLOCATED - 1}, 24);
	image_u64(w.im, bucket, 0x1f); /* no tuple */
	expect_tables(&w, 0);
	image_u64(w.im, bucket, 0x10a); /* cannot be read */
	expect_tables(&w, 0);
	image_u64(w.im, bucket, (w.areas[0] + 16) | 2);
	image_u64(w.im, w.areas[0] + 16, 3 << 6); /* of three elements */
	expect_tables(&w, 0);
	image_u64(w.im, w.areas[0] + 16, 2 << 6);
	image_u64(w.im, w.areas[0] + 8, w.areas[0] + 16); /* an area without room for it */
	expect_tables(&w, 0);
	image_u64(w.im, w.areas[0] + 8, w.areas[0] + 40);
	expect_tables(&w, 1);
	/* One that is being erased: not counted any more. */
	image_u64(w.im, w.table + 8, 2);
	expect_tables(&w, 1);
	image_u64(w.im, w.table + 8, 5);
	expect_tables(&w, 0);
	image_close(w.im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_only_table),
		cmocka_unit_test(no_terms),
		cmocka_unit_test(two_tables),
		cmocka_unit_test(what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
