/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms as text: built word by word as OTP 25 and 27 lay them out, against what
 * io_lib:format("~0tp") of both releases (under +pc unicode) prints for them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define SMALL(n) (((uint64_t)(int64_t)(n) << 4) | 0xf)
#define LITERAL	 4ull /* tag of pointers to literals */

struct term_test {
	struct fakenode *f;
	struct id_format pids, ports;
	struct term_reader r;
};

static struct term_test *open_release(int otp)
{
	struct term_test *t = calloc(1, sizeof(*t));
	struct beam_node *n;

	t->f = fakenode_open(otp);
	n = &t->f->node;
	id_format_read(&t->pids, n->mem, &n->layout, n->anchors.proc_tab, otp);
	id_format_read(&t->ports, n->mem, &n->layout, n->anchors.port_tab, otp);
	t->r = (struct term_reader){
		.mem = n->mem,
		.atoms = n->atoms,
		.pids = &t->pids,
		.ports = &t->ports,
		.otp = otp,
		.depth = 8,
		.max_len = 1000,
	};
	return t;
}

static int open_25(void **state)
{
	*state = open_release(25);
	return 0;
}

static int open_27(void **state)
{
	*state = open_release(27);
	return 0;
}

static int close_test(void **state)
{
	struct term_test *t = *state;

	fakenode_close(t->f);
	free(t);
	return 0;
}

static void assert_text(struct term_test *t, uint64_t term, const char *expect)
{
	struct strbuf out = STRBUF_INIT;

	term_print(&t->r, &out, term);
	assert_string_equal(out.buf, expect);
	strbuf_free(&out);
}

/* ---- building ------------------------------------------------------------------------------- */

static uint64_t atom(struct term_test *t, const char *text)
{
	return fakenode_atom(t->f, text);
}

static uint64_t words(struct term_test *t, const uint64_t *w, size_t nr, uint64_t tag)
{
	raddr at = image_alloc(t->f->im, 8 * nr);

	image_put(t->f->im, at, w, 8 * nr);
	return at | tag;
}

static uint64_t cons(struct term_test *t, uint64_t head, uint64_t tail)
{
	return words(t, (uint64_t[]){head, tail}, 2, 1);
}

/* A list of integers, e.g. a string. */
static uint64_t ints(struct term_test *t, const int *n, size_t nr)
{
	uint64_t list = TERM_NIL;

	while (nr-- > 0)
		list = cons(t, SMALL(n[nr]), list);
	return list;
}

static uint64_t string(struct term_test *t, const char *s)
{
	uint64_t list = TERM_NIL;

	for (size_t i = strlen(s); i-- > 0;)
		list = cons(t, SMALL((unsigned char)s[i]), list);
	return list;
}

#define TUPLE(t, ...) tuple(t, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
static uint64_t tuple(struct term_test *t, const uint64_t *elements, size_t nr)
{
	uint64_t w[256] = {nr << 6};

	if (nr)
		memcpy(w + 1, elements, 8 * nr);
	return words(t, w, nr + 1, 2);
}

static uint64_t real(struct term_test *t, double value)
{
	uint64_t w[2] = {1 << 6 | 0x18};

	memcpy(&w[1], &value, 8);
	return words(t, w, 2, 2);
}

static raddr put_bytes(struct term_test *t, const void *bytes, size_t size)
{
	raddr at = image_alloc(t->f->im, size + 1);

	image_put(t->f->im, at, bytes, size);
	return at;
}

/* A binary in a heap: up to OTP 26 with its size in bytes, later in bits. */
static uint64_t heap_binary(struct term_test *t, const void *bytes, size_t size)
{
	uint64_t w[64] = {(1 + (size + 7) / 8) << 6 | (t->r.otp < 27 ? 0x24 : 0x20)};

	w[1] = t->r.otp < 27 ? size : 8 * size;
	memcpy(w + 2, bytes, size);
	return words(t, w, 2 + (size + 7) / 8, 2);
}

/* ---- immediates ----------------------------------------------------------------------------- */

