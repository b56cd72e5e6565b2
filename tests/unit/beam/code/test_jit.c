/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JIT code by address: records as the VM writes them, looked up byte by byte; cut at every length,
 * with every bit flipped; code that comes and goes.  The node's list of them: test_jit_list.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/code/jit.h"
#include "lib/image.h"
#include "lib/jitrec.h"

#define CODE  0x7e0000000000ull
#define ENTRY 0x5000

struct jit_test {
	struct image *im;
	raddr descriptor;
	struct jit_code *j;
	unsigned int touched; /* sum of bytes that were read, so that they are read */
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

/* 0x00 header, 0x10 preamble, 0x20 a/1, 0x60 preamble, 0x70 b/2, hole at 0xb0, 0xc0 c/0, footer. */
static void build_lists(struct jitrec *r, raddr start)
{
	*r = (struct jitrec){0};
	jitrec_module(r, "lists", start, 0x100);
	jitrec_range(r, "lists::codeHeader", 0, 0x10);
	jitrec_range(r, "lists:a/1-CodeInfoPrologue", 0x10, 0x20);
	jitrec_range(r, "lists:a/1", 0x20, 0x60);
	jitrec_line(r, 0x1e, 10, "lists.erl"); /* lines may begin before their function */
	jitrec_line(r, 0x30, 11, "lists.erl");
	jitrec_line(r, 0x40, 7, "lists.hrl");
	jitrec_line(r, 0x6e, 20, "lists.erl"); /* of b/2: up to OTP 27.1 lines run on */
	jitrec_line(r, 0x80, 21, "lists.erl");
	jitrec_range(r, "lists:b/2-CodeInfoPrologue", 0x60, 0x70);
	jitrec_range(r, "lists:b/2", 0x70, 0xb0);
	jitrec_line(r, 0x80, 21, "lists.erl");
	jitrec_range(r, "lists:c/0", 0xc0, 0xf0);
	jitrec_range(r, "lists::codeFooter", 0xf0, 0x100);
}

static bool load(struct jit_test *t, raddr entry, const struct jitrec *r)
{
	return jit_loaded(t->j, entry, 0, r->bytes.len, r->bytes.data, (uint32_t)r->bytes.len);
}

static void load_lists(struct jit_test *t, raddr entry, raddr start)
{
	struct jitrec r;

	build_lists(&r, start);
	assert_true(load(t, entry, &r));
	jitrec_free(&r);
}

/* A module with one function. */
static void load_small(struct jit_test *t, raddr entry, const char *module, const char *function,
		       raddr start, uint32_t size)
{
	struct jitrec r = {0};

	jitrec_module(&r, module, start, size);
	jitrec_range(&r, function, 0, size);
	assert_true(load(t, entry, &r));
	jitrec_free(&r);
}

static void assert_name(const struct jit_function *f, const char *expect)
{
	assert_int_equal(f->name_len, strlen(expect));
	assert_memory_equal(f->name, expect, f->name_len);
}

static void assert_found(struct jit_test *t, raddr addr, const char *expect)
{
	struct jit_function f;

	assert_true(jit_find(t->j, addr, &f));
	assert_name(&f, expect);
	assert_true(addr >= f.start && addr < f.end);
	assert_int_equal(f.serial, jit_serial(t->j, addr));
}

static void assert_nothing(struct jit_test *t, raddr addr)
{
	struct jit_function f;

	assert_false(jit_find(t->j, addr, &f));
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static void test_every_byte(void **state)
{
	struct jit_test *t = *state;
	struct jit_function f;

	load_lists(t, ENTRY, CODE);
	for (raddr at = CODE - 0x20; at < CODE + 0x120; at++) {
		uint64_t offset = at - CODE;
		const char *name = at < CODE	    ? NULL
				   : offset < 0x10  ? "lists::codeHeader"
				   : offset < 0x20  ? "lists:a/1-CodeInfoPrologue"
				   : offset < 0x60  ? "lists:a/1"
				   : offset < 0x70  ? "lists:b/2-CodeInfoPrologue"
				   : offset < 0xb0  ? "lists:b/2"
				   : offset < 0xc0  ? NULL
				   : offset < 0xf0  ? "lists:c/0"
				   : offset < 0x100 ? "lists::codeFooter"
						    : NULL;

		if (!name) {
			assert_nothing(t, at);
			continue;
		}
		assert_found(t, at, name);
		assert_true(jit_find(t->j, at, &f));
		assert_int_equal(f.preamble, strstr(name, "-CodeInfo") != NULL);
		assert_int_equal(f.fragment, strstr(name, "::") != NULL);
		assert_int_equal(f.module_len, 5);
		assert_memory_equal(f.module, "lists", 5);
	}
	assert_int_equal(jit_serial(t->j, CODE - 1), 0);
	assert_int_not_equal(jit_serial(t->j, CODE + 0xb8), 0); /* in a hole, but in the module */
	assert_int_equal(jit_serial(t->j, CODE + 0x100), 0);
}

static void assert_line(struct jit_test *t, uint64_t offset, const char *file, uint32_t line)
{
	struct jit_function f;

	assert_true(jit_find(t->j, CODE + offset, &f));
	if (!file) {
		assert_null(f.file);
		assert_int_equal(f.file_len, 0);
		return;
	}
	assert_int_equal(f.line, line);
	assert_int_equal(f.file_len, strlen(file));
	assert_memory_equal(f.file, file, f.file_len);
}

static void test_lines(void **state)
{
	struct jit_test *t = *state;

	load_lists(t, ENTRY, CODE);
	assert_line(t, 0x20, "lists.erl", 10);
	assert_line(t, 0x2f, "lists.erl", 10);
	assert_line(t, 0x30, "lists.erl", 11);
	assert_line(t, 0x3f, "lists.erl", 11);
	assert_line(t, 0x40, "lists.hrl", 7);
	assert_line(t, 0x5f, "lists.hrl", 7);
	assert_line(t, 0x70, NULL, 0); /* before its first line */
	assert_line(t, 0x7f, NULL, 0);
	assert_line(t, 0x80, "lists.erl", 21);
	assert_line(t, 0xc0, NULL, 0); /* has none */
}

static void test_odd_lines(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r = {0};

	jitrec_module(&r, "odd", CODE, 0x80);
	jitrec_range(&r, "odd:f/0", 0, 0x40);
	jitrec_line(&r, 0x20, 5, "x.erl"); /* not in order */
	jitrec_line(&r, 0x00, 4, "");	   /* without file */
	jitrec_line(&r, 0x30, 0, "x.erl"); /* without line */
	jitrec_range(&r, "odd:g/0", 0x40, 0x80);
	jitrec_line(&r, 0x40, 9, "y.erl");
	assert_true(load(t, ENTRY, &r));
	jitrec_free(&r);
	assert_line(t, 0x10, NULL, 0);
	assert_line(t, 0x20, "x.erl", 5);
	assert_line(t, 0x40, "y.erl", 9);
}

/* Ranges in any order; the first and last of a module are found, and the module has no others. */
static void test_unsorted_ranges(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r = {0};

	jitrec_module(&r, "m", CODE, 0x30);
	jitrec_range(&r, "m:c/0", 0x20, 0x30);
	jitrec_range(&r, "m:a/0", 0x00, 0x10);
	jitrec_range(&r, "m:b/0", 0x10, 0x20);
	assert_true(load(t, ENTRY, &r));
	jitrec_free(&r);
	assert_found(t, CODE, "m:a/0");
	assert_found(t, CODE + 0x10, "m:b/0");
	assert_found(t, CODE + 0x2f, "m:c/0");
}

static void test_module_without_ranges(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r = {0};

	jitrec_module(&r, "empty", CODE, 0x30);
	assert_true(load(t, ENTRY, &r));
	jitrec_free(&r);
	assert_nothing(t, CODE);
	assert_int_not_equal(jit_serial(t->j, CODE), 0);
}

static void test_nothing_known(void **state)
{
	struct jit_test *t = *state;
	struct address_range range;

	assert_nothing(t, CODE);
	assert_nothing(t, 0);
	assert_nothing(t, UINT64_MAX);
	assert_int_equal(jit_modules(t->j), 0);
	assert_false(jit_module_at(t->j, 0, &range));
	assert_false(jit_fragment(t->j, "garbage_collect", &range));
	assert_int_equal(jit_fragments(t->j).end, 0);
	assert_int_equal(jit_normal_exit(t->j), 0);
	assert_false(jit_frame_pointers(t->j));
	jit_unloaded(t->j, ENTRY);
}

/* ---- fragments, the emulator's own record ---------------------------------------------------- */

static void load_fragments(struct jit_test *t, raddr start)
{
	struct jitrec r = {0};

	jitrec_module(&r, "global", start, 0x60);
	jitrec_range(&r, "global::apply_fun_shared", 0x00, 0x20);
	jitrec_range(&r, "global::call_bif_shared", 0x20, 0x40);
	jitrec_range(&r, "global::garbage_collect", 0x40, 0x60);
	assert_true(load(t, 0, &r));
	jitrec_free(&r);
}

/* The pseudo module of the fragments has the name of a real one. */
static void test_fragments(void **state)
{
	struct jit_test *t = *state;
	struct address_range range;
	struct jit_function f;
	struct jitrec r = {0};

	load_fragments(t, CODE);
	jitrec_module(&r, "global", CODE + 0x1000, 0x100);
	jitrec_range(&r, "global::codeHeader", 0, 0x40);
	jitrec_range(&r, "global:whereis_name/1", 0x40, 0xf0);
	jitrec_range(&r, "global::codeFooter", 0xf0, 0x100);
	assert_true(load(t, ENTRY, &r));
	jitrec_free(&r);

	assert_int_equal(jit_fragments(t->j).start, CODE);
	assert_int_equal(jit_fragments(t->j).end, CODE + 0x60);
	assert_true(jit_find(t->j, CODE + 0x20, &f));
	assert_true(f.fragment);
	assert_name(&f, "global::call_bif_shared");
	assert_true(jit_find(t->j, CODE + 0x1040, &f));
	assert_false(f.fragment);
	assert_true(jit_fragment(t->j, "call_bif_shared", &range));
	assert_int_equal(range.start, CODE + 0x20);
	assert_int_equal(range.end, CODE + 0x40);
	assert_true(jit_fragment(t->j, "garbage_collect", &range));
	assert_int_equal(range.start, CODE + 0x40);
	assert_false(jit_fragment(t->j, "call_bif", &range));
	assert_false(jit_fragment(t->j, "call_bif_shared_", &range));
	assert_false(jit_fragment(t->j, "", &range));
}

/* Quoted names hold "::" without being fragments. */
static void test_names_with_colons(void **state)
{
	struct jit_test *t = *state;
	struct jit_function f;

	load_small(t, ENTRY, "a::b", "'a::b':f/1", CODE, 0x10);
	load_small(t, ENTRY + 0x20, "m", "m:'x::y'/1", CODE + 0x10, 0x10);
	for (int i = 0; i < 2; i++) {
		assert_true(jit_find(t->j, CODE + 0x10 * (raddr)i, &f));
		assert_false(f.fragment);
	}
}

static void test_emulator_record(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r = {0};

	jitrec_emulator(&r, true, CODE + 0x1234);
	assert_false(jit_loaded(t->j, ENTRY, 0, 20, r.bytes.data, 20));
	assert_int_equal(jit_normal_exit(t->j), 0);
	assert_true(load(t, ENTRY, &r));
	assert_int_equal(jit_normal_exit(t->j), CODE + 0x1234);
	assert_true(jit_frame_pointers(t->j));
	assert_int_equal(jit_modules(t->j), 0);
	jitrec_free(&r);
	jitrec_emulator(&r, false, CODE);
	assert_true(load(t, ENTRY, &r));
	assert_false(jit_frame_pointers(t->j));
	jitrec_free(&r);
}

/* ---- code that comes and goes ---------------------------------------------------------------- */

static void test_reload(void **state)
{
	struct jit_test *t = *state;
	uint32_t first, second;

	load_lists(t, ENTRY, CODE);
	load_small(t, ENTRY + 0x20, "next", "next:f/0", CODE + 0x100, 0x40);
	first = jit_serial(t->j, CODE + 0x20);
	/* Reaches into the end of one and the start of the other: both are gone as a whole. */
	load_small(t, ENTRY + 0x40, "new", "new:f/0", CODE + 0xf8, 0x10);
	assert_int_equal(jit_modules(t->j), 1);
	assert_nothing(t, CODE + 0x20);
	assert_nothing(t, CODE + 0x120);
	assert_found(t, CODE + 0xf8, "new:f/0");
	assert_nothing(t, CODE + 0x108);
	load_lists(t, ENTRY, CODE);
	second = jit_serial(t->j, CODE + 0x20);
	assert_int_not_equal(first, second);
	assert_int_not_equal(second, 0);
	assert_nothing(t, CODE + 0x104);
}

/* Neighbours that only touch stay. */
static void test_neighbours(void **state)
{
	struct jit_test *t = *state;
	struct address_range range;

	for (uint64_t i = 0; i < 64; i++) { /* out of order: 0, 37, 10, ... */
		uint64_t k = i * 37 % 64;

		load_small(t, ENTRY + 0x20 * k, "m", "m:f/0", CODE + 0x10 * k, 0x10);
	}
	assert_int_equal(jit_modules(t->j), 64);
	for (uint64_t i = 0; i < 64; i++) {
		assert_true(jit_module_at(t->j, i, &range));
		assert_int_equal(range.start, CODE + 0x10 * i);
		assert_int_equal(range.end, CODE + 0x10 * (i + 1));
		assert_found(t, CODE + 0x10 * i + 0xf, "m:f/0");
	}
	assert_true(jit_module_of(t->j, ENTRY + 0x20 * 5, &range));
	assert_int_equal(range.start, CODE + 0x10 * 5);
	assert_false(jit_module_of(t->j, ENTRY + 0x20 * 64, &range));
	load_small(t, ENTRY, "big", "big:f/0", CODE + 0x18, 0x200);
	assert_int_equal(jit_modules(t->j), 64 - 33);
	assert_found(t, CODE + 0x217, "big:f/0");
	assert_nothing(t, CODE + 0x218); /* the rest of one that is gone */
	assert_found(t, CODE + 0x220, "m:f/0");
}

static void test_unload(void **state)
{
	struct jit_test *t = *state;

	load_lists(t, ENTRY, CODE);
	load_small(t, ENTRY + 0x20, "m", "m:f/0", CODE + 0x100, 0x10);
	jit_unloaded(t->j, ENTRY + 0x40); /* not known */
	assert_int_equal(jit_modules(t->j), 2);
	jit_unloaded(t->j, ENTRY);
	assert_nothing(t, CODE + 0x20);
	assert_int_equal(jit_serial(t->j, CODE + 0x20), 0);
	assert_found(t, CODE + 0x100, "m:f/0");
}

/* The VM reused the entry of a module that was purged: so that module is gone, wherever it was. */
static void test_entry_used_again(void **state)
{
	struct jit_test *t = *state;

	load_lists(t, ENTRY, CODE);
	load_small(t, ENTRY, "m", "m:f/0", CODE + 0x1000, 0x10);
	assert_int_equal(jit_modules(t->j), 1);
	assert_nothing(t, CODE + 0x20);
	assert_found(t, CODE + 0x1000, "m:f/0");
	assert_false(jit_loaded(t->j, ENTRY, 0xdead0000, 64, NULL, 0));
	assert_int_equal(jit_modules(t->j), 0);
}

/* Read from memory where it was not copied; the copy wins where it was. */
static void test_copied_or_read(void **state)
{
	struct jit_test *t = *state;
	raddr record;
	struct jitrec r;

	build_lists(&r, CODE);
	record = image_alloc(t->im, r.bytes.len);
	image_put(t->im, record, r.bytes.data, r.bytes.len);
	assert_true(jit_loaded(t->j, ENTRY, record, r.bytes.len, r.bytes.data, 0));
	assert_found(t, CODE + 0x20, "lists:a/1");
	image_u32(t->im, record, 77); /* overwritten since */
	assert_true(
		jit_loaded(t->j, ENTRY, record, r.bytes.len, r.bytes.data, (uint32_t)r.bytes.len));
	assert_found(t, CODE + 0x20, "lists:a/1");
	assert_int_equal(jit_unreadable(t->j), 0);
	assert_false(jit_loaded(t->j, ENTRY, record, r.bytes.len, r.bytes.data, 8));
	assert_false(jit_loaded(t->j, ENTRY, record + 0x100000, r.bytes.len, NULL, 0));
	assert_int_equal(jit_unreadable(t->j), 2);
	assert_nothing(t, CODE + 0x20); /* their entry was used again */
	jitrec_free(&r);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static uint8_t touch(const char *s, size_t len)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + (uint8_t)s[i]);
	return sum;
}

/* Looks everywhere; what is found must lie where it was asked for, and all of it be readable. */
static void find_everywhere(struct jit_test *t)
{
	struct jit_function f;

	for (raddr at = CODE - 8; at < CODE + 0x108; at += 4) {
		if (!jit_find(t->j, at, &f))
			continue;
		assert_true(at >= f.start && at < f.end);
		assert_true(!f.file || f.file_len > 0);
		t->touched += touch(f.name, f.name_len) + touch(f.module, f.module_len);
		t->touched += touch(f.file, f.file_len);
	}
	jit_fragment(t->j, "garbage_collect", &(struct address_range){0});
}

/* The bytes in a block of their own, so that a read behind them is seen. */
static bool load_bytes(struct jit_test *t, const uint8_t *bytes, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	bool ok;

	memcpy(exact, bytes, size);
	ok = jit_loaded(t->j, ENTRY, 0, size, exact, (uint32_t)size);
	free(exact);
	find_everywhere(t);
	return ok;
}

static void test_cut_everywhere(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r;

	build_lists(&r, CODE);
	for (size_t size = 0; size < r.bytes.len; size++)
		assert_false(load_bytes(t, r.bytes.data, size));
	assert_int_equal(jit_unreadable(t->j), r.bytes.len);
	assert_int_equal(jit_modules(t->j), 0);
	vec_push(&r.bytes, 0); /* nor may anything follow */
	assert_false(load_bytes(t, r.bytes.data, r.bytes.len));
	r.bytes.len--;
	assert_true(load_bytes(t, r.bytes.data, r.bytes.len));
	jitrec_free(&r);
}

static void test_any_bit_flipped(void **state)
{
	struct jit_test *t = *state;
	struct jitrec r;
	size_t accepted = 0;

	build_lists(&r, CODE);
	for (size_t bit = 0; bit < 8 * r.bytes.len; bit++) {
		r.bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		accepted += load_bytes(t, r.bytes.data, r.bytes.len);
		r.bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	/* Names, lines and addresses have no redundancy; lengths and counts have. */
	assert_true(accepted > 0 && accepted < 8 * r.bytes.len);
	assert_true(load_bytes(t, r.bytes.data, r.bytes.len));
	assert_found(t, CODE + 0x20, "lists:a/1");
	jitrec_free(&r);
}

static void put_u32(struct jitrec *r, size_t offset, uint32_t v)
{
	memcpy(r->bytes.data + offset, &v, sizeof(v));
}

static void test_impossible_values(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} cases[] = {
		{0, 2},		  {12, UINT32_MAX}, /* kind; start near the end of memory */
		{16, UINT32_MAX}, {16, 0x10000000}, /* number of ranges */
		{20, 0},	  {20, 0x10000001}, /* bytes of code: none, 256 MiB + 1 */
		{20, 0xff},			    /* less than the ranges say */
		{24, 0xffff},			    /* length of the name */
	};
	struct jit_test *t = *state;
	struct jitrec r;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		build_lists(&r, CODE | 0xfffffff0);
		put_u32(&r, cases[i].offset, cases[i].value);
		if (cases[i].offset == 24)
			memcpy(r.bytes.data + 24, &cases[i].value, 2);
		assert_false(load_bytes(t, r.bytes.data, r.bytes.len));
		jitrec_free(&r);
	}
	assert_int_equal(jit_unreadable(t->j), ARRAY_SIZE(cases));
	assert_false(jit_loaded(t->j, ENTRY, CODE, (64u << 20) + 1, NULL, 0));
	assert_false(jit_loaded(t->j, ENTRY, CODE, UINT64_MAX, NULL, UINT32_MAX));
	assert_false(jit_loaded(t->j, ENTRY, CODE, 0, NULL, 0));
	assert_int_equal(jit_modules(t->j), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_every_byte),
		TEST(test_lines),
		TEST(test_odd_lines),
		TEST(test_unsorted_ranges),
		TEST(test_module_without_ranges),
		TEST(test_nothing_known),
		TEST(test_fragments),
		TEST(test_names_with_colons),
		TEST(test_emulator_record),
		TEST(test_reload),
		TEST(test_neighbours),
		TEST(test_unload),
		TEST(test_entry_used_again),
		TEST(test_copied_or_read),
		TEST(test_cut_everywhere),
		TEST(test_any_bit_flipped),
		TEST(test_impossible_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
