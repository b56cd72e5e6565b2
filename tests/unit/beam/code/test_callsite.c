/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What JIT code called: from bytes of code as BeamAsm writes them, the Export of a light BIF, the
 * current function, the BIF table; and what must not be named because it cannot be known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/code/callsite.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define CODE	  0x7e0000000000ull /* fragments */
#define ERLANG	  (CODE + 0x10000)  /* a module */
#define C_REVERSE 0x550000001000ull
#define C_LENGTH  0x550000002000ull
#define C_ALIAS	  0x550000003000ull
#define C_ALIAS_3 0x550000003800ull
#define C_HELPER  0x550000004000ull

static const char *const fragments[] = {
	"call_light_bif_shared",
	"call_bif_shared",
	"dispatch_bif",
	"call_nif_shared",
	"call_nif_early",
	"dispatch_nif",
	"i_bif_body_shared",
	"i_bif_guard_shared",
	"garbage_collect",
	"call_light_bif_sha",
	"",
};

struct site_test {
	struct fakenode *f;
	struct jit_code *jit;
	struct callsites *c;
};

static raddr fragment(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		if (strcmp(fragments[i], name) == 0)
			return CODE + 0x100 * i;
	}
	fail_msg("no fragment %s", name);
	return 0;
}

static void load(struct site_test *t, struct jitrec *r)
{
	assert_true(jit_loaded(t->jit, 0x1000 + r->bytes.len, 0, r->bytes.len, r->bytes.data,
			       (uint32_t)r->bytes.len));
	jitrec_free(r);
}

static int open_test(void **state)
{
	struct site_test *t = calloc(1, sizeof(*t));
	struct jitrec r = {0};
	char name[64];

	t->f = fakenode_open(27);
	jit_open(&t->jit, t->f->node.mem, t->f->node.anchors.jit_descriptor);
	jitrec_module(&r, "global", CODE, 0x100 * (uint32_t)ARRAY_SIZE(fragments));
	for (uint32_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		snprintf(name, sizeof(name), "global::%s", fragments[i]);
		jitrec_range(&r, name, 0x100 * i, 0x100 * (i + 1));
	}
	load(t, &r);
	jitrec_module(&r, "m", ERLANG, 0x1000);
	jitrec_range(&r, "m:f/1", 0, 0x1000);
	load(t, &r);
	image_map(t->f->im, CODE, 0x100 * ARRAY_SIZE(fragments));
	image_map(t->f->im, ERLANG, 0x1000);
	fakenode_bif(t->f, "erlang", "alias_b", 2, C_ALIAS);
	fakenode_bif(t->f, "lists", "reverse", 2, C_REVERSE);
	fakenode_bif(t->f, "erlang", "third_a", 1, C_ALIAS_3);
	fakenode_bif(t->f, "erlang", "length", 1, C_LENGTH);
	fakenode_bif(t->f, "erlang", "third_b", 1, C_ALIAS_3);
	fakenode_bif(t->f, "erlang", "alias_a", 2, C_ALIAS);
	fakenode_bif(t->f, "erlang", "third_c", 1, C_ALIAS_3);
	t->c = callsites_open(&t->f->node, t->jit);
	*state = t;
	return 0;
}

