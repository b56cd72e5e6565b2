/* SPDX-License-Identifier: BSD-2-Clause */
/* target/code_match, code_reference and code_graph: names from a reference build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "target/code_graph.h"
#include "target/code_match.h"
#include "target/code_reference.h"

/* ---- graphs by hand -------------------------------------------------------------------------- */

static void add(struct code_graph *g, const char *name, uint64_t hash, uint32_t nr_insns,
		const uint32_t *callees, uint32_t nr)
{
	struct code_function f = {
		.addr = 0x1000 + 16 * g->functions.len,
		.name = arena_copy(&g->names, name),
		.hash = hash,
		.nr_insns = nr_insns,
		.nr_refs = nr + 2,
		.first_callee = (uint32_t)g->callees.len,
		.nr_callees = nr,
	};

	for (uint32_t i = 0; i < nr; i++)
		vec_push(&g->callees, callees[i]);
	vec_push(&g->functions, f);
}

#define ADD(g, name, hash, insns, ...)                                                             \
	add(g, name, hash, insns, (const uint32_t[]){__VA_ARGS__},                                 \
	    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void check(const struct code_graph *r, const struct code_graph *t, const uint32_t *expected)
{
	size_t nr, expected_nr = 0;
	uint32_t *found = code_match(r, t, &nr);

	for (size_t i = 0; i < t->functions.len; i++) {
		assert_int_equal(found[i], expected[i]);
		expected_nr += expected[i] != CODE_MATCH_NONE;
	}
	assert_int_equal(nr, expected_nr);
	free(found);
}

#define NONE CODE_MATCH_NONE

/* A function with unique code, small ones that it calls, which are equal to others, and one that
 * nothing identifies. */
static void test_callees(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "small_a", 7, 5);
	ADD(&r, "small_b", 7, 5);
	ADD(&r, "large", 1, 100, 0, 1);
	ADD(&r, "alone", 9, 4);
	ADD(&t, NULL, 1, 100, 2, 1);
	ADD(&t, NULL, 7, 5);
	ADD(&t, NULL, 7, 5);
	ADD(&t, NULL, 9, 4);
	check(&r, &t, (const uint32_t[]){2, 1, 0, NONE});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* Code that the executable has twice, or that differs, or that cannot be decoded, is not named; nor
 * is what is called at a place where the code of the callee differs. */
static void test_not_certain(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "twice", 1, 100);
	ADD(&r, "changed", 2, 100);
	ADD(&r, "odd", 0, 100);
	ADD(&r, "caller", 4, 100, 1);
	ADD(&t, NULL, 1, 100);
	ADD(&t, NULL, 1, 100);
	ADD(&t, NULL, 3, 100);
	ADD(&t, NULL, 0, 100);
	ADD(&t, NULL, 4, 100, 2);
	check(&r, &t, (const uint32_t[]){NONE, NONE, NONE, NONE, 3});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* One place says that a function is a, another that it is b: it gets no name. */
static void test_claims(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "a", 7, 5);
	ADD(&r, "b", 7, 5);
	ADD(&r, "calls_a", 1, 100, 0);
	ADD(&r, "calls_b", 2, 101, 1);
	ADD(&t, NULL, 7, 5);
	ADD(&t, NULL, 1, 100, 0);
	ADD(&t, NULL, 2, 101, 0);
	check(&r, &t, (const uint32_t[]){NONE, 2, 3});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* Functions with equal code between two known ones are those that lie there in the reference, but
 * not if their number differs, nor if two of them have the same code. */
static void test_order(void **state)
{
	struct code_graph r = {0}, t = {0}, more = {0};

	UNUSED(state);
	ADD(&r, "first", 1, 100);
	ADD(&r, "a", 7, 5, 4);
	ADD(&r, "b", 8, 5, 5);
	ADD(&r, "last", 2, 101);
	ADD(&r, "of_a", 3, 102);
	ADD(&r, "of_b", 4, 103);
	ADD(&t, NULL, 1, 100);
	ADD(&t, NULL, 7, 5, 4);
	ADD(&t, NULL, 8, 5, 5);
	ADD(&t, NULL, 2, 101);
	ADD(&t, NULL, 3, 102);
	ADD(&t, NULL, 4, 103);
	check(&r, &t, (const uint32_t[]){0, 1, 2, 3, 4, 5});
	r.functions.data[2].hash = t.functions.data[2].hash = 7;
	check(&r, &t, (const uint32_t[]){0, NONE, NONE, 3, 4, 5});
	ADD(&more, NULL, 1, 100);
	ADD(&more, NULL, 7, 5, 5);
	ADD(&more, NULL, 2, 101);
	ADD(&more, NULL, 9, 5);
	ADD(&more, NULL, 3, 102);
	ADD(&more, NULL, 4, 103);
	check(&r, &more, (const uint32_t[]){0, NONE, 3, NONE, 4, 5});
	code_graph_free(&r);
	code_graph_free(&t);
	code_graph_free(&more);
}

/* Where nearly all functions are matched it is the same build: order counts for twins, too, unless
 * what they call shows that they have changed places. */
static void test_same_build(void **state)
{
	struct code_graph r = {0}, t = {0}, swapped = {0};
	uint32_t expected[46];

	UNUSED(state);
	for (uint32_t i = 0; i < 44; i++) {
		ADD(&r, "some", 100 + i, 100 + i);
		ADD(&t, NULL, 100 + i, 100 + i);
		ADD(&swapped, NULL, 100 + i, 100 + i);
		if (i != 20)
			continue;
		ADD(&r, "a", 7, 5, 0);
		ADD(&r, "b", 7, 5, 1);
		ADD(&t, NULL, 7, 5, 0);
		ADD(&t, NULL, 7, 5, 1);
		ADD(&swapped, NULL, 7, 5, 1);
		ADD(&swapped, NULL, 7, 5, 0);
	}
	for (uint32_t i = 0; i < 46; i++)
		expected[i] = i;
	check(&r, &t, expected);
	expected[21] = expected[22] = NONE;
	check(&r, &swapped, expected);
	code_graph_free(&r);
	code_graph_free(&t);
	code_graph_free(&swapped);
}

/* Two functions that differ in a number only: in another release one may have the code that the
 * other had, so that unique code is no proof. */
static void test_alike(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "of_atom_1", 1, 100);
	ADD(&r, "of_atom_2", 2, 100);
	ADD(&t, NULL, 2, 100);
	ADD(&t, NULL, 3, 100);
	check(&r, &t, (const uint32_t[]){NONE, NONE});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* A function with a symbol shows that one with unique code is another: that name is dropped. */
static void test_contradiction(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "exported", 1, 100, 1);
	ADD(&r, "right", 2, 50);
	ADD(&r, "wrong", 3, 60);
	ADD(&t, "exported", 1, 100, 1);
	ADD(&t, NULL, 3, 60);
	check(&r, &t, (const uint32_t[]){0, NONE});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* A symbol is believed, whatever the code; one that two functions of the reference have is not. */
static void test_symbols(void **state)
{
	struct code_graph r = {0}, t = {0};

	UNUSED(state);
	ADD(&r, "known", 1, 100);
	ADD(&r, "init", 2, 10);
	ADD(&r, "init", 3, 10);
	ADD(&t, "known", 5, 100);
	ADD(&t, "init", 2, 10);
	check(&r, &t, (const uint32_t[]){0, NONE});
	code_graph_free(&r);
	code_graph_free(&t);
}

/* ---- reference files ------------------------------------------------------------------------- */

static size_t compress_text(const char *text, size_t len, uint8_t *out, size_t size)
{
	z_stream z = {.next_in = (Bytef *)text,
		      .avail_in = (uInt)len,
		      .next_out = out,
		      .avail_out = (uInt)size};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static int read_text(struct code_graph *g, const char *text, struct error *err)
{
	uint8_t data[4096];
	size_t size = compress_text(text, strlen(text), data, sizeof(data));

	return code_reference_read(g, data, size, err);
}

static void test_reference(void **state)
{
	struct code_graph g = {0}, again;
	struct strbuf text = STRBUF_INIT;
	struct error err;

	UNUSED(state);
	ADD(&g, "one", 0xfedcba9876543210u, 100, 2, 0);
	ADD(&g, NULL, 0, 5);
	ADD(&g, "two.part.0", 3, 10, 1);
	code_reference_write(&g, "a build", &text);
	assert_string_equal(text.buf, "# ebeam function reference 1: a build\n"
				      "fedcba9876543210 100 4 one 2 0\n"
				      "0 5 2 -\n"
				      "3 10 3 two.part.0 -1\n");
	assert_int_equal(read_text(&again, text.buf, &err), 0);
	assert_int_equal(again.functions.len, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct code_function *a = &g.functions.data[i], *b = &again.functions.data[i];

		assert_true(a->hash == b->hash && a->nr_insns == b->nr_insns &&
			    a->nr_refs == b->nr_refs && a->nr_callees == b->nr_callees &&
			    a->first_callee == b->first_callee);
		if (a->name)
			assert_string_equal(a->name, b->name);
		else
			assert_null(b->name);
	}
	assert_memory_equal(g.callees.data, again.callees.data, 3 * sizeof(uint32_t));
	code_graph_free(&g);
	code_graph_free(&again);
	strbuf_free(&text);
}

static void test_damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"# ebeam function reference 1: none\n",
		"# ebeam function reference 2: newer\n1 2 3 name\n",
		"# ebeam function reference 1: x\n1 2 name\n",
		"# ebeam function reference 1: x\n1 2 3 name 1\n",
		"# ebeam function reference 1: x\n1 2 3 name -1\n",
		"# ebeam function reference 1: x\n1 2 3 name zero\n",
		"# ebeam function reference 1: x\n1 2 3 name",
	};
	static const char good[] = "# ebeam function reference 1: x\n1 2 3 name 0\n";
	uint8_t data[4096];
	struct code_graph g;
	struct error err;
	size_t size;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(read_text(&g, texts[i], &err), -EINVAL);
		code_graph_free(&g);
	}
	assert_int_equal(read_text(&g, good, &err), 0);
	code_graph_free(&g);
	/* Cut anywhere, and with a byte that is another. */
	size = compress_text(good, strlen(good), data, sizeof(data));
	for (size_t i = 0; i < size; i++) {
		assert_int_equal(code_reference_read(&g, data, i, &err), -EINVAL);
		code_graph_free(&g);
	}
	data[size - 6] ^= 1; /* of the checksum */
	assert_int_equal(code_reference_read(&g, data, size, &err), -EINVAL);
	code_graph_free(&g);
}

