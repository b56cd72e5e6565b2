/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocators, modules and the sums of erlang:memory/0, over a made-up node laid out as OTP 25, 27
 * and 29 lay theirs out; and what is left of them when pointers, numbers and sizes are nonsense.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/code/modules.h"
#include "beam/vm/memory.h"
#include "lib/fakenode.h"

static const int releases[] = {24, 25, 27, 29};

#define NR_INFO	 13
#define EHEAP	 6
#define ETS	 7
#define FIX	 8
#define LITERAL	 9
#define BINARY	 10
#define FIX_SIZE 64

struct world {
	struct fakenode *f;
	struct beam_node *n;
	const struct beam_layout *l;
	raddr info;
	raddr instance[NR_INFO][3]; /* Allctr_t */
	raddr spec[NR_INFO], array[NR_INFO];
	raddr fix, module_tables, modules[4];
};

static raddr put_string(struct world *w, const char *text)
{
	raddr at = image_alloc(w->f->im, strlen(text) + 1);

	image_put(w->f->im, at, text, strlen(text) + 1);
	return at;
}

/* ---- making allocators ---------------------------------------------------------------------- */

static raddr put_instance(struct world *w, uint32_t number, uint32_t ix, const char *prefix)
{
	raddr a = image_alloc(w->f->im, (size_t)w->l->allctr_size);

	image_u64(w->f->im, a + (raddr)w->l->allctr_name_prefix, put_string(w, prefix));
	image_u32(w->f->im, a + (raddr)w->l->allctr_alloc_no, number);
	image_u32(w->f->im, a + (raddr)w->l->allctr_ix, ix);
	w->instance[number][ix] = a;
	return a;
}

/* Blocks of a type in the instance's own carriers. */
static void put_blocks(struct world *w, raddr a, int32_t blocks, uint32_t type, uint64_t nr,
		       uint64_t size)
{
	raddr at = a + (raddr)blocks + (type - 1) * 48;

	image_u64(w->f->im, at, nr);
	image_u64(w->f->im, at + 8, size);
	image_u64(w->f->im, at + 24, nr + 1000); /* max: not to be counted */
}

static void put_carriers(struct world *w, raddr a, int32_t stats, unsigned int kind, uint64_t nr,
			 uint64_t size)
{
	image_u64(w->f->im, a + (raddr)stats + 16 * (raddr)kind, nr);
	image_u64(w->f->im, a + (raddr)stats + 16 * (raddr)kind + 8, size);
}

/* With an instance for each of two schedulers, and a shared one. */
static void put_allocator(struct world *w, uint32_t number, const char *prefix)
{
	raddr e = w->info + number * (raddr)ALLOCATOR_INFO_SIZE;

	w->spec[number] = image_alloc(w->f->im, ALLOCATOR_SPEC_SIZE);
	w->array[number] = image_alloc(w->f->im, 3 * 8);
	image_u32(w->f->im, e + ALLOCATOR_INFO_UTIL, 1);
	image_u32(w->f->im, e + ALLOCATOR_INFO_ENABLED, 1);
	image_u32(w->f->im, e + ALLOCATOR_INFO_THR_SPEC, 3);
	image_u64(w->f->im, e + ALLOCATOR_INFO_EXTRA, w->spec[number]);
	image_u32(w->f->im, w->spec[number] + ALLOCATOR_SPEC_NUMBER, number);
	image_u32(w->f->im, w->spec[number] + ALLOCATOR_SPEC_INSTANCES, 3);
	image_u64(w->f->im, w->spec[number] + ALLOCATOR_SPEC_ARRAY, w->array[number]);
	for (uint32_t i = 0; i < 3; i++)
		image_u64(w->f->im, w->array[number] + 8 * (raddr)i,
			  put_instance(w, number, i, prefix));
}