static int close_test(void **state)
{
	struct site_test *t = *state;

	callsites_close(t->c);
	jit_close(t->jit);
	fakenode_close(t->f);
	free(t);
	return 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* `call [rip + disp]` that ends at ra, and the constant it goes through. */
static void put_direct_call(struct site_test *t, raddr ra, raddr function)
{
	uint8_t code[6] = {0xff, 0x15};
	raddr pool = ERLANG + 0xf00 + (ra & 0xf8);
	int32_t disp = (int32_t)(int64_t)(pool - ra);

	memcpy(code + 2, &disp, 4);
	image_put(t->f->im, ra - 6, code, 6);
	image_u64(t->f->im, pool, function);
}

/* `movabs rcx, function; call fragment`, the call padded or not. */
static void put_guard_call(struct site_test *t, raddr ra, raddr function, bool padded)
{
	uint8_t code[16] = {0x48, 0xb9};
	size_t size = 10;

	memcpy(code + 2, &function, 8);
	if (padded)
		code[size++] = 0x40;
	code[size] = 0xe8;
	size += 5;
	image_put(t->f->im, ra - size, code, size);
}

static void target(struct site_test *t, raddr ra, raddr caller_ra, uint64_t light_bif,
		   const uint64_t current[3], struct callsite_callee *out)
{
	static const uint64_t none[3];

	callsite_target(t->c, ra, caller_ra, light_bif, current ? current : none, out);
}

static void assert_mfa(struct site_test *t, const uint64_t mfa[3], const char *module,
		       const char *function, uint64_t arity)
{
	uint64_t expect[3];

	fakenode_mfa(t->f, expect, module, function, arity);
	assert_memory_equal(mfa, expect, sizeof(expect));
}

static void assert_fragment(const struct callsite_callee *out, const char *name)
{
	assert_non_null(out->fragment);
	assert_int_equal(out->fragment_len, strlen(name));
	assert_memory_equal(out->fragment, name, out->fragment_len);
}

/* ---- the BIF table --------------------------------------------------------------------------- */

static void test_bif_table(void **state)
{
	struct site_test *t = *state;
	uint64_t mfa[3] = {1, 2, 3};

	assert_true(callsite_bif_of(t->c, C_REVERSE, mfa));
	assert_mfa(t, mfa, "lists", "reverse", 2);
	assert_true(callsite_bif_of(t->c, C_LENGTH, mfa));
	assert_mfa(t, mfa, "erlang", "length", 1);
	/* One C function under two or three names tells none of them. */
	assert_false(callsite_bif_of(t->c, C_ALIAS, mfa));
	assert_false(callsite_bif_of(t->c, C_ALIAS_3, mfa));
	assert_false(callsite_bif_of(t->c, C_HELPER, mfa));
	assert_false(callsite_bif_of(t->c, C_REVERSE + 1, mfa));
	assert_false(callsite_bif_of(t->c, 0, mfa));
	fakenode_mfa(t->f, mfa, "erlang", "third_b", 1);
	assert_true(callsite_is_bif(t->c, mfa));
	mfa[2] = 2;
	assert_false(callsite_is_bif(t->c, mfa));
}

/* Without a table, or with one that cannot be read, nothing is a BIF. */
static void test_no_bif_table(void **state)
{
	struct site_test *t = *state;
	struct beam_node *n = &t->f->node;
	raddr table = n->anchors.bif_table;
	uint32_t nr = n->anchors.nr_bifs;
	const struct {
		raddr table;
		uint32_t nr;
	} cases[] = {{0, nr}, {table, 0}, {table, 10001}, {0xdead0000, nr}, {table, 1000}};
	uint64_t mfa[3];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct callsites *c;

		n->anchors.bif_table = cases[i].table;
		n->anchors.nr_bifs = cases[i].nr;
		c = callsites_open(n, t->jit);
		assert_false(callsite_bif_of(c, C_REVERSE, mfa));
		fakenode_mfa(t->f, mfa, "lists", "reverse", 2);
		assert_false(callsite_is_bif(c, mfa));
		callsites_close(c);
	}
	n->anchors.nr_bifs = nr;
}

/* ---- calls from Erlang code ------------------------------------------------------------------ */

static void test_direct_call(void **state)
{
	struct site_test *t = *state;
	struct callsite_callee out;

	put_direct_call(t, ERLANG + 0x100, C_REVERSE);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_REVERSE);
	assert_mfa(t, out.mfa, "lists", "reverse", 2);
	assert_null(out.fragment);
	assert_false(out.nif);
	put_direct_call(t, ERLANG + 0x210, C_HELPER);
	target(t, ERLANG + 0x210, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_HELPER);
	assert_int_equal(out.mfa[0], 0);
	put_direct_call(t, ERLANG + 0x320, C_ALIAS);
	target(t, ERLANG + 0x320, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_ALIAS);
	assert_int_equal(out.mfa[0], 0);
}

static void test_other_calls(void **state)
{
	static const uint8_t call_rax[] = {0xff, 0xd0};
	struct site_test *t = *state;
	struct callsite_callee out;

	image_put(t->f->im, ERLANG + 0xfe, call_rax, 2);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, 0);
	/* Not in code at all; at the start of what can be read. */
	memset(&out, 0xff, sizeof(out));
	target(t, 0x1234, 0, 0, NULL, &out);
	assert_int_equal(out.function, 0);
	assert_int_equal(out.mfa[0], 0);
	assert_null(out.fragment);
	target(t, ERLANG + 8, 0, 0, NULL, &out);
	assert_int_equal(out.function, 0);
	target(t, ERLANG, 0, 0, NULL, &out);
	assert_int_equal(out.function, 0);
}

