/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The searches for allocators, ETS's counter, code ranges, hash tables and the active code index,
 * over made-up data: each must find its thing, must find nothing if there are two, and must survive
 * what cannot be read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/locate/anchors.h"
#include "beam/otp/layout.h"
#include "beam/vm/allocators.h"
#include "lib/image.h"
#include "target/proc.h"

static const int releases[] = {24, 25, 27, 29};

#define DATA	    0x400000
#define DATA_SIZE   0x8000
#define RODATA	    0x300000
#define RODATA_SIZE 0x1000
#define HEAP	    0x1000000
#define HEAP_SIZE   0x80000
#define CODE	    0x5000000
#define CODE_SIZE   0x1000

#define INFO	 (DATA + 0x100)
#define INFO_2	 (DATA + 0x400)
#define SPECS	 (DATA + 0x800)
#define NAMES	 (DATA + 0x1000) /* pointer to ETS's table of names */
#define MISC	 (DATA + 0x1100)
#define MISC_2	 (DATA + 0x1200)
#define BEHIND	 (NAMES + 0x4008) /* 256 locks further */
#define RANGES	 (DATA + 0x2000)
#define RANGES_2 (DATA + 0x2100)
#define HASH	 (DATA + 0x3000)
#define HASH_2	 (DATA + 0x3100)
#define CODE_IX	 (DATA + 0x4000)
#define OTHER_IX (DATA + 0x4010)

#define INSTANCES   HEAP
#define BUCKETS	    (HEAP + 0x20000)
#define NR_BUCKETS  1024
#define MODULES	    (HEAP + 0x70000)
#define HASH_BUCKET (HEAP + 0x71000)
#define DESCRIPTOR  (HEAP + 0x72000)
#define RECORD	    (HEAP + 0x73000)

struct world {
	const struct beam_layout *l;
	struct image *im;
	struct proc_map map_data[4];
	struct proc_maps maps;
	struct anchor_space s;
	uint8_t rodata[RODATA_SIZE], data[DATA_SIZE];
};

static void put_map(struct world *w, raddr addr, size_t size, bool exec)
{
	image_map(w->im, addr, size);
	w->map_data[w->maps.len++] = (struct proc_map){
		.start = addr, .end = addr + size, .r = true, .w = !exec, .x = exec, .path = ""};
}

/* Takes what the image holds now into the space. */
static void search(struct world *w)
{
	assert_int_equal(mem_read(w->s.mem, DATA, w->data, DATA_SIZE), 0);
}

static raddr instance_at(uint32_t number, uint32_t ix)
{
	return INSTANCES + (number * 2 + ix) * 0xa00;
}

/* Ten allocators; literal_alloc (9) has one instance, the others one more each. */
static void put_allocators(struct world *w, raddr info)
{
	image_u32(w->im, info + ALLOCATOR_INFO_SIZE + ALLOCATOR_INFO_ENABLED, 1);
	for (uint32_t i = 2; i < 12; i++) {
		raddr e = info + i * (raddr)ALLOCATOR_INFO_SIZE;
		raddr spec = SPECS + i * (raddr)ALLOCATOR_SPEC_SIZE;
		raddr array = SPECS + 0x400 + i * (raddr)16;

		image_u32(w->im, e + ALLOCATOR_INFO_UTIL, 1);
		image_u32(w->im, e + ALLOCATOR_INFO_ENABLED, 1);
		image_u32(w->im, e + ALLOCATOR_INFO_THR_SPEC, i == 9 ? 0 : 2);
		image_u64(w->im, e + ALLOCATOR_INFO_EXTRA, i == 9 ? instance_at(i, 0) : spec);
		image_u32(w->im, spec + ALLOCATOR_SPEC_NUMBER, i);
		image_u32(w->im, spec + ALLOCATOR_SPEC_INSTANCES, 2);
		image_u64(w->im, spec + ALLOCATOR_SPEC_ARRAY, array);
		for (uint32_t ix = 0; ix < 2; ix++) {
			raddr a = instance_at(i, ix);

			image_u64(w->im, array + 8 * (raddr)ix, a);
			image_u32(w->im, a + (raddr)w->l->allctr_alloc_no, i);
			image_u32(w->im, a + (raddr)w->l->allctr_ix, ix);
			image_u64(w->im, a + (raddr)w->l->allctr_name_prefix, RODATA + 0x10);
		}
	}
}

static void put_names(struct world *w, raddr variable)
{
	image_u64(w->im, variable, BUCKETS);
	for (raddr i = 0; i < NR_BUCKETS; i++) {
		raddr b = BUCKETS + 32 * i;
		bool used = i % 100 == 7;

		image_u64(w->im, b, used ? HEAP + 0x100 : b + 8);
		image_u64(w->im, b + 8, 1ull << 32);
		image_u64(w->im, b + 16, TERM_NIL);
	}
}