static void test_immediates(void **state)
{
	struct term_test *t = *state;

	assert_text(t, TERM_NIL, "[]");
	assert_text(t, SMALL(0), "0");
	assert_text(t, SMALL(-1), "-1");
	assert_text(t, SMALL(288230376151711744), "288230376151711744");
	assert_text(t, SMALL(-288230376151711744), "-288230376151711744");
	assert_text(t, atom(t, "hello"), "hello");
	assert_text(t, atom(t, "hello world"), "'hello world'");
	assert_text(t, atom(t, ""), "''");
	assert_text(t, atom(t, "\xc3\xa9"), "\xc3\xa9");
	assert_text(t, atom(t, "\xe6\x97\xa5\xe6\x9c\xac"), "'\xe6\x97\xa5\xe6\x9c\xac'");
	assert_text(t, atom(t, "a\nb"), "'a\\nb'");
	assert_text(t, t->r.otp <= 25 ? 0x278000004f3 : 0x2983,
		    t->r.otp <= 25 ? "<0.79.0>" : "<0.83.0>");
	assert_text(t, 0x7, "#Port<0.0>");
	t->r.ports = NULL;
	assert_text(t, 0x7, "...");
	assert_text(t, 0, "...");	     /* no term */
	assert_text(t, 0x1b, "...");	     /* a catch */
	assert_text(t, 0x123456780b, "..."); /* an atom that is not there */
	assert_text(t, 0xdead0001, "[...]");
	assert_text(t, 0xdead0002, "...");
}

/* ---- lists and strings ---------------------------------------------------------------------- */

static void test_lists(void **state)
{
	struct term_test *t = *state;
	uint64_t a = atom(t, "a"), b = atom(t, "b");

	assert_text(t, ints(t, (int[]){1, 2, 3}, 3), "[1,2,3]");
	assert_text(t, cons(t, SMALL(65), SMALL(66)), "[65|66]");
	assert_text(t, cons(t, SMALL(65), b), "[65|b]");
	assert_text(t, cons(t, a, cons(t, b, SMALL(1))), "[a,b|1]");
	assert_text(t, cons(t, string(t, "ab"), cons(t, TERM_NIL, TERM_NIL)), "[\"ab\",[]]");
	assert_text(t, cons(t, TERM_NIL, TERM_NIL), "[[]]");
	assert_text(t, cons(t, SMALL('a'), cons(t, SMALL(-1), TERM_NIL)), "[97,-1]");
	assert_text(t,
		    cons(t, a, cons(t, string(t, "b"), cons(t, heap_binary(t, "c", 1), TERM_NIL))),
		    "[a,\"b\",<<\"c\">>]");
	assert_text(t, cons(t, SMALL(1), TERM_NIL) | LITERAL, "[1]");
}

static void test_strings(void **state)
{
	struct term_test *t = *state;

	assert_text(t, string(t, "abc"), "\"abc\"");
	assert_text(t, string(t, "a\nb\tc\x1b\b\f\v\r"), "\"a\\nb\\tc\\e\\b\\f\\v\\r\"");
	assert_text(t, string(t, "a\"b\\c'd"), "\"a\\\"b\\\\c'd\"");
	assert_text(t, ints(t, (int[]){233, 232}, 2), "\"\xc3\xa9\xc3\xa8\"");
	assert_text(t, ints(t, (int[]){160}, 1), "\"\xc2\xa0\"");
	assert_text(t, ints(t, (int[]){127, 65}, 2), "[127,65]");
	assert_text(t, ints(t, (int[]){128, 65}, 2), "[128,65]");
	assert_text(t, ints(t, (int[]){0, 1}, 2), "[0,1]");
	/* Above 255 as nodes print without +pc unicode: numbers are no text. */
	assert_text(t, ints(t, (int[]){955, 65}, 2), "[955,65]");
	assert_text(t, ints(t, (int[]){1114111}, 1), "[1114111]");
}

/* ---- tuples, floats ------------------------------------------------------------------------- */