/* New code at the same address is looked at anew, but not before it is reported. */
static void test_forget(void **state)
{
	struct site_test *t = *state;
	struct callsite_callee out;

	put_direct_call(t, ERLANG + 0x100, C_REVERSE);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	put_direct_call(t, ERLANG + 0x100, C_LENGTH);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_REVERSE);
	callsites_forget(t->c);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_mfa(t, out.mfa, "erlang", "length", 1);
}

/* ---- calls through fragments ----------------------------------------------------------------- */

static void test_light_bif(void **state)
{
	struct site_test *t = *state;
	raddr export = fakenode_export(t->f, "ets", "lookup", 2),
	      ra = fragment("call_light_bif_shared");
	struct callsite_callee out;

	target(t, ra + 0x80, ERLANG + 0x100, export, NULL, &out);
	assert_mfa(t, out.mfa, "ets", "lookup", 2);
	assert_fragment(&out, "call_light_bif_shared");
	assert_false(out.nif);
	/* Exports stay where they are: the answer is kept. */
	image_u64(t->f->im, export + (raddr)t->f->node.layout.export_mfa, 0);
	target(t, ra + 0x80, ERLANG + 0x100, export, NULL, &out);
	assert_mfa(t, out.mfa, "ets", "lookup", 2);
	/* In another fragment TMP_MEM2 means something else. */
	target(t, fragment("garbage_collect") + 0x80, ERLANG + 0x100, export, NULL, &out);
	assert_int_equal(out.mfa[0], 0);
	assert_fragment(&out, "garbage_collect");
}

static void test_invalid_exports(void **state)
{
	struct site_test *t = *state;
	raddr ra = fragment("call_light_bif_shared") + 0x80;
	int32_t at = t->f->node.layout.export_mfa;
	uint64_t good = fakenode_atom(t->f, "good");
	const uint64_t bad[][3] = {
		{0, good, 1},	       {good, 0, 1},
		{good, good, 256},     {good, good, UINT64_MAX},
		{0x3b, good, 1},       {good, good + 4, 1},
		{0xffffffcb, good, 1},
	};
	struct callsite_callee out;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		raddr export = fakenode_export(t->f, "m", "f", 1);

		image_put(t->f->im, export + (raddr)at, bad[i], sizeof(bad[i]));
		target(t, ra, 0, export, NULL, &out);
		assert_int_equal(out.mfa[0], 0);
		/* It may become one: a refusal is not kept. */
		image_put(t->f->im, export + (raddr)at, (uint64_t[]){good, good, 255}, 24);
		target(t, ra, 0, export, NULL, &out);
		assert_mfa(t, out.mfa, "good", "good", 255);
	}
	target(t, ra, 0, 0, NULL, &out);
	assert_int_equal(out.mfa[0], 0);
	target(t, ra, 0, 0xdead0000, NULL, &out);
	assert_int_equal(out.mfa[0], 0);
	target(t, ra, 0, fakenode_export(t->f, "m", "f", 1) + 4, NULL, &out);
	assert_int_equal(out.mfa[0], 0);
	target(t, ra, 0, UINT64_MAX - 7, NULL, &out);
	assert_int_equal(out.mfa[0], 0);
}

static void test_current_function(void **state)
{
	static const struct {
		const char *fragment;
		bool known, nif;
	} cases[] = {
		{"call_bif_shared", true, false},     {"dispatch_bif", true, false},
		{"call_nif_shared", true, true},      {"call_nif_early", true, true},
		{"dispatch_nif", true, true},	      {"call_light_bif_shared", false, false},
		{"i_bif_body_shared", false, false},  {"garbage_collect", false, false},
		{"call_light_bif_sha", false, false},
	};
	struct site_test *t = *state;
	uint64_t current[3];
	struct callsite_callee out;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		raddr ra = fragment(cases[i].fragment) + 0x80;

		fakenode_mfa(t->f, current, "crypto", "hash_nif", 2);
		target(t, ra, ERLANG + 0x100, 0, current, &out);
		assert_fragment(&out, cases[i].fragment);
		assert_int_equal(out.nif, cases[i].nif);
		if (cases[i].known)
			assert_mfa(t, out.mfa, "crypto", "hash_nif", 2);
		else
			assert_int_equal(out.mfa[0], 0);
		current[2] = 256;
		target(t, ra, ERLANG + 0x100, 0, current, &out);
		assert_int_equal(out.mfa[0], 0);
		target(t, ra, ERLANG + 0x100, 0, NULL, &out);
		assert_int_equal(out.mfa[0], 0);
		assert_int_equal(out.nif, cases[i].nif);
	}
	/* A fragment without a name is none. */
	target(t, fragment("") + 0x80, 0, 0, current, &out);
	assert_null(out.fragment);
}