static void put_single(struct world *w, uint32_t number, const char *prefix)
{
	raddr e = w->info + number * (raddr)ALLOCATOR_INFO_SIZE;

	image_u32(w->f->im, e + ALLOCATOR_INFO_UTIL, 1);
	image_u32(w->f->im, e + ALLOCATOR_INFO_ENABLED, 1);
	image_u64(w->f->im, e + ALLOCATOR_INFO_EXTRA, put_instance(w, number, 0, prefix));
}

/* 15 kinds; of the first, the process, 3 are allocated and 2 in use, freed by another instance. */
static void put_fix(struct world *w)
{
	static const uint64_t kinds = 15;

	w->fix = image_alloc(w->f->im, kinds * FIX_SIZE);
	for (raddr i = 0; i < kinds; i++)
		image_u64(w->f->im, w->fix + i * FIX_SIZE,
			  i == 0 ? (uint64_t)w->l->process_size : 8 * (i + 1));
	for (raddr i = 0; i < 3; i++) {
		raddr a = w->instance[FIX][i];
		raddr fix = i == 0 ? w->fix : image_alloc(w->f->im, kinds * FIX_SIZE);

		for (raddr k = 0; i > 0 && k < kinds; k++)
			image_u64(w->f->im, fix + k * FIX_SIZE,
				  k == 0 ? (uint64_t)w->l->process_size : 8 * (k + 1));
		image_u64(w->f->im, a + (raddr)w->l->allctr_fix, fix);
		image_u64(w->f->im, a + (raddr)w->l->allctr_cpool_util_limit, 60);
		/* Shared: -1 of the process, as one of another instance was freed here. */
		image_u64(w->f->im, fix + 32, i == 0 ? (uint64_t)-1 : 2);
		image_u64(w->f->im, fix + 40, i == 0 ? (uint64_t)-2 : 2);
		image_u64(w->f->im, fix + 1 * FIX_SIZE + 32, 100); /* not of processes */
		image_u64(w->f->im, fix + 11 * FIX_SIZE + 32, 1);  /* monitor */
		image_u64(w->f->im, fix + 11 * FIX_SIZE + 40, 1);
	}
}

static void put_allocators(struct world *w)
{
	const struct beam_layout *l = w->l;
	raddr a;

	w->info = image_alloc(w->f->im, NR_INFO * ALLOCATOR_INFO_SIZE);
	image_u32(w->f->im, w->info + ALLOCATOR_INFO_SIZE + ALLOCATOR_INFO_ENABLED, 1);
	put_allocator(w, 2, "temp_");
	put_allocator(w, 3, "sl_");
	put_allocator(w, 4, "std_");
	put_allocator(w, 5, "ll_");
	put_allocator(w, EHEAP, "eheap_");
	put_allocator(w, ETS, "ets_");
	put_allocator(w, FIX, "fix_");
	put_single(w, LITERAL, "literal_");
	put_allocator(w, BINARY, "binary_");
	put_allocator(w, 11, "driver_");
	a = w->instance[EHEAP][1];
	put_blocks(w, a, l->allctr_mbcs_blocks, EHEAP, 3, 3000);
	put_blocks(w, a, l->allctr_sbcs_blocks, EHEAP, 1, 50000);
	put_carriers(w, a, l->allctr_mbcs, 0, 1, 32768);
	put_carriers(w, a, l->allctr_mbcs, 1, 2, 8192);
	put_carriers(w, a, l->allctr_sbcs, 0, 1, 65536);
	/* In a carrier of eheap_alloc lies a table of ETS. */
	put_blocks(w, a, l->allctr_mbcs_blocks, ETS, 2, 200);
	a = w->instance[ETS][2];
	put_blocks(w, a, l->allctr_mbcs_blocks, ETS, 5, 500);
	image_u64(w->f->im, a + (raddr)l->allctr_cpool_blocks + 8 * (ETS - 1), 7);
	image_u64(w->f->im, a + (raddr)l->allctr_cpool_blocks_size + 8 * (ETS - 1), 700);
	image_u64(w->f->im, a + (raddr)l->allctr_cpool_carriers, 1);
	image_u64(w->f->im, a + (raddr)l->allctr_cpool_carriers_size, 4096);
	put_blocks(w, w->instance[BINARY][0], l->allctr_sbcs_blocks, BINARY, 1, 11);
	put_fix(w);
	w->n->anchors.allocators = w->info;
}