static void test_tuples(void **state)
{
	struct term_test *t = *state;
	uint64_t a = atom(t, "a"), list = cons(t, atom(t, "c"), TERM_NIL);

	assert_text(t, tuple(t, NULL, 0), "{}");
	assert_text(t, TUPLE(t, a), "{a}");
	assert_text(t, TUPLE(t, a, TUPLE(t, atom(t, "b"), list)), "{a,{b,[c]}}");
	assert_text(t, TUPLE(t, TERM_NIL, tuple(t, NULL, 0), heap_binary(t, "", 0)),
		    "{[],{},<<>>}");
	assert_text(t, TUPLE(t, real(t, 1.0), real(t, 2.5e20)), "{1.0,2.5e20}");
	assert_text(t, TUPLE(t, a) | LITERAL, "{a}");
}

static void test_floats(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0.0, "0.0"},
		{-0.0, "-0.0"},
		{1.0, "1.0"},
		{1.5, "1.5"},
		{0.1, "0.1"},
		{-2.25, "-2.25"},
		{100.0, "100.0"},
		{1000.0, "1.0e3"},
		{12345.0, "12345.0"},
		{99999.0, "99999.0"},
		{123000.0, "1.23e5"},
		{123456789.0, "123456789.0"},
		{1.0e10, "1.0e10"},
		{-1.0e-10, "-1.0e-10"},
		{4503599627370496.5, "4503599627370496.0"},
		{9007199254740991.0, "9007199254740991.0"},
		{9007199254740992.0, "9.007199254740992e15"},
		{9.5e15, "9.5e15"},
		{1.2345e16, "1.2345e16"},
		{1.0e22, "1.0e22"},
		{1.0e23, "1.0e23"},
		{0.01, "0.01"},
		{0.001, "0.001"},
		{0.0001, "0.0001"},
		{0.00001, "1.0e-5"},
		{1.2e-3, "0.0012"},
		{1.23e-4, "1.23e-4"},
		{0.000123456, "1.23456e-4"},
		{3.141592653589793, "3.141592653589793"},
		{4.35, "4.35"},
		{1.7976931348623157e308, "1.7976931348623157e308"},
		{2.2250738585072014e-308, "2.2250738585072014e-308"},
		{5.0e-324, "5.0e-324"},
		{1.0e300, "1.0e300"},
	};
	struct term_test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_text(t, real(t, cases[i].value), cases[i].text);
	assert_text(t, real(t, INFINITY), "..."); /* not in Erlang */
	assert_text(t, real(t, NAN), "...");
}

/* ---- binaries ------------------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	const char *text;
} binaries[] = {
	{"", 0, "<<>>"},
	{"abc", 3, "<<\"abc\">>"},
	{"a\"b\\c\n", 6, "<<\"a\\\"b\\\\c\\n\">>"},
	{"\xc3\xa9", 2, "<<\"\xc3\xa9\"/utf8>>"},
	{"\xe6\x97\xa5\xe6\x9c\xac", 6, "<<\"\xe6\x97\xa5\xe6\x9c\xac\"/utf8>>"},
	{"\xf0\x9f\x98\x80", 4, "<<\"\xf0\x9f\x98\x80\"/utf8>>"},
	{"\xc3\xa9\n\"x\"", 6, "<<\"\xc3\xa9\\n\\\"x\\\"\"/utf8>>"},
	{"\xff\xfe", 2, "<<\"\xc3\xbf\xc3\xbe\">>"},
	{"\xe9", 1, "<<\"\xc3\xa9\">>"},
	{"\0", 1, "<<0>>"},
	{"\x7f", 1, "<<127>>"},
	{"a\0", 2, "<<97,0>>"},
	{"\xc2\x85", 2, "<<194,133>>"},
	{"\xed\xa0\x80", 3, "<<237,160,128>>"},
	{"\xef\xbf\xbd", 3, "<<\"\xef\xbf\xbd\"/utf8>>"},
	{"\1\2\3\4\5\6", 6, "<<1,2,3,4,5,6>>"},
};

static void test_heap_binaries(void **state)
{
	struct term_test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(binaries); i++)
		assert_text(t, heap_binary(t, binaries[i].bytes, binaries[i].size),
			    binaries[i].text);
}

/* ProcBin {header, size, next, Binary *, bytes, flags} and SubBin {header, size, offset, bit size
 * u8, bit offset u8, writable, whole binary} of OTP 25. */