static void test_guard_bif(void **state)
{
	static const char *const names[] = {"i_bif_body_shared", "i_bif_guard_shared"};
	struct site_test *t = *state;
	struct callsite_callee out;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		raddr ra = fragment(names[i]) + 0x80, caller = ERLANG + 0x100 + 0x100 * i;

		put_guard_call(t, caller, C_LENGTH, false);
		put_guard_call(t, caller + 0x40, C_REVERSE, true);
		put_guard_call(t, caller + 0x80, C_ALIAS, i);
		target(t, ra, caller, 0, NULL, &out);
		assert_int_equal(out.function, C_LENGTH);
		assert_mfa(t, out.mfa, "erlang", "length", 1);
		assert_fragment(&out, names[i]);
		target(t, ra, caller + 0x40, 0, NULL, &out);
		assert_mfa(t, out.mfa, "lists", "reverse", 2);
		target(t, ra, caller + 0x80, 0, NULL, &out);
		assert_int_equal(out.function, C_ALIAS);
		assert_int_equal(out.mfa[0], 0);
		/* No caller known; one whose code is something else; one outside of all. */
		target(t, ra, 0, 0, NULL, &out);
		assert_int_equal(out.function, 0);
		target(t, ra, caller + 0xc0, 0, NULL, &out);
		assert_int_equal(out.function, 0);
		target(t, ra, 0xdead0000, 0, NULL, &out);
		assert_int_equal(out.function, 0);
	}
}

/* The same address asked for as one kind of call says nothing about the other. */
static void test_kinds_of_sites_do_not_mix(void **state)
{
	struct site_test *t = *state;
	struct callsite_callee out;

	put_direct_call(t, ERLANG + 0x100, C_REVERSE);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_REVERSE);
	target(t, fragment("i_bif_body_shared") + 0x80, ERLANG + 0x100, 0, NULL, &out);
	assert_int_equal(out.function, 0);
	assert_int_equal(out.mfa[0], 0);
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_REVERSE);
}

/* ---- faults, bounds -------------------------------------------------------------------------- */

/* A read that fails costs the answer, never a wrong one, and only that once. */
static void test_faults(void **state)
{
	struct site_test *t = *state;
	struct beam_node *n = &t->f->node;
	struct mem *whole = n->mem;
	raddr export = fakenode_export(t->f, "ets", "lookup", 2);
	raddr light = fragment("call_light_bif_shared") + 0x80,
	      guard = fragment("i_bif_body_shared");

	put_direct_call(t, ERLANG + 0x100, C_REVERSE);
	put_guard_call(t, ERLANG + 0x200, C_LENGTH, false);
	fakenode_atom(t->f, "lookup");
	for (uint64_t nth = 1; nth <= 6; nth++) {
		struct callsite_callee direct, by_export, by_caller;
		struct callsites *c;
		int known;

		c = callsites_open(n, t->jit);
		n->mem = mem_open_faulty(whole, 0, 0, nth);
		for (int again = 0; again < 2; again++) {
			const uint64_t none[3] = {0};

			callsite_target(c, ERLANG + 0x100, 0, 0, none, &direct);
			callsite_target(c, light, ERLANG, export, none, &by_export);
			callsite_target(c, guard + 0x80, ERLANG + 0x200, 0, none, &by_caller);
			known = (direct.mfa[0] != 0) + (by_export.mfa[0] != 0) +
				(by_caller.mfa[0] != 0);
			assert_in_range(known, again ? 3 : 2, 3);
		}
		assert_mfa(t, direct.mfa, "lists", "reverse", 2);
		assert_mfa(t, by_export.mfa, "ets", "lookup", 2);
		assert_mfa(t, by_caller.mfa, "erlang", "length", 1);
		mem_close(n->mem);
		n->mem = whole;
		callsites_close(c);
	}
}

