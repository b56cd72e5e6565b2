/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node's list of JIT code: read whole, while entries cannot be read, lead astray or in circles,
 * and while loads and unloads are reported that the list knew already.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beam/code/jit.h"
#include "lib/image.h"
#include "lib/jitrec.h"
#include "lib/mem_faulty.h"

#define CODE	  0x7e0000000000ull
#define NR_LISTED 5

struct jit_test {
	struct image *im;
	raddr descriptor;
	struct jit_code *j;
};

static int open_test(void **state)
{
	struct jit_test *t = calloc(1, sizeof(*t));

	t->im = image_open();
	t->descriptor = jitlist_open(t->im);
	jit_open(&t->j, image_mem(t->im), t->descriptor);
	*state = t;
	return 0;
}

static int close_test(void **state)
{
	struct jit_test *t = *state;

	jit_close(t->j);
	image_close(t->im);
	free(t);
	return 0;
}

static void assert_found(struct jit_test *t, raddr addr, const char *expect)
{
	struct jit_function f;

	assert_true(jit_find(t->j, addr, &f));
	assert_int_equal(f.name_len, strlen(expect));
	assert_memory_equal(f.name, expect, f.name_len);
}

static void assert_nothing(struct jit_test *t, raddr addr)
{
	struct jit_function f;

	assert_false(jit_find(t->j, addr, &f));
}

/* Oldest first: fragments, m0, m1, then two that overlap: the newer one wins. */
static void build_list(struct jit_test *t, raddr entries[NR_LISTED])
{
	static const struct {
		const char *module, *function;
		raddr start;
	} listed[NR_LISTED] = {
		{"global", "global::garbage_collect", CODE},
		{"m0", "m0:f/0", CODE + 0x100},
		{"m1", "m1:f/0", CODE + 0x200},
		{"stale", "stale:f/0", CODE + 0x300},
		{"newer", "newer:f/0", CODE + 0x380},
	};

	for (size_t i = 0; i < NR_LISTED; i++) {
		struct jitrec r = {0};

		jitrec_module(&r, listed[i].module, listed[i].start, 0x100);
		jitrec_range(&r, listed[i].function, 0, 0x100);
		entries[i] = jitlist_add(t->im, t->descriptor, &r);
		jitrec_free(&r);
	}
}

static void check_whole_list(struct jit_test *t)
{
	assert_int_equal(jit_modules(t->j), NR_LISTED - 1);
	assert_found(t, CODE, "global::garbage_collect");
	assert_found(t, CODE + 0x1ff, "m0:f/0");
	assert_found(t, CODE + 0x200, "m1:f/0");
	assert_nothing(t, CODE + 0x300);
	assert_found(t, CODE + 0x380, "newer:f/0");
	assert_int_equal(jit_fragments(t->j).start, CODE);
}

static void test_sync(void **state)
{
	raddr entries[NR_LISTED];
	struct jit_test *t = *state;
	struct error err = {0};
	uint32_t serial;

	assert_int_equal(jit_sync(t->j, &err), -ENOENT);
	assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "it is empty"));
	build_list(t, entries);
	assert_int_equal(jit_sync(t->j, &err), 0);
	check_whole_list(t);
	serial = jit_serial(t->j, CODE + 0x100);
	assert_int_equal(jit_sync(t->j, &err), 0); /* over what is known */
	check_whole_list(t);
	assert_int_not_equal(jit_serial(t->j, CODE + 0x100), serial);
	jit_unloaded(t->j, entries[2]);
	assert_nothing(t, CODE + 0x200);
	assert_int_equal(jit_unreadable(t->j), 0);
}

/* A load that was announced and is in the list already: it may be reported again in any order. */
static void test_sync_then_events(void **state)
{
	raddr entries[NR_LISTED], record;
	struct jit_test *t = *state;
	struct jitrec old = {0};
	uint64_t size;

	build_list(t, entries);
	assert_int_equal(jit_sync(t->j, NULL), 0);
	record = jitlist_record(t->im, entries[2], &size);
	assert_true(jit_loaded(t->j, entries[2], record, size, NULL, 0));
	check_whole_list(t);
	/* Before the sync, the entry of m1 had led to a module elsewhere that is gone by now. */
	jitrec_module(&old, "old", CODE + 0x1000, 0x10);
	jitrec_range(&old, "old:f/0", 0, 0x10);
	assert_true(jit_loaded(t->j, entries[2], 0, old.bytes.len, old.bytes.data,
			       (uint32_t)old.bytes.len));
	jitrec_free(&old);
	jit_unloaded(t->j, entries[2]);
	assert_true(jit_loaded(t->j, entries[2], record, size, NULL, 0));
	check_whole_list(t);
	assert_nothing(t, CODE + 0x1000);
}