static void test_binaries_25(void **state)
{
	struct term_test *t = *state;
	raddr data = put_bytes(t, "0123456789", 10);
	uint64_t refc = words(t, (uint64_t[]){5 << 6 | 0x20, 10, 0, 0xdead, data, 0}, 6, 2);
	uint64_t heap = heap_binary(t, "abcdefghij", 10);
	uint64_t bad = TUPLE(t, TERM_NIL);

	assert_text(t, refc, "<<\"0123456789\">>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 0, refc}, 5, 2), "<<\"456\">>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 0, heap}, 5, 2), "<<\"efg\">>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 0, 0, 0, heap}, 5, 2), "<<>>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 1, heap}, 5, 2),
		    "<<101,102,103,0:1>>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 0x100, heap}, 5, 2),
		    "<<\"\xc3\x8a\xc3\x8c\xc3\x8e\">>");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 0, bad}, 5, 2), "...");
	assert_text(t, words(t, (uint64_t[]){3 << 6 | 0x28, 3, 4, 0, SMALL(1)}, 5, 2), "...");
	assert_text(t, words(t, (uint64_t[]){5 << 6 | 0x20, 10, 0, 0, 0xdead0000, 0}, 6, 2), "...");
}

/* ErlSubBits {header, bytes | flags, start, end in bits, whole} of OTP 27. */
static void test_binaries_27(void **state)
{
	struct term_test *t = *state;
	raddr data = put_bytes(t, "0123456789", 10);
	const struct {
		uint64_t start, end;
		const char *text;
	} cases[] = {
		{0, 80, "<<\"0123456789\">>"},
		{32, 56, "<<\"456\">>"},
		{8, 8, "<<>>"},
		{0, 77, "<<48,49,50,51,52,53,54,55,56,7:5>>"},
		{1, 9, "<<\"`\">>"},
		{3, 5, "<<2:2>>"},
		{16, 8, "..."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t flags = 0; flags < 4; flags++)
			assert_text(t,
				    words(t,
					  (uint64_t[]){4 << 6 | 0x24, data | flags, cases[i].start,
						       cases[i].end, TERM_NIL},
					  5, 2),
				    cases[i].text);
	}
	assert_text(t, words(t, (uint64_t[]){2 << 6 | 0x20, 17, 0x80ffff}, 3, 2),
		    "<<255,255,1:1>>");
	/* more bits than there is room for */
	assert_text(t, words(t, (uint64_t[]){2 << 6 | 0x20, 65, 0}, 3, 2), "...");
}

/* What cannot be a term: sizes that do not fit, subtags that no release has, and what only a node
 * could tell (a fun's module, the node of an external pid). */
static void test_others(void **state)
{
	static const uint64_t subtags[] = {0x04, 0x10, 0x14, 0x1c, 0x28, 0x2c,
					   0x30, 0x34, 0x38, 0x3c, 0x01, 0x03};
	struct term_test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(subtags); i++)
		assert_text(t, words(t, (uint64_t[]){4 << 6 | subtags[i], 1, 2, 3, 4}, 5, 2),
			    "...");
	assert_text(t, words(t, (uint64_t[]){TUPLE(t, TERM_NIL), 1}, 2, 2), "..."); /* moved away */
}

/* ---- limits --------------------------------------------------------------------------------- */

static void test_long_texts(void **state)
{
	struct term_test *t = *state;
	struct strbuf out = STRBUF_INIT;
	char text[301], expect[400];
	uint8_t bytes[40];

	memset(text, 'x', 300);
	text[300] = '\0';
	snprintf(expect, sizeof(expect), "\"%.256s...\"", text);
	assert_text(t, string(t, text), expect);
	snprintf(expect, sizeof(expect), "<<\"%.256s...\">>", text);
	assert_text(t, heap_binary(t, text, 300), expect);
	/* A character is not cut in two. */
	memcpy(text + 253, "\xe6\x97\xa5\xe6\x97\xa5", 6);
	snprintf(expect, sizeof(expect), "<<\"%.256s...\"/utf8>>", text);
	assert_text(t, heap_binary(t, text, 300), expect);
	memmove(text + 1, text, 299);
	snprintf(expect, sizeof(expect), "<<\"%.254s...\"/utf8>>", text);
	assert_text(t, heap_binary(t, text, 300), expect);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 200);
	bytes[0] = 0;
	assert_text(t, heap_binary(t, bytes, 40),
		    "<<0,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,...>>");
	/* No text is much longer than asked for. */
	for (t->r.max_len = 1; t->r.max_len < 60; t->r.max_len++) {
		uint64_t term = TUPLE(t, string(t, text), heap_binary(t, text, 300),
				      cons(t, atom(t, "abc"), TERM_NIL), SMALL(12345678));

		strbuf_reset(&out);
		term_print(&t->r, &out, term);
		assert_in_range(out.len, t->r.max_len, t->r.max_len + 40);
	}
	strbuf_free(&out);
}

