/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of the interpreter by address: from the module tables and code headers of a made-up node. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/code/jit.h"
#include "lib/fakenode.h"

#define CODE_SIZE 0x400
#define STEP	  0x100 /* function i has its ErtsCodeInfo at STEP * (i + 1) */
#define NR	  2
#define CODE_INFO 40

struct world {
	struct fakenode *f;
	const struct beam_layout *l;
	raddr module, code, old;
	struct jit_code *j;
};

static raddr put_code(struct world *w, const char *module, const char *const functions[NR],
		      uint64_t nr)
{
	raddr code = image_alloc(w->f->im, CODE_SIZE);
	raddr at = code + (raddr)w->l->code_header_functions;
	uint64_t mfa[3];

	image_u64(w->f->im, code + (raddr)w->l->code_header_num_functions, nr);
	for (int i = 0; i < NR; i++) {
		raddr info = code + STEP * (raddr)(i + 1);

		fakenode_mfa(w->f, mfa, module, functions[i], (uint64_t)i + 1);
		image_put(w->f->im, info + (raddr)w->l->code_info_mfa, mfa, sizeof(mfa));
		image_u64(w->f->im, at + 8 * (raddr)i, info);
	}
	image_u64(w->f->im, at + 8 * NR, code + STEP * (raddr)(NR + 1)); /* their end */
	return code;
}

static void put_instance(struct world *w, int32_t instance, raddr code)
{
	raddr at = w->module + (raddr)instance;

	image_u64(w->f->im, at + (raddr)w->l->module_instance_code_hdr, code);
	image_u32(w->f->im, at + (raddr)w->l->module_instance_code_length, code ? CODE_SIZE : 0);
}

/* One module, in the second of the three tables. */
static void put_table(struct world *w)
{
	size_t size = (size_t)w->l->index_table_size;
	raddr tables = image_alloc(w->f->im, 3 * size), table = tables + size;
	raddr seg_table = image_alloc(w->f->im, 8), segment = image_alloc(w->f->im, 8 * 1024);
	raddr name = image_alloc(w->f->im, sizeof("module_code"));

	image_put(w->f->im, name, "module_code", sizeof("module_code"));
	image_u64(w->f->im, table + (raddr)w->l->index_table_name, name);
	image_u32(w->f->im, table + (raddr)w->l->index_table_shift, 58);
	image_u32(w->f->im, table + (raddr)w->l->index_table_slots, 1024);
	image_u32(w->f->im, table + (raddr)w->l->index_table_entries, 1);
	image_u64(w->f->im, table + (raddr)w->l->index_table_seg_table, seg_table);
	image_u64(w->f->im, seg_table, segment);
	image_u64(w->f->im, segment, w->module);
	w->f->node.anchors.module_code = tables;
	w->f->node.anchors.active_code_ix = image_alloc(w->f->im, 4);
	image_u32(w->f->im, w->f->node.anchors.active_code_ix, 1);
}

static void open_world(struct world *w, int otp, uint64_t nr)
{
	static const char *const functions[NR] = {"map", "it's a \\ name"};
	struct error err;

	*w = (struct world){.f = fakenode_open(otp)};
	w->l = &w->f->node.layout;
	w->f->node.identity.jit = false;
	w->module = image_alloc(w->f->im, (size_t)w->l->module_size);
	image_u32(w->f->im, w->module + (raddr)w->l->module_module,
		  (uint32_t)(fakenode_atom(w->f, "lists") >> 6));
	w->code = put_code(w, "lists", functions, nr);
	w->old = put_code(w, "lists", functions, NR);
	put_instance(w, w->l->module_curr, w->code);
	put_instance(w, w->l->module_old, w->old);
	put_table(w);
	assert_true(jit_is_known(&w->f->node));
	jit_open_node(&w->j, &w->f->node);
	assert_int_equal(jit_sync(w->j, &err), 0);
}

static void close_world(struct world *w)
{
	jit_close(w->j);
	fakenode_close(w->f);
}

static void assert_function(const struct world *w, raddr addr, const char *name, raddr start)
{
	struct jit_function f;

	assert_true(jit_find(w->j, addr, &f));
	assert_int_equal(f.name_len, strlen(name));
	assert_memory_equal(f.name, name, f.name_len);
	assert_int_equal(f.start, start);
	assert_false(f.fragment || f.preamble);
	assert_int_equal(f.module_len, 5);
	assert_memory_equal(f.module, "lists", 5);
}

static void functions(void **state)
{
	struct jit_function f;
	struct world w;

	UNUSED(state);
	for (int otp = 24; otp <= 29; otp++) {
		open_world(&w, otp, NR);
		assert_int_equal(jit_modules(w.j), 2);
		assert_function(&w, w.code + STEP + CODE_INFO, "lists:map/1",
				w.code + STEP + CODE_INFO);
		assert_function(&w, w.code + 2 * STEP - 1, "lists:map/1",
				w.code + STEP + CODE_INFO);
		assert_function(&w, w.old + 2 * STEP + CODE_INFO, "lists:'it\\'s a \\\\ name'/2",
				w.old + 2 * STEP + CODE_INFO);
		/* The header, and what stands between the functions. */
		assert_false(jit_find(w.j, w.code, &f));
		assert_false(jit_find(w.j, w.code + 2 * STEP, &f));
		assert_false(jit_find(w.j, w.code + 3 * STEP, &f));
		close_world(&w);
	}
}

/* Code that stays is the same code; code that is purged and loaded is another. */
static void changes(void **state)
{
	static const char *const other[NR] = {"fold", "zip"};
	struct error err;
	uint32_t kept;
	struct world w;
	raddr code;

	UNUSED(state);
	open_world(&w, 27, NR);
	kept = jit_serial(w.j, w.code + STEP);
	assert_int_not_equal(kept, 0);
	code = put_code(&w, "lists", other, NR);
	put_instance(&w, w.l->module_curr, code);
	put_instance(&w, w.l->module_old, w.code);
	assert_int_equal(jit_sync(w.j, &err), 0);
	assert_int_equal(jit_serial(w.j, w.code + STEP), kept);
	assert_function(&w, code + 2 * STEP + CODE_INFO, "lists:zip/2",
			code + 2 * STEP + CODE_INFO);
	/* Other code at the same address. */
	image_put(w.f->im, w.code + STEP + (raddr)w.l->code_info_mfa + 8,
		  &(uint64_t){fakenode_atom(w.f, "sort")}, 8);
	assert_int_equal(jit_sync(w.j, &err), 0);
	assert_int_not_equal(jit_serial(w.j, w.code + STEP), kept);
	assert_function(&w, w.code + STEP + CODE_INFO, "lists:sort/1", w.code + STEP + CODE_INFO);
	close_world(&w);
}

/* A header that is not one has no functions, and the rest is known all the same. */
static void nonsense(void **state)
{
	static const uint64_t numbers[] = {0, 1ull << 20, 1ull << 40, UINT64_MAX};
	struct jit_function f;
	struct world w;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		open_world(&w, 29, numbers[i]);
		assert_false(jit_find(w.j, w.code + STEP + CODE_INFO, &f));
		assert_true(jit_find(w.j, w.old + STEP + CODE_INFO, &f));
		close_world(&w);
	}
	open_world(&w, 25, NR);
	w.f->node.anchors.active_code_ix = 0;
	assert_false(jit_is_known(&w.f->node));
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(changes),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