/* ---- this program ---------------------------------------------------------------------------- */

__attribute__((noinline)) static int called_here(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

int test_code_match_caller(int n);
__attribute__((noinline)) int test_code_match_caller(int n)
{
	return called_here(n) + called_here(n + 1);
}

static size_t index_of(const struct code_graph *g, const char *name)
{
	for (size_t i = 0; i < g->functions.len; i++) {
		if (g->functions.data[i].name && strcmp(g->functions.data[i].name, name) == 0)
			return i;
	}
	fail_msg("no function %s", name);
	return 0;
}

/* The graph of this program has its functions and calls; it matches itself without its symbols. */
static void test_own_program(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct code_function *caller;
	struct code_graph g, bare;
	size_t callee, nr, right = 0;
	struct elf_file *elf;
	uint32_t *found;

	UNUSED(state);
	assert_int_equal(test_code_match_caller(1), 4 + 7);
	assert_int_equal(elf_file_open(&elf, fd, "self", NULL), 0);
	assert_int_equal(code_graph_read(&g, elf), 0);
	assert_int_equal(code_graph_read(&bare, elf), 0);
	caller = &g.functions.data[index_of(&g, "test_code_match_caller")];
	callee = index_of(&g, "called_here");
	nr = 0;
	for (uint32_t i = 0; i < caller->nr_callees; i++)
		nr += g.callees.data[caller->first_callee + i] == callee;
	assert_int_equal(nr, 2);
	assert_int_equal(code_graph_at(&g, caller->addr), index_of(&g, "test_code_match_caller"));
	assert_true(code_graph_at(&g, caller->addr + 1) == SIZE_MAX);
	for (size_t i = 0; i < bare.functions.len; i++)
		bare.functions.data[i].name = NULL;
	found = code_match(&g, &bare, &nr);
	for (uint32_t i = 0; i < bare.functions.len; i++) {
		assert_true(found[i] == CODE_MATCH_NONE || found[i] == i);
		right += found[i] == i;
	}
	assert_true(right > 100);
	free(found);
	code_graph_free(&g);
	code_graph_free(&bare);
	elf_file_close(elf);
}

/* Each stub of the PLT has the name of an import, once in each section. */
static void test_stubs(void **state)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	bool deflate = false;
	size_t named = 0;

	UNUSED(state);
	assert_int_equal(elf_file_open(&elf, fd, "self", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		const struct elf_section *s = elf_file_section(elf, sections[i]);

		for (uint64_t at = s ? s->addr : 0; s && at < s->addr + s->size; at += 8) {
			struct elf_symbol stub, inside;

			if (!elf_file_stub_at(elf, at, &stub))
				continue;
			named++;
			assert_true(stub.addr <= at && at < stub.addr + stub.size);
			assert_true(elf_file_stub_at(elf, stub.addr + 5, &inside));
			assert_string_equal(inside.name, stub.name);
			deflate |= strcmp(stub.name, "deflateInit2_") == 0;
		}
	}
	assert_true(deflate && named > 10); /* test_reference() calls it */
	elf_file_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callees),	      cmocka_unit_test(test_not_certain),
		cmocka_unit_test(test_claims),	      cmocka_unit_test(test_order),
		cmocka_unit_test(test_same_build),    cmocka_unit_test(test_alike),
		cmocka_unit_test(test_contradiction), cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_reference),     cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_own_program),   cmocka_unit_test(test_stubs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