static void put_ranges(struct world *w, raddr at)
{
	for (raddr i = 0; i < 20; i++) {
		image_u64(w->im, MODULES + 16 * i, CODE + 0x40 * i);
		image_u64(w->im, MODULES + 16 * i + 8, CODE + 0x40 * i + (i == 3 ? 0 : 0x40));
	}
	for (raddr i = 0; i < 3; i++) {
		image_u64(w->im, at + 32 * i, MODULES);
		image_u64(w->im, at + 32 * i + 8, 20);
		image_u64(w->im, at + 32 * i + 16, 20 + i);
		image_u64(w->im, at + 32 * i + 24, MODULES + 160);
	}
}

static void put_hash(struct world *w, raddr at)
{
	image_u64(w->im, at + (raddr)w->l->index_table_name, RODATA + 0x20);
	image_u32(w->im, at + (raddr)w->l->index_table_shift, 60);
	image_u64(w->im, at + (raddr)w->l->index_table_bucket, HASH_BUCKET);
}

/* mov rdi, variable; mov esi, 3; mov r12d, [rdi] */
static void put_load(struct world *w, raddr at, raddr variable)
{
	static const uint8_t rest[] = {0xbe, 3, 0, 0, 0, 0x44, 0x8b, 0x27};

	image_put(w->im, at, "\x48\xbf", 2);
	image_u64(w->im, at + 2, variable);
	image_put(w->im, at + 10, rest, sizeof(rest));
}

/* Descriptor -> module "m" -> module "global" with the code at CODE. */
static void put_jit(struct world *w)
{
	image_u64(w->im, DESCRIPTOR + 16, DESCRIPTOR + 0x40);
	for (raddr i = 0; i < 2; i++) {
		raddr entry = DESCRIPTOR + 0x40 + 32 * i, record = RECORD + 64 * i;

		image_u64(w->im, entry, i == 0 ? entry + 32 : 0);
		image_u64(w->im, entry + 16, record);
		image_u64(w->im, entry + 24, 64);
		image_u32(w->im, record, 1);
		image_u64(w->im, record + 8, CODE);
		image_u32(w->im, record + 20, CODE_SIZE);
		image_u16(w->im, record + 24, i == 0 ? 1 : 7);
		image_put(w->im, record + 26, i == 0 ? "m" : "global", i == 0 ? 1 : 6);
	}
	put_load(w, CODE + 0x101, CODE_IX);
	put_load(w, CODE + 0x801, CODE_IX);
	/* Not followed by a load of r12; and one that leads nowhere. */
	image_put(w->im, CODE + 0x401, "\x48\xbf", 2);
	image_u64(w->im, CODE + 0x403, OTHER_IX);
	put_load(w, CODE + 0x501, HEAP);
	image_u32(w->im, CODE_IX, 1);
}

static struct world *make(int otp)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->l = &layout_table_find(otp, false)->layout;
	w->im = image_open();
	w->maps.data = w->map_data;
	put_map(w, RODATA, RODATA_SIZE, false);
	put_map(w, DATA, DATA_SIZE, false);
	put_map(w, HEAP, HEAP_SIZE, false);
	put_map(w, CODE, CODE_SIZE, true);
	memcpy(w->rodata + 0x20, "fun_table", 10);
	image_put(w->im, RODATA + 0x10, "std_", 5);
	put_allocators(w, INFO);
	put_names(w, NAMES);
	image_u64(w->im, MISC, NR_BUCKETS * 32 + 2 * 80); /* two tables are being walked */
	put_ranges(w, RANGES);
	put_hash(w, HASH);
	put_jit(w);
	w->s = (struct anchor_space){
		.mem = image_mem(w->im),
		.maps = &w->maps,
		.layout = w->l,
		.data = w->data,
		.data_size = DATA_SIZE,
		.data_addr = DATA,
		.rodata = w->rodata,
		.rodata_size = RODATA_SIZE,
		.rodata_addr = RODATA,
	};
	search(w);
	return w;
}

static void unmake(struct world *w)
{
	image_close(w->im);
	free(w);
}

static void test_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = make(releases[i]);

		assert_int_equal(shape_find_allocators(&w->s), INFO);
		assert_int_equal(shape_find_ets_misc(&w->s), MISC);
		assert_int_equal(shape_find_code_ranges(&w->s), RANGES);
		assert_int_equal(shape_find_hash(&w->s, "fun_table"), HASH);
		assert_int_equal(shape_find_hash(&w->s, "no_table"), 0);
		assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), CODE_IX);
		unmake(w);
	}
}

static void test_ambiguous(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = make(releases[i]);

		put_allocators(w, INFO_2);
		put_ranges(w, RANGES_2);
		put_hash(w, HASH_2);
		image_u64(w->im, MISC_2, NR_BUCKETS * 32);
		put_load(w, CODE + 0x901, OTHER_IX);
		search(w);
		assert_int_equal(shape_find_allocators(&w->s), 0);
		assert_int_equal(shape_find_code_ranges(&w->s), 0);
		assert_int_equal(shape_find_hash(&w->s, "fun_table"), 0);
		assert_int_equal(shape_find_ets_misc(&w->s), 0);
		assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), 0);
		unmake(w);
	}
}

