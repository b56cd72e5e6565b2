/* SPDX-License-Identifier: BSD-2-Clause */
/* Old code: which there is, in tables as OTP 25, 27 and 29 have them, and who still runs it; tables
 * that cannot be, and stacks of anything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/process/old_code.h"
#include "lib/fakenode.h"

#define CURRENT 0x7d0000000000ull
#define OLD_A	0x7d0000100000ull /* a's, 0x200 long */
#define OLD_B	0x7d0000100200ull /* b's, right behind it, 0x100 long */
#define HOLE	0x7d0000100300ull
#define OLD_D	0x7d0000200000ull /* d's, of which there is no newer one */

static const int releases[] = {24, 25, 27, 29};

struct world {
	struct fakenode *f;
	const struct beam_layout *l;
	raddr modules[4], tables, code_ix;
	struct old_code o;
};

static raddr add_module(struct world *w, const char *name, raddr code, raddr old, uint32_t old_size)
{
	raddr m = image_alloc(w->f->im, (size_t)w->l->module_size);
	raddr curr_at = m + (raddr)w->l->module_curr, old_at = m + (raddr)w->l->module_old;

	image_u32(w->f->im, m + (raddr)w->l->module_module,
		  (uint32_t)(fakenode_atom(w->f, name) >> 6));
	image_u64(w->f->im, curr_at + (raddr)w->l->module_instance_code_hdr, code);
	image_u32(w->f->im, curr_at + (raddr)w->l->module_instance_code_length, code ? 0x100 : 0);
	image_u64(w->f->im, old_at + (raddr)w->l->module_instance_code_hdr, old);
	image_u32(w->f->im, old_at + (raddr)w->l->module_instance_code_length, old_size);
	return m;
}

static void set_old(struct world *w, uint32_t i, raddr old, uint32_t size)
{
	raddr at = w->modules[i] + (raddr)w->l->module_old;

	image_u64(w->f->im, at + (raddr)w->l->module_instance_code_hdr, old);
	image_u32(w->f->im, at + (raddr)w->l->module_instance_code_length, size);
}

static void add_table(struct world *w, raddr table, uint32_t nr)
{
	raddr seg_table = image_alloc(w->f->im, 8), segment = image_alloc(w->f->im, 8 * 1024);
	raddr name = image_alloc(w->f->im, 16);

	image_put(w->f->im, name, "module_code", 12);
	image_u64(w->f->im, table + (raddr)w->l->index_table_name, name);
	image_u32(w->f->im, table + (raddr)w->l->index_table_shift, 58);
	image_u32(w->f->im, table + (raddr)w->l->index_table_slots, 1024);
	image_u32(w->f->im, table + (raddr)w->l->index_table_entries, nr);
	image_u64(w->f->im, table + (raddr)w->l->index_table_seg_table, seg_table);
	image_u64(w->f->im, seg_table, segment);
	for (uint32_t i = 0; i < nr; i++)
		image_u64(w->f->im, segment + 8 * (raddr)i, w->modules[i]);
}

/* Table 2 is in use. */
static void enter(struct world *w, int otp)
{
	size_t size;

	memset(w, 0, sizeof(*w));
	w->f = fakenode_open(otp);
	w->l = &w->f->node.layout;
	size = (size_t)w->l->index_table_size;
	w->modules[0] = add_module(w, "b", CURRENT, OLD_B, 0x100);
	w->modules[1] = add_module(w, "d", 0, OLD_D, 0x400);
	w->modules[2] = add_module(w, "c", CURRENT + 0x1000, 0, 0);
	w->modules[3] = add_module(w, "a", CURRENT + 0x2000, OLD_A, 0x200);
	w->tables = image_alloc(w->f->im, 3 * size);
	add_table(w, w->tables, 0);
	add_table(w, w->tables + size, 0);
	add_table(w, w->tables + 2 * size, 4);
	w->code_ix = image_alloc(w->f->im, 8);
	image_u32(w->f->im, w->code_ix, 2);
	w->f->node.anchors.module_code = w->tables;
	w->f->node.anchors.active_code_ix = w->code_ix;
}

static void leave(struct world *w)
{
	old_code_free(&w->o);
	fakenode_close(w->f);
}

static void again(struct world *w)
{
	old_code_free(&w->o);
	assert_int_equal(old_code_read(&w->o, &w->f->node, NULL), 0);
}