static void test_long_lists_and_tuples(void **state)
{
	struct term_test *t = *state;
	struct strbuf expect = STRBUF_INIT;
	uint64_t elements[200], list = TERM_NIL;

	for (size_t i = 0; i < 200; i++) {
		elements[i] = SMALL(7);
		list = cons(t, SMALL(7), list);
	}
	for (int i = 0; i < 64; i++)
		strbuf_addstr(&expect, i ? ",7" : "[7");
	strbuf_addstr(&expect, ",...]");
	list = cons(t, SMALL(0), list);
	expect.buf[1] = '0';
	assert_text(t, list, expect.buf);
	expect.buf[0] = '{';
	expect.buf[1] = '7';
	expect.buf[expect.len - 1] = '}';
	assert_text(t, tuple(t, elements, 200), expect.buf);
	strbuf_free(&expect);
}

static void test_depth(void **state)
{
	struct term_test *t = *state;
	uint64_t list = cons(t, atom(t, "a"), TERM_NIL), nested = atom(t, "a");

	for (int i = 0; i < 6; i++)
		list = cons(t, list, TERM_NIL);
	for (int i = 0; i < 7; i++)
		nested = TUPLE(t, nested);
	assert_text(t, list, "[[[[[[[a]]]]]]]");
	assert_text(t, nested, "{{{{{{{a}}}}}}}");
	t->r.depth = 6;
	assert_text(t, list, "[[[[[[...]]]]]]");
	assert_text(t, nested, "{{{{{{...}}}}}}");
	t->r.depth = 0;
	assert_text(t, nested, "...");
}

/* Terms that contain themselves, which only a torn read can show, end. */
static void test_cycles(void **state)
{
	struct term_test *t = *state;
	struct image *im = t->f->im;
	struct strbuf out = STRBUF_INIT;
	uint64_t a = atom(t, "a"), tail = cons(t, a, TERM_NIL),
		 chars = cons(t, SMALL('x'), TERM_NIL), head = cons(t, TERM_NIL, TERM_NIL), wide,
		 elements[64];

	memset(elements, 0, sizeof(elements));
	wide = tuple(t, elements, 64);
	image_u64(im, (tail & ~7ull) + 8, tail);
	image_u64(im, (chars & ~7ull) + 8, chars);
	image_u64(im, head & ~7ull, head);
	for (uint64_t i = 1; i <= 64; i++)
		image_u64(im, (wide & ~7ull) + 8 * i, wide);
	t->r.max_len = 100;
	term_print(&t->r, &out, tail);
	assert_memory_equal(out.buf, "[a,a,a,", 7);
	assert_in_range(out.len, 100, 120);
	strbuf_reset(&out);
	term_print(&t->r, &out, chars);
	assert_memory_equal(out.buf, "\"xxx", 4);
	assert_string_equal(out.buf + out.len - 5, "x...\"");
	assert_in_range(out.len, 100, 120);
	assert_text(t, head, "[[[[[[[[...]]]]]]]]");
	strbuf_reset(&out);
	term_print(&t->r, &out, wide);
	assert_in_range(out.len, 100, 500);
	assert_in_range(image_reads(im), 1, 5000);
	strbuf_free(&out);
}

/* ---- copies, faults ------------------------------------------------------------------------- */