/* ---- making tables -------------------------------------------------------------------------- */

/* An IndexTable of objects; 64 buckets, slots for 1024. */
static void put_table(struct world *w, raddr table, const char *name, const raddr *objects,
		      uint32_t nr)
{
	raddr seg_table = image_alloc(w->f->im, 8), segment = image_alloc(w->f->im, 8 * 1024);

	image_u64(w->f->im, table + (raddr)w->l->index_table_name, put_string(w, name));
	image_u32(w->f->im, table + (raddr)w->l->index_table_shift, 58);
	image_u32(w->f->im, table + (raddr)w->l->index_table_slots, nr ? 1024 : 0);
	image_u32(w->f->im, table + (raddr)w->l->index_table_entries, nr);
	image_u64(w->f->im, table + (raddr)w->l->index_table_seg_table, seg_table);
	image_u64(w->f->im, seg_table, segment);
	for (uint32_t i = 0; i < nr; i++)
		image_u64(w->f->im, segment + 8 * (raddr)i, objects[i]);
}

static uint64_t table_bytes(const char *name, uint32_t slots)
{
	return 128 + 8 * 64 + strlen(name) + 1 + 8ull * slots;
}

static raddr put_code(struct world *w, uint64_t functions, uint8_t md5)
{
	raddr code = image_alloc(w->f->im, (size_t)w->l->code_header_functions);
	raddr md5_at = image_alloc(w->f->im, MODULE_MD5_SIZE);
	uint8_t bytes[MODULE_MD5_SIZE];

	memset(bytes, md5, sizeof(bytes));
	image_put(w->f->im, md5_at, bytes, sizeof(bytes));
	image_u64(w->f->im, code + (raddr)w->l->code_header_num_functions, functions);
	image_u64(w->f->im, code + (raddr)w->l->code_header_md5_ptr, md5_at);
	return code;
}

static raddr put_module(struct world *w, const char *name, raddr code, uint32_t size, raddr old,
			uint32_t old_size)
{
	const struct beam_layout *l = w->l;
	raddr m = image_alloc(w->f->im, (size_t)l->module_size);
	raddr curr_at = m + (raddr)l->module_curr, old_at = m + (raddr)l->module_old;

	image_u32(w->f->im, m + (raddr)l->module_module,
		  (uint32_t)(fakenode_atom(w->f, name) >> 6));
	image_u64(w->f->im, curr_at + (raddr)l->module_instance_code_hdr, code);
	image_u32(w->f->im, curr_at + (raddr)l->module_instance_code_length, size);
	image_u64(w->f->im, old_at + (raddr)l->module_instance_code_hdr, old);
	image_u32(w->f->im, old_at + (raddr)l->module_instance_code_length, old_size);
	return m;
}

/* Table 1 is in use: lists, an old version of b, a module with only old code, a stub. */
static void put_modules(struct world *w)
{
	size_t size = (size_t)w->l->index_table_size;
	raddr lists = put_code(w, 12, 0xaa), b = put_code(w, 3, 0xbb);
	raddr old = put_code(w, 2, 0xcc);

	w->modules[0] = put_module(w, "lists", lists, 5000, 0, 0);
	w->modules[1] = put_module(w, "b", b, 300, old, 200);
	w->modules[2] = put_module(w, "a", 0, 0, old, 100);
	w->modules[3] = put_module(w, "stub", 0, 0, 0, 0);
	image_u64(w->f->im,
		  w->modules[0] + (raddr)w->l->module_curr + (raddr)w->l->module_instance_nif,
		  w->info);
	w->module_tables = image_alloc(w->f->im, 3 * size);
	put_table(w, w->module_tables, "module_code", w->modules, 1);
	put_table(w, w->module_tables + size, "module_code", w->modules, 4);
	put_table(w, w->module_tables + 2 * size, "module_code", w->modules, 0);
	w->n->anchors.module_code = w->module_tables;
	w->n->anchors.active_code_ix = image_alloc(w->f->im, 8);
	image_u32(w->f->im, w->n->anchors.active_code_ix, 1);
}