/* One read that fails costs at most the one module whose record it was; the walk starts again. */
static void test_sync_with_faults(void **state)
{
	raddr entries[NR_LISTED];
	struct jit_test *t = *state;
	uint64_t reads;

	build_list(t, entries);
	reads = image_reads(t->im);
	assert_int_equal(jit_sync(t->j, NULL), 0);
	reads = image_reads(t->im) - reads;
	for (uint64_t nth = 1; nth <= reads; nth++) {
		struct jit_test other = {.im = t->im, .descriptor = t->descriptor};
		struct mem *faulty;

		faulty = mem_open_faulty(image_mem(t->im), 0, 0, nth);
		jit_open(&other.j, faulty, t->descriptor);
		assert_int_equal(jit_sync(other.j, NULL), 0);
		if (jit_unreadable(other.j) == 0)
			check_whole_list(&other);
		else
			assert_in_range(jit_modules(other.j), NR_LISTED - 2, NR_LISTED - 1);
		assert_int_equal(jit_unreadable(other.j), nth > NR_LISTED + 1 ? 1 : 0);
		jit_close(other.j);
		mem_close(faulty);
	}
}

/* What cannot be read at all, wherever it is. */
static void test_sync_with_holes(void **state)
{
	raddr entries[NR_LISTED], record;
	struct jit_test *t = *state;
	struct error err = {0};
	uint64_t size;

	build_list(t, entries);
	record = jitlist_record(t->im, entries[1], &size);
	image_unmap(t->im, record);
	assert_int_equal(jit_sync(t->j, &err), 0);
	assert_nothing(t, CODE + 0x100);
	assert_found(t, CODE, "global::garbage_collect");
	assert_int_equal(jit_unreadable(t->j), 1);
	image_unmap(t->im, entries[1]); /* the list ends there, and that is reported */
	assert_int_equal(jit_sync(t->j, &err), 0);
	assert_int_equal(jit_unreadable(t->j), 1); /* what the first one missed is no loss now */
	assert_found(t, CODE + 0x200, "m1:f/0");
	image_unmap(t->im, t->descriptor);
	jit_close(t->j);
	jit_open(&t->j, image_mem(t->im), t->descriptor);
	assert_int_equal(jit_sync(t->j, &err), -EFAULT);
	assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
}

/* From each entry back to each: the walk ends, and what it saw is right. */
static void test_sync_with_cycles(void **state)
{
	raddr entries[NR_LISTED];
	struct jit_test *t = *state;

	build_list(t, entries);
	for (size_t from = 0; from < NR_LISTED; from++) {
		for (size_t to = 0; to < NR_LISTED; to++) {
			uint64_t next = from ? entries[from - 1] : 0, reads;
			uint64_t prev = to + 1 < NR_LISTED ? entries[to + 1] : 0;

			if (to + 1 == from)
				continue; /* as it was */
			image_u64(t->im, entries[from], entries[to]);
			for (int linked = 0; linked < 2; linked++) {
				image_u64(t->im, entries[to] + 8, linked ? entries[from] : prev);
				reads = image_reads(t->im);
				assert_int_equal(jit_sync(t->j, NULL), 0);
				assert_in_range(image_reads(t->im) - reads, 1, 200);
				assert_found(t, CODE + 0x380, "newer:f/0");
			}
			image_u64(t->im, entries[to] + 8, prev);
			image_u64(t->im, entries[from], next);
		}
	}
	jit_close(t->j);
	jit_open(&t->j, image_mem(t->im), t->descriptor);
	assert_int_equal(jit_sync(t->j, NULL), 0);
	check_whole_list(t);
}

/* An entry that was freed and used for something else leads astray: nothing there links back. */
static void test_sync_of_torn_list(void **state)
{
	raddr entries[NR_LISTED], astray;
	struct jit_test *t = *state;
	struct jitrec r = {0};
	struct image *im = t->im;

	build_list(t, entries);
	jitrec_module(&r, "wrong", CODE + 0x5000, 0x100);
	jitrec_range(&r, "wrong:f/0", 0, 0x100);
	astray = jitlist_add(im, jitlist_open(im), &r);
	jitrec_free(&r);
	image_u64(im, entries[3], astray);
	assert_int_equal(jit_sync(t->j, NULL), 0);
	assert_nothing(t, CODE + 0x5000);
	assert_found(t, CODE + 0x380, "newer:f/0");
	assert_int_equal(jit_unreadable(t->j), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_sync),
		TEST(test_sync_then_events),
		TEST(test_sync_with_faults),
		TEST(test_sync_with_holes),
		TEST(test_sync_with_cycles),
		TEST(test_sync_of_torn_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