/* Far more sites and exports than are remembered. */
static void test_bounds(void **state)
{
	struct site_test *t = *state;
	struct jitrec r = {0};
	struct callsite_callee out;
	const uint32_t size = 24 * 70000;
	raddr big = CODE + 0x1000000, light = fragment("call_light_bif_shared") + 0x80;
	uint64_t mfa[3];

	jitrec_module(&r, "big", big, size);
	jitrec_range(&r, "big:f/0", 0, size);
	load(t, &r);
	image_map(t->f->im, big, size);
	put_direct_call(t, ERLANG + 0x100, C_REVERSE);
	for (raddr at = 24; at < 24 + 2 * 70000; at += 2) {
		target(t, big + at, 0, 0, NULL, &out);
		assert_int_equal(out.function, 0);
	}
	target(t, ERLANG + 0x100, 0, 0, NULL, &out);
	assert_int_equal(out.function, C_REVERSE);
	fakenode_mfa(t->f, mfa, "m", "f", 3);
	for (raddr at = 0; at + 100 < size; at += 24)
		image_put(t->f->im, big + at + (raddr)t->f->node.layout.export_mfa % 24, mfa, 24);
	for (raddr at = 0; at + 200 < size; at += 24) {
		target(t, light, 0, big + at, NULL, &out);
		assert_mfa(t, out.mfa, "m", "f", 3);
	}
}

/* A call of `to` that returns to `ra`: directly, or by a jump of the module. */
static void put_call(struct image *im, raddr ra, raddr to)
{
	const uint8_t call = 0xe8;

	image_put(im, ra - 5, &call, 1);
	image_u32(im, ra - 4, (uint32_t)(to - ra));
}

static void test_stack_top(void **state)
{
	const uint8_t keeps[] = {0x48, 0x89, 0xec}, stores[] = {0x49, 0x8b, 0x65};
	const uint8_t jump[] = {0x40, 0xe9};
	struct site_test *t = *state;
	struct image *im = t->f->im;
	struct mem *mem = t->f->node.mem;
	raddr code = image_alloc(im, 4096), stack = image_alloc(im, 256);
	raddr c_stack = image_alloc(im, 1024) + 1000;
	const struct address_range block = {code, code + 0x400};
	raddr old = stack + 64, now = stack + 128, hend = stack + 256, ra = code + 0x220;

	image_put(im, ra, keeps, sizeof(keeps));
	put_call(im, code + 0x800, code + 0x100); /* another fragment */
	put_call(im, code + 0x900, code + 0xa00); /* that of ra, at 0x200, by a jump: */
	image_put(im, code + 0xa00, jump, sizeof(jump));
	image_u32(im, code + 0xa02, (uint32_t)(0x200 - 0xa06));
	image_u64(im, old, code + 0x800);
	image_u64(im, now, code + 0x900);
#define TOP(at, stop) callsite_stack_top(mem, &block, at, c_stack, stop, stack, hend)
	/* Nothing has saved it. */
	assert_true(TOP(ra, stack) == 0);
	assert_true(TOP(ra, now) == now);
	/* A register that the second function has saved. */
	image_u64(im, c_stack - 8 * 9, now);
	assert_true(TOP(ra, stack) == now);
	assert_true(TOP(ra, old) == now); /* left from a call of another fragment */
	assert_true(TOP(ra, now) == now);
	/* Left from such a call before this one. */
	image_u64(im, stack + 32, code + 0x900);
	assert_true(TOP(ra, stack + 32) == now);
	/* Called from anywhere else, or stored by the caller. */
	assert_true(TOP(code + 0x500, old) == old);
	image_put(im, ra, stores, sizeof(stores));
	assert_true(TOP(ra, old) == old);
#undef TOP
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_bif_table),	    TEST(test_no_bif_table),
		TEST(test_direct_call),	    TEST(test_other_calls),
		TEST(test_forget),	    TEST(test_light_bif),
		TEST(test_invalid_exports), TEST(test_current_function),
		TEST(test_guard_bif),	    TEST(test_kinds_of_sites_do_not_mix),
		TEST(test_faults),	    TEST(test_bounds),
		TEST(test_stack_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