/* Three tables over objects A, B and C: some are in several of them. */
static raddr put_staged(struct world *w, const char *name)
{
	static const uint32_t counts[] = {2, 3, 1};
	size_t size = (size_t)w->l->index_table_size;
	raddr tables = image_alloc(w->f->im, 3 * size), objects[3];

	for (int i = 0; i < 3; i++)
		objects[i] = image_alloc(w->f->im, 128);
	for (int t = 0; t < 3; t++) {
		raddr entries[3];

		for (uint32_t i = 0; i < counts[t]; i++) {
			entries[i] = image_alloc(w->f->im, 32);
			image_u64(w->f->im, entries[i] + 24, objects[i]);
		}
		put_table(w, tables + (raddr)t * size, name, entries, counts[t]);
	}
	return tables;
}

static void put_rest(struct world *w)
{
	struct beam_anchors *a = &w->n->anchors;
	raddr atoms = a->atom_table;

	image_u64(w->f->im, atoms + (raddr)w->l->index_table_name, put_string(w, "atom_tab"));
	image_u32(w->f->im, atoms + (raddr)w->l->index_table_shift, 58);
	image_u32(w->f->im, atoms + (raddr)w->l->index_table_slots, 1024);
	image_u32(w->f->im, a->proc_tab + (raddr)w->l->ptab_max, 1024);
	image_u64(w->f->im, a->proc_tab + (raddr)w->l->ptab_free_id_data, w->info);
	a->ets_misc = image_alloc(w->f->im, 8);
	image_u64(w->f->im, a->ets_misc, 131072);
	a->code_ranges = image_alloc(w->f->im, 3 * 32);
	image_u64(w->f->im, a->code_ranges + 16, 100);
	image_u64(w->f->im, a->code_ranges + 32 + 16, 10);
	if (w->n->identity.otp < 28) {
		a->export_table = put_staged(w, "export_list");
		a->fun_table = image_alloc(w->f->im, 128);
		image_u64(w->f->im, a->fun_table + (raddr)w->l->index_table_name,
			  put_string(w, "fun_table"));
		image_u32(w->f->im, a->fun_table + (raddr)w->l->index_table_shift, 60);
		a->code_size = image_alloc(w->f->im, 8);
		image_u64(w->f->im, a->code_size, 5600);
	} else {
		a->staged_exports = put_staged(w, "export_staged_index");
		a->staged_funs = put_staged(w, "fun_staged_index");
	}
}

static struct world make(int otp)
{
	struct world w = {.f = fakenode_open(otp)};

	w.n = &w.f->node;
	w.l = &w.n->layout;
	put_allocators(&w);
	put_modules(&w);
	put_rest(&w);
	return w;
}

static void unmake(struct world *w)
{
	fakenode_close(w->f);
}

/* ---- allocators ----------------------------------------------------------------------------- */

static const struct allocator *row(const struct allocators *a, const char *type, uint32_t ix)
{
	for (size_t i = 0; i < a->v.len; i++)
		if (strcmp(a->v.data[i].type, type) == 0 && a->v.data[i].instance == ix)
			return &a->v.data[i];
	fail_msg("no %s %u", type, ix);
	return NULL;
}