/* Words that came with the term are preferred: the process may have collected since. */
static void test_copies(void **state)
{
	struct term_test *t = *state;
	uint64_t copy[8] = {3 << 6, atom(t, "was"), SMALL(1), TERM_NIL};
	uint64_t term = TUPLE(t, atom(t, "is"), SMALL(2), TERM_NIL);

	assert_text(t, term, "{is,2,[]}");
	t->r.copy_addr = term & ~7ull;
	t->r.copy = copy;
	t->r.copy_words = 8;
	assert_text(t, term, "{was,1,[]}");
	/* What the copy points to is read from memory, if there is one. */
	copy[3] = string(t, "far");
	assert_text(t, term, "{was,1,\"far\"}");
	t->r.mem = NULL;
	assert_text(t, term, "{was,1,[...]}");
	copy[3] = (t->r.copy_addr + 32) | 1; /* inside the copy */
	copy[4] = SMALL('a');
	copy[5] = (t->r.copy_addr + 48) | 1;
	copy[6] = SMALL('b');
	copy[7] = TERM_NIL;
	assert_text(t, term, "{was,1,\"ab\"}");
	t->r.copy_words = 7;
	assert_text(t, term, "{was,1,[97,...]}");
}

/* Bytes in the copy may begin and end anywhere in its words. */
static void test_copied_bytes(void **state)
{
	struct term_test *t = *state;
	uint64_t copy[8] = {4 << 6 | 0x24, 0, 8 * 3, 8 * 11, TERM_NIL, 2 << 6 | 0x20, 8 * 16, 0};
	raddr at = image_alloc(t->f->im, 80);

	memcpy(&copy[6], "0123456789abcdef", 16);
	copy[1] = at + 48;
	t->r.copy_addr = at;
	t->r.copy = copy;
	t->r.copy_words = 8;
	t->r.mem = NULL;
	assert_text(t, at | 2, "<<\"3456789a\">>");
	copy[3] = 8 * 16;
	assert_text(t, at | 2, "<<\"3456789abcdef\">>");
	copy[3] = 8 * 17; /* one byte too many */
	assert_text(t, at | 2, "...");
}

/* Every read may fail: the text says so, or is whole. */
static void test_faults(void **state)
{
	struct term_test *t = *state;
	uint64_t term = TUPLE(t, atom(t, "abc"), string(t, "de"), heap_binary(t, "fgh", 3),
			      real(t, 1.5), cons(t, SMALL(1), cons(t, TERM_NIL, TERM_NIL)));
	const char *whole = "{abc,\"de\",<<\"fgh\">>,1.5,[1,[]]}";
	struct strbuf out = STRBUF_INIT;
	size_t cut = 0;
	uint64_t nth;

	assert_text(t, term, whole); /* and the atom is known */
	for (nth = 1; nth < 100; nth++) {
		t->r.mem = mem_open_faulty(t->f->node.mem, 0, 0, nth);
		strbuf_reset(&out);
		term_print(&t->r, &out, term);
		mem_close(t->r.mem);
		if (strcmp(out.buf, whole) == 0)
			break;
		/* "de" may print as a list when one of its cells cannot be read. */
		assert_true(strstr(out.buf, "...") || strstr(out.buf, "[100,101]"));
		cut++;
	}
	assert_in_range(cut, 12, 40);
	assert_int_equal(nth, cut + 1);
	strbuf_free(&out);
}

int main(void)
{
#define TEST_25(name) cmocka_unit_test_setup_teardown(name, open_25, close_test)
#define TEST_27(name)                                                                              \
	{                                                                                          \
#name " 27", name, open_27, close_test, NULL                                       \
	}
#define TEST_BOTH(name) TEST_25(name), TEST_27(name)
	const struct CMUnitTest tests[] = {
		TEST_BOTH(test_immediates),
		TEST_BOTH(test_lists),
		TEST_BOTH(test_strings),
		TEST_BOTH(test_tuples),
		TEST_BOTH(test_floats),
		TEST_BOTH(test_heap_binaries),
		TEST_25(test_binaries_25),
		TEST_27(test_binaries_27),
		TEST_BOTH(test_others),
		TEST_BOTH(test_long_texts),
		TEST_BOTH(test_long_lists_and_tuples),
		TEST_BOTH(test_depth),
		TEST_BOTH(test_cycles),
		TEST_BOTH(test_copies),
		TEST_27(test_copied_bytes),
		TEST_BOTH(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