/* Of several counters the one that stands behind the locks of the table. */
static void test_ets_misc_behind_locks(void **state)
{
	(void)state;
	struct world *w = make(29);

	image_u64(w->im, BEHIND, NR_BUCKETS * 32);
	search(w);
	assert_int_equal(shape_find_ets_misc(&w->s), BEHIND);
	image_u64(w->im, BEHIND, NR_BUCKETS * 32 - 8);
	search(w);
	assert_int_equal(shape_find_ets_misc(&w->s), MISC);
	image_u64(w->im, BEHIND, NR_BUCKETS * 32 + 80);
	image_u64(w->im, BEHIND + 80, NR_BUCKETS * 32 + 4352);
	search(w);
	assert_int_equal(shape_find_ets_misc(&w->s), 0);
	unmake(w);
}

static void switch_off(struct world *w, uint32_t number)
{
	raddr info = INFO + number * ALLOCATOR_INFO_SIZE;

	image_u32(w->im, info + ALLOCATOR_INFO_UTIL, 0);
	image_u32(w->im, info + ALLOCATOR_INFO_ENABLED, 0);
	image_u32(w->im, info + ALLOCATOR_INFO_THR_SPEC, 0);
	image_u64(w->im, info + ALLOCATOR_INFO_EXTRA, 0);
}

/* Some allocators may be switched off; one whose instance is another's proves nothing. */
static void test_allocators_partial(void **state)
{
	(void)state;
	struct world *w = make(29);

	switch_off(w, 4);
	search(w);
	assert_int_equal(shape_find_allocators(&w->s), INFO);
	for (uint32_t i = 5; i < 8; i++)
		image_u32(w->im, instance_at(i, 0) + (raddr)w->l->allctr_alloc_no, 99);
	assert_int_equal(shape_find_allocators(&w->s), 0);
	/* All but two are off (+Mea min); if one of these is another's it is no such table. */
	for (uint32_t i = 3; i < 13; i++)
		if (i != 9)
			switch_off(w, i);
	search(w);
	assert_int_equal(shape_find_allocators(&w->s), INFO);
	image_u32(w->im, instance_at(9, 0) + (raddr)w->l->allctr_alloc_no, 99);
	assert_int_equal(shape_find_allocators(&w->s), 0);
	switch_off(w, 9);
	search(w);
	assert_int_equal(shape_find_allocators(&w->s), 0);
	unmake(w);
}

static void test_code_ix_variants(void **state)
{
	(void)state;
	struct world *w = make(29);

	/* A value that is no code index. */
	image_u32(w->im, CODE_IX, 3);
	search(w);
	assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), 0);
	image_u32(w->im, CODE_IX, 2);
	search(w);
	assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), CODE_IX);
	/* A list that is a loop, code whose end cannot be read. */
	image_u64(w->im, DESCRIPTOR + 0x40 + 32, DESCRIPTOR + 0x40);
	image_u32(w->im, RECORD + 64 + 20, CODE_SIZE + 16);
	assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), 0);
	assert_int_equal(shape_find_active_code_ix(&w->s, 0x10), 0);
	unmake(w);
}

/* Nothing but what the searches look at in the copy can be read. */
static void test_unreadable(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = make(releases[i]);

		image_unmap(w->im, HEAP);
		assert_int_equal(shape_find_allocators(&w->s), 0);
		assert_int_equal(shape_find_ets_misc(&w->s), 0);
		assert_int_equal(shape_find_code_ranges(&w->s), 0);
		assert_int_equal(shape_find_active_code_ix(&w->s, DESCRIPTOR), 0);
		unmake(w);
	}
}

/* Any words: whatever is found or not, nothing is read out of bounds. */
static void test_garbage(void **state)
{
	static const uint64_t words[] = {0,    1,	TERM_NIL, HEAP,	      HEAP + 8,
					 DATA, BUCKETS, CODE,	  UINT64_MAX, 1ull << 47};
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct world *w = make(releases[round % 3]);

		for (size_t at = 0; at < DATA_SIZE; at += 8) {
			seed = seed * 1103515245 + 12345;
			memcpy(w->data + at, &words[(seed >> 16) % ARRAY_SIZE(words)], 8);
		}
		assert_int_equal(shape_find_allocators(&w->s), 0);
		shape_find_ets_misc(&w->s);
		shape_find_code_ranges(&w->s);
		assert_int_equal(shape_find_hash(&w->s, "fun_table"), 0);
		shape_find_active_code_ix(&w->s, DESCRIPTOR);
		unmake(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_ets_misc_behind_locks),
		cmocka_unit_test(test_allocators_partial),
		cmocka_unit_test(test_code_ix_variants),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