static void test_allocators(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		const struct allocator *r;
		struct allocators a;

		assert_int_equal(allocators_read(&a, w.n, NULL), 0);
		assert_int_equal(a.v.len, 9 * 3 + 1);
		assert_false(a.disabled);
		assert_int_equal(a.unreadable, 0);
		r = row(&a, "eheap_alloc", 1);
		assert_int_equal(r->blocks, 6);
		assert_int_equal(r->blocks_size, 53200);
		assert_int_equal(r->carriers, 4);
		assert_int_equal(r->carriers_size, 32768 + 8192 + 65536);
		r = row(&a, "ets_alloc", 2);
		assert_int_equal(r->blocks, 12);
		assert_int_equal(r->blocks_size, 1200);
		assert_int_equal(r->pool.carriers, 1);
		assert_int_equal(r->carriers_size, 4096);
		assert_int_equal(row(&a, "literal_alloc", 0)->address, w.instance[LITERAL][0]);
		assert_int_equal(allocators_blocks_size(&a, "ets_alloc"), 1400);
		assert_int_equal(allocators_blocks_size(&a, "eheap_alloc"), 53000);
		assert_int_equal(allocators_blocks_size(&a, NULL), 53200 + 1200 + 11);
		/* 2 + 2 - 1 processes and three monitors; 2 + 2 - 2 of them in use. */
		assert_true(a.has_fix);
		assert_int_equal(a.fix.allocated, 3 * (uint64_t)w.l->process_size + 3 * 96);
		assert_int_equal(a.fix.used, 2 * (uint64_t)w.l->process_size + 3 * 96);
		allocators_free(&a);
		unmake(&w);
	}
}

/* Without migration the same numbers stand elsewhere. */
static void test_fix_without_pool(void **state)
{
	(void)state;
	struct world w = make(27);
	struct allocators a;

	for (raddr i = 0; i < 3; i++)
		image_u64(w.f->im, w.instance[FIX][i] + (raddr)w.l->allctr_cpool_util_limit, 0);
	for (raddr i = 0; i < 15; i++) {
		image_u64(w.f->im, w.fix + i * FIX_SIZE + 40, 0);
		image_u64(w.f->im, w.fix + i * FIX_SIZE + 48, 0);
	}
	image_u64(w.f->im, w.fix + 40, 9);
	image_u64(w.f->im, w.fix + 48, 8);
	assert_int_equal(allocators_read(&a, w.n, NULL), 0);
	/* The other two instances: allocated 2 and a monitor each, which is u.cpool.used. */
	assert_int_equal(a.fix.allocated, (9 + 4) * (uint64_t)w.l->process_size + 2 * 96);
	assert_int_equal(a.fix.used, 8 * (uint64_t)w.l->process_size);
	allocators_free(&a);
	unmake(&w);
}

/* Reads, and says how many instances were refused. */
static uint64_t refused(struct world *w)
{
	struct allocators a;
	uint64_t nr;

	assert_int_equal(allocators_read(&a, w->n, NULL), 0);
	nr = a.unreadable;
	allocators_free(&a);
	return nr;
}