static void visit(struct world *w, uint32_t process, raddr i, const uint64_t *words, size_t nr)
{
	struct process_stack s = {.i = i};

	for (size_t k = 0; k < nr; k++)
		vec_push(&s.words, words[k]);
	old_code_visit(&w->o, process, &s);
	process_stack_free(&s);
}
#define VISIT(w, process, i, ...)                                                                  \
	visit(w, process, i, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void check_use(const struct world *w, size_t i, uint32_t process, const char *module)
{
	assert_true(i < w->o.uses.len);
	assert_int_equal(w->o.uses.data[i].process, process);
	assert_int_equal(w->o.modules.data[w->o.uses.data[i].module].name,
			 fakenode_atom(w->f, module));
}

/* ---- what there is -------------------------------------------------------------------------- */

static void test_read(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;

		enter(&w, releases[i]);
		again(&w);
		assert_int_equal(w.o.modules.len, 3);
		assert_int_equal(w.o.modules.data[0].name, fakenode_atom(w.f, "a"));
		assert_int_equal(w.o.modules.data[0].start, OLD_A);
		assert_int_equal(w.o.modules.data[0].end, OLD_A + 0x200);
		assert_int_equal(w.o.modules.data[2].name, fakenode_atom(w.f, "d"));
		assert_int_equal(w.o.low, OLD_A);
		assert_int_equal(w.o.high, OLD_D + 0x400);
		assert_int_equal(w.o.uses.len, 0);
		image_u32(w.f->im, w.code_ix, 1); /* another table */
		again(&w);
		assert_int_equal(w.o.modules.len, 0);
		VISIT(&w, 0, OLD_A, OLD_A, 0, UINT64_MAX & ~3ull);
		assert_int_equal(w.o.uses.len, 0);
		leave(&w);
	}
}

static void test_not_there(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct error err = {0};
		struct world w;

		enter(&w, releases[i]);
		image_u32(w.f->im, w.code_ix, 3);
		assert_true(old_code_read(&w.o, &w.f->node, &err) < 0);
		assert_int_not_equal(err.code, 0);
		image_unmap(w.f->im, w.code_ix);
		assert_true(old_code_read(&w.o, &w.f->node, NULL) < 0);
		w.f->node.anchors.active_code_ix = 0;
		memset(&err, 0, sizeof(err));
		assert_true(old_code_read(&w.o, &w.f->node, &err) < 0);
		assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
		VISIT(&w, 0, OLD_A, OLD_B); /* nothing is known, nothing is found */
		assert_int_equal(w.o.modules.len + w.o.uses.len, 0);
		leave(&w);
	}
}

/* Entries that cannot be, or whose code would wrap round, are left out. */
static void test_damaged(void **state)
{
	struct world w;

	UNUSED(state);
	enter(&w, 27);
	set_old(&w, 3, UINT64_MAX - 7, 0x200);
	set_old(&w, 0, OLD_B + 1, 0x100); /* no such header */
	set_old(&w, 1, OLD_D, UINT32_MAX);
	again(&w);
	assert_int_equal(w.o.modules.len, 0);
	VISIT(&w, 0, UINT64_MAX - 3, 0, OLD_B + 4, OLD_D + 4);
	assert_int_equal(w.o.uses.len, 0);
	set_old(&w, 3, UINT64_MAX - 7, 0); /* nothing of it to run */
	set_old(&w, 0, OLD_B, 0x100);
	again(&w);
	VISIT(&w, 5, UINT64_MAX - 7, UINT64_MAX - 7, OLD_B);
	assert_int_equal(w.o.uses.len, 1);
	check_use(&w, 0, 5, "b");
	image_unmap(w.f->im, w.modules[0]); /* one that cannot be read */
	again(&w);
	VISIT(&w, 5, OLD_B, OLD_B);
	assert_int_equal(w.o.uses.len, 0);
	leave(&w);
}

/* ---- who runs it ---------------------------------------------------------------------------- */

static void test_bounds(void **state)
{
	static const struct {
		raddr i;
		const char *module; /* NULL = none */
	} cases[] = {
		{OLD_A - 1, NULL},
		{OLD_A, "a"},
		{OLD_A + 0x1ff, "a"},
		{OLD_B, "b"},
		{OLD_B + 0xff, "b"},
		{HOLE, NULL},
		{OLD_D - 1, NULL},
		{OLD_D + 0x3ff, "d"},
		{OLD_D + 0x400, NULL},
		{CURRENT + 0x2004, NULL},
		{0, NULL},
		{UINT64_MAX, NULL},
	};
	struct world w;

	UNUSED(state);
	enter(&w, 29);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		again(&w);
		visit(&w, 9, cases[i].i, NULL, 0);
		assert_int_equal(w.o.uses.len, cases[i].module != NULL);
		if (cases[i].module)
			check_use(&w, 0, 9, cases[i].module);
	}
	leave(&w);
}

static void test_stacks(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;

		enter(&w, releases[i]);
		again(&w);
		VISIT(&w, 1, CURRENT, 0x3b, OLD_B + 4, 0xf, HOLE, OLD_B + 8, OLD_A + 4, 0);
		VISIT(&w, 2, CURRENT, OLD_B | 1, OLD_B | 2, OLD_B | 3); /* terms, no addresses */
		VISIT(&w, 3, OLD_D + 0x11, OLD_B, OLD_D); /* where it goes on may be odd */
		VISIT(&w, 3, OLD_D, 0);			  /* visited twice: used twice */
		assert_int_equal(w.o.uses.len, 5);
		check_use(&w, 0, 1, "b"); /* as they are met, once each */
		check_use(&w, 1, 1, "a");
		check_use(&w, 2, 3, "d");
		check_use(&w, 3, 3, "b");
		check_use(&w, 4, 3, "d");
		assert_int_equal(w.o.modules.data[0].processes, 1);
		assert_int_equal(w.o.modules.data[1].processes, 2);
		assert_int_equal(w.o.modules.data[2].processes, 2);
		leave(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),	cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