static void test_allocators_corrupted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		raddr ets = w.info + ETS * (raddr)ALLOCATOR_INFO_SIZE;
		struct allocators a;
		struct error err = {0};

		image_u32(w.f->im, w.instance[5][1] + (raddr)w.l->allctr_alloc_no, 99);
		assert_int_equal(refused(&w), 1);
		image_u32(w.f->im, w.instance[5][2] + (raddr)w.l->allctr_ix, 0xffffffff);
		assert_int_equal(refused(&w), 2);
		/* A hole in the array is no instance; a wild pointer is one that cannot be read. */
		image_u64(w.f->im, w.array[ETS] + 8, 0);
		image_u64(w.f->im, w.array[ETS] + 16, 0x8);
		assert_int_equal(refused(&w), 3);
		image_u64(w.f->im, w.instance[LITERAL][0] + (raddr)w.l->allctr_name_prefix,
			  put_string(&w, "no\033prefix_"));
		assert_int_equal(refused(&w), 4);
		/* The kinds of fix_alloc are not those that are known. */
		image_u64(w.f->im, w.fix, 8);
		assert_int_equal(refused(&w), 5);
		image_u64(w.f->im, w.instance[FIX][1] + (raddr)w.l->allctr_fix, 0x10);
		assert_int_equal(refused(&w), 6);
		image_u32(w.f->im, ets + ALLOCATOR_INFO_THR_SPEC, 0x7fffffff);
		assert_int_equal(refused(&w), 6); /* one less, and all of ets_alloc */
		image_u32(w.f->im, w.spec[4] + ALLOCATOR_SPEC_INSTANCES, 4);
		assert_int_equal(refused(&w), 7);
		image_u64(w.f->im, w.spec[3] + ALLOCATOR_SPEC_ARRAY, 0x18);
		assert_int_equal(allocators_read(&a, w.n, &err), -EFAULT);
		assert_int_equal(err.kind, ERROR_KIND_FAILED);
		w.n->anchors.allocators = 0x1000;
		assert_int_not_equal(allocators_read(&a, w.n, &err), 0);
		unmake(&w);
	}
}

static void test_allocator_disabled(void **state)
{
	(void)state;
	struct world w = make(25);
	raddr std = w.info + 4 * (raddr)ALLOCATOR_INFO_SIZE;
	struct error err = {0};
	struct allocators a;
	struct memory m;

	image_u32(w.f->im, std + ALLOCATOR_INFO_UTIL, 0);
	image_u32(w.f->im, std + ALLOCATOR_INFO_ENABLED, 0);
	assert_int_equal(allocators_read(&a, w.n, NULL), 0);
	assert_true(a.disabled);
	assert_int_equal(memory_read(&m, w.n, &a, &err), -ENOTSUP);
	assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
	allocators_free(&a);
	unmake(&w);
}

/* ---- modules -------------------------------------------------------------------------------- */

static void test_modules(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct modules m;
		struct module *r;

		assert_int_equal(modules_read(&m, w.n, NULL), 0);
		assert_int_equal(m.v.len, 3);
		assert_int_equal(m.code_size, 5600);
		assert_int_equal(m.unreadable, 0);
		r = m.v.data;
		assert_int_equal(r[0].name, fakenode_atom(w.f, "a"));
		assert_int_equal(r[0].size, 0);
		assert_int_equal(r[0].code, 0);
		assert_true(r[0].old_code && !r[0].has_md5 && !r[0].torn);
		assert_int_equal(r[1].name, fakenode_atom(w.f, "b"));
		assert_int_equal(r[1].functions, 3);
		assert_int_equal(r[1].old_size, 200);
		assert_true(r[1].old_code && !r[1].nifs);
		assert_int_equal(r[2].size, 5000);
		assert_int_equal(r[2].functions, 12);
		assert_true(r[2].nifs && !r[2].old_code && r[2].has_md5);
		assert_int_equal(r[2].md5[15], 0xaa);
		modules_free(&m);
		/* The other tables know less, or nothing. */
		image_u32(w.f->im, w.n->anchors.active_code_ix, 0);
		assert_int_equal(modules_read(&m, w.n, NULL), 0);
		assert_int_equal(m.v.len, 1);
		modules_free(&m);
		image_u32(w.f->im, w.n->anchors.active_code_ix, 2);
		assert_int_equal(modules_read(&m, w.n, NULL), 0);
		assert_int_equal(m.v.len, 0);
		modules_free(&m);
		unmake(&w);
	}
}

static void test_modules_corrupted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		raddr table = w.module_tables + (raddr)w.l->index_table_size;
		raddr curr = w.modules[1] + (raddr)w.l->module_curr;
		struct modules m;
		struct error err = {0};
		raddr lists;

		mem_read_u64(w.n->mem,
			     w.modules[0] + (raddr)w.l->module_curr +
				     (raddr)w.l->module_instance_code_hdr,
			     &lists);
		image_u64(w.f->im, lists + (raddr)w.l->code_header_num_functions, UINT64_MAX);
		image_u64(w.f->im, lists + (raddr)w.l->code_header_md5_ptr, 0x8);
		image_u32(w.f->im, curr + (raddr)w.l->module_instance_code_length, 0x80000000);
		assert_int_equal(modules_read(&m, w.n, NULL), 0);
		assert_int_equal(m.v.len, 2);
		assert_int_equal(m.unreadable, 1);
		assert_true(m.v.data[1].torn && !m.v.data[1].has_md5);
		assert_int_equal(m.v.data[1].functions, 0);
		modules_free(&m);
		image_u32(w.f->im, table + (raddr)w.l->index_table_entries, 5);
		assert_int_equal(modules_read(&m, w.n, NULL), 0);
		assert_int_equal(m.unreadable, 2); /* a slot that nothing was put into */
		modules_free(&m);
		image_u32(w.f->im, table + (raddr)w.l->index_table_entries, 0xffffffff);
		assert_int_equal(modules_read(&m, w.n, &err), -EBADMSG);
		image_u32(w.f->im, table + (raddr)w.l->index_table_entries, 4);
		image_u64(w.f->im, table + (raddr)w.l->index_table_seg_table, 0x8);
		assert_int_equal(modules_read(&m, w.n, &err), -EFAULT);
		image_u32(w.f->im, w.n->anchors.active_code_ix, 3);
		assert_int_equal(modules_read(&m, w.n, &err), -EBADMSG);
		w.n->anchors.active_code_ix = 0;
		assert_int_equal(modules_read(&m, w.n, &err), -ENOTSUP);
		assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
		unmake(&w);
	}
}

/* ---- sums ----------------------------------------------------------------------------------- */

static void check_areas(struct world *w, const struct memory_areas *a)
{
	uint64_t text = strlen("lists") + 1 + 1 + strlen("stub");
	bool literals = w->n->identity.otp >= 28;
	const char *exports = literals ? "export_staged_index" : "export_list";

	assert_int_equal(a->atom_space_used, text);
	/* Each text of the made-up node stands alone: so many buffers. */
	assert_int_equal(a->atom_space, literals ? text : 4 * 32776);
	assert_int_equal(a->atom_table, table_bytes("atom_tab", 1024));
	assert_int_equal(a->module_table, 2 * 8192 + 5 * (uint64_t)w->l->module_size);
	assert_int_equal(a->export_table, 3 * table_bytes(exports, 1024));
	assert_int_equal(a->export_list, 3 * ((uint64_t)w->l->export_size + 96));
	assert_int_equal(a->fun_table, literals ? 3 * table_bytes("fun_staged_index", 1024)
						: 104 + 8 * 16 + sizeof("fun_table"));
	assert_int_equal(a->fun_list, literals ? 3 * ((uint64_t)w->l->fun_entry_size + 96) : 0);
	assert_int_equal(a->module_refs, 110 * 16);
	assert_int_equal(a->loaded_code, 5600);
	assert_int_equal(a->process_table, 1024 * 12);
	assert_int_equal(a->ets_misc, 131072);
}

static void test_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct memory m;
		struct allocators a;

		assert_int_equal(allocators_read(&a, w.n, NULL), 0);
		assert_int_equal(memory_read(&m, w.n, &a, NULL), 0);
		check_areas(&w, &m.areas);
		assert_int_equal(m.total, 53200 + 1200 + 11 + 5600);
		assert_int_equal(m.processes, 53000 + 1024 * 12 + a.fix.allocated);
		assert_int_equal(m.processes_used, 53000 + 1024 * 12 + a.fix.used);
		assert_int_equal(m.system, m.total - m.processes);
		assert_int_equal(m.binary, 11);
		assert_int_equal(m.ets, 1400 + 131072);
		assert_int_equal(m.atom, m.areas.atom_space + m.areas.atom_table);
		assert_int_equal(m.atom_used, m.areas.atom_space_used + m.areas.atom_table);
		assert_int_equal(m.code, m.areas.module_table + m.areas.export_table +
						 m.areas.export_list + m.areas.fun_table +
						 m.areas.fun_list + m.areas.module_refs + 5600);
		/* The interpreter's code is among the blocks. */
		w.n->identity.jit = false;
		assert_int_equal(memory_read(&m, w.n, &a, NULL), 0);
		assert_int_equal(m.total, 53200 + 1200 + 11);
		allocators_free(&a);
		unmake(&w);
	}
}

/* What is missing is unknown, and what depends on it; the rest is as ever. */
static void test_memory_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		raddr exports = w.n->anchors.export_table ? w.n->anchors.export_table
							  : w.n->anchors.staged_exports;
		struct memory m;
		struct allocators a;

		assert_int_equal(allocators_read(&a, w.n, NULL), 0);
		w.n->anchors.ets_misc = 0;
		image_u64(w.f->im, exports + (raddr)w.l->index_table_seg_table, 0x8);
		assert_int_equal(memory_read(&m, w.n, &a, NULL), 0);
		assert_true(m.ets == MEMORY_UNKNOWN);
		assert_true(m.code == MEMORY_UNKNOWN && m.areas.export_list == MEMORY_UNKNOWN);
		assert_true(m.total != MEMORY_UNKNOWN && m.atom != MEMORY_UNKNOWN);
		w.n->anchors.code_size = 0;
		w.n->anchors.active_code_ix = 0;
		w.n->anchors.proc_tab = 0;
		w.n->anchors.atom_table = 0;
		assert_int_equal(memory_read(&m, w.n, &a, NULL), 0);
		assert_true(m.total == MEMORY_UNKNOWN && m.system == MEMORY_UNKNOWN);
		assert_true(m.processes == MEMORY_UNKNOWN && m.atom == MEMORY_UNKNOWN);
		assert_int_equal(m.binary, 11);
		allocators_free(&a);
		unmake(&w);
	}
}

/* Looked at again and again while atoms are made: always as if for the first time. */
static void test_atoms_again(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(releases); k++) {
		struct world w = make(releases[k]);
		struct memory_areas again, fresh;

		for (int i = 0; i < 400; i++) {
			char name[32];

			snprintf(name, sizeof(name), "atom number %d", i);
			fakenode_atom(w.f, name);
			if (i % 7)
				continue;
			memory_read_atoms(&again, w.n);
			assert_true(w.n->atom_texts.nr + 64 >= (uint32_t)i);
			memset(&w.n->atom_texts, 0, sizeof(w.n->atom_texts));
			memory_read_atoms(&fresh, w.n);
			assert_int_equal(again.atom_space_used, fresh.atom_space_used);
			assert_int_equal(again.atom_space, fresh.atom_space);
		}
		assert_true(w.n->atom_texts.nr > 300);
		unmake(&w);
	}
}

static void test_atom_unreadable(void **state)
{
	(void)state;
	struct world w = make(27);
	struct memory_areas areas;

	image_u64(w.f->im, w.f->atoms + 8, 0x10);
	memory_read_atoms(&areas, w.n);
	assert_true(areas.atom_space == MEMORY_UNKNOWN);
	assert_int_equal(areas.atom_table, table_bytes("atom_tab", 1024));
	image_u32(w.f->im, w.n->anchors.atom_table + (raddr)w.l->index_table_shift, 3);
	memory_read_atoms(&areas, w.n);
	assert_true(areas.atom_table == MEMORY_UNKNOWN);
	unmake(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocators),
		cmocka_unit_test(test_fix_without_pool),
		cmocka_unit_test(test_allocators_corrupted),
		cmocka_unit_test(test_allocator_disabled),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_modules_corrupted),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_unknown),
		cmocka_unit_test(test_atom_unreadable),
		cmocka_unit_test(test_atoms_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
