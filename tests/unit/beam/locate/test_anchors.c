/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The searches by shape, over a made-up process that has one of each thing, laid out as OTP 25, 27
 * and 29 lay it out, with the decoys that real executables have.  Each search must find its thing,
 * must find nothing if there are two, and must survive unreadable memory and garbage.
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
#include "beam/term/pid.h"
#include "lib/image.h"
#include "lib/mem_faulty.h"
#include "target/proc.h"

/* The executable. */
#define TEXT	    0x200000
#define TEXT_SIZE   0x10000
#define RODATA	    0x300000
#define RODATA_SIZE 0x1000
#define DATA	    0x400000
#define DATA_SIZE   0xa000

/* What stands in its data; the second of each is for the tests of ambiguity. */
#define JIT_DESCRIPTOR	 (DATA + 0x40)
#define JIT_DESCRIPTOR_2 (DATA + 0x80)
#define ATOM_NAME_DECOY	 (DATA + 0x100) /* names of the allocators' types */
#define BIFS		 (DATA + 0x200)
#define LOW_WRITE	 (DATA + 0x3000)
#define LOW_WRITE_SIZE	 0x200
#define PROC_TAB	 (DATA + 0x4000)
#define PORT_TAB	 (DATA + 0x4400)
#define PROC_TAB_2	 (DATA + 0x4800)
#define ATOM_TABLE	 (DATA + 0x5000)
#define ATOM_TABLE_2	 (DATA + 0x5100)
#define MODULE_TABLES	 (DATA + 0x5200)
#define THIS_NODE	 (DATA + 0x5800)
#define THIS_NODE_2	 (DATA + 0x5808)
#define BIFS_2		 (DATA + 0x6000)
#define NR_BIFS		 120

/* What stands outside of it. */
#define HEAP	    0x1000000
#define HEAP_SIZE   0x10000
#define NODE	    (HEAP + 0x100)
#define NODE_2	    (HEAP + 0x200)
#define DIST	    (HEAP + 0x300)
#define ELEMENTS    (HEAP + 0x1000) /* processes and ports: only their ids */
#define SEG_TABLE   (HEAP + 0x3000)
#define SEGMENT	    (HEAP + 0x3100)
#define ATOMS	    (HEAP + 0x3200)
#define ENTRIES	    (HEAP + 0x4000) /* of the JIT's list */
#define RECORDS	    (HEAP + 0x5000)
#define TEXTS	    (HEAP + 0x6000)
#define RUN_QUEUE   (HEAP + 0x7000)
#define PROC_SLOTS  0x2000000
#define PORT_SLOTS  0x2100000
#define NR_SLOTS    1024
#define SCHED	    0x3000000
#define SCHED_SIZE  0x80000
#define JIT_CODE    0x5000000
#define NODE_ATOM   2 /* its number */
#define NR_SCHED    3
#define NR_DIRTY    2
#define NAME_ATOM   "atom_tab"
#define NAME_MODULE "module_code"

struct world {
	const struct layout_table *table;
	const struct beam_layout *l;
	struct image *im;
	struct mem *mem;
	struct proc_map map_data[8];
	struct proc_maps maps;
	struct anchor_space s;
	uint8_t rodata[RODATA_SIZE];
};

static const int releases[] = {24, 25, 27, 29};

static uint64_t atom_term(uint64_t index)
{
	return index << 6 | 0x0b;
}

static void put_map(struct world *w, raddr addr, size_t size, bool write, bool exec)
{
	w->map_data[w->maps.len++] = (struct proc_map){
		.start = addr, .end = addr + size, .r = true, .w = write, .x = exec, .path = ""};
}

static raddr put_rodata(struct world *w, size_t at, const char *text)
{
	memcpy(w->rodata + at, text, strlen(text) + 1);
	return RODATA + at;
}

static void put_index_table(struct world *w, raddr at, raddr name, uint32_t entries)
{
	image_u64(w->im, at + (raddr)w->l->index_table_name, name);
	image_u32(w->im, at + (raddr)w->l->index_table_entries, entries);
	image_u64(w->im, at + (raddr)w->l->index_table_seg_table, SEG_TABLE);
}

/* Three atoms: false, true and the node's name. */
static void put_atoms(struct world *w)
{
	static const char *const texts[] = {"false", "true", "a@b"};

	image_u64(w->im, SEG_TABLE, SEGMENT);
	for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++) {
		raddr atom = ATOMS + 64 * (raddr)i, text = TEXTS + 64 * (raddr)i;
		size_t len = strlen(texts[i]);

		image_u64(w->im, SEGMENT + 8 * (raddr)i, atom);
		image_u32(w->im, atom + (raddr)w->l->atom_index, i);
		image_u16(w->im, atom + (raddr)w->l->atom_len, (uint16_t)len);
		if (w->l->atom_u == LAYOUT_ABSENT) {
			image_u64(w->im, atom + (raddr)w->l->atom_name, text);
		} else {
			image_u64(w->im, atom + (raddr)w->l->atom_u, text | 2);
			image_u64(w->im, text, 0x60);
			image_u64(w->im, text + 8, 8 * len);
			text += 16;
		}
		image_put(w->im, text, texts[i], len);
	}
}

/* A table whose slots 0, 8, ... hold elements with this tag. */
static void put_ptab(struct world *w, raddr at, raddr slots, uint64_t tag)
{
	const struct beam_layout *l = w->l;

	image_u64(w->im, at + (raddr)l->ptab_tab, slots);
	image_u32(w->im, at + (raddr)l->ptab_max, NR_SLOTS);
	image_u32(w->im, at + (raddr)l->ptab_pix_mask, NR_SLOTS - 1);
	image_u64(w->im, at + (raddr)l->ptab_element_size, 760);
	image_u64(w->im, at + (raddr)l->ptab_invalid_element, HEAP + 8);
	image_u64(w->im, slots + 8, HEAP + 8);
	for (raddr i = 0; i < 10; i++) {
		raddr element = ELEMENTS + tag * 0x100 + 16 * i;

		image_u64(w->im, slots + 64 * i, element);
		image_u64(w->im, element, i << 4 | tag);
	}
}

static void put_node(struct world *w, raddr node)
{
	image_u64(w->im, node + (raddr)w->l->node_sysname, atom_term(NODE_ATOM));
	image_u64(w->im, node + (raddr)w->l->node_dist_entry, DIST);
	image_u64(w->im, DIST + (raddr)w->l->dist_sysname, atom_term(NODE_ATOM));
}

static void put_bifs(struct world *w, raddr at)
{
	for (raddr i = 0; i < NR_BIFS; i++) {
		raddr bif = at + i * BEAM_BIF_SIZE;

		image_u64(w->im, bif + BEAM_BIF_MODULE, atom_term(1));
		image_u64(w->im, bif + BEAM_BIF_NAME, atom_term(i));
		image_u64(w->im, bif + BEAM_BIF_ARITY, i % 5);
		image_u64(w->im, bif + BEAM_BIF_FUNCTION, TEXT + 16 * i);
	}
}

/* Descriptor -> module "m" -> emulator record -> module "global". */
static void put_jit(struct world *w, raddr at)
{
	for (raddr i = 0; i < 3; i++) {
		raddr entry = ENTRIES + 32 * i, record = RECORDS + 64 * i;

		image_u64(w->im, entry, i < 2 ? entry + 32 : 0);
		image_u64(w->im, entry + 16, record);
		image_u64(w->im, entry + 24, i == 1 ? 32 : 64);
		image_u32(w->im, record, i != 1);
		image_u64(w->im, record + 8, i == 1 ? 1 : JIT_CODE);
		image_u64(w->im, record + 16, i == 1 ? JIT_CODE + 64 : 0);
		image_u16(w->im, record + 24, 1);
		image_put(w->im, record + 26, "m", 1);
	}
	image_u32(w->im, at, 1);
	image_u32(w->im, at + 4, 1);
	image_u64(w->im, at + 8, ENTRIES);
	image_u64(w->im, at + 16, ENTRIES);
}

/* An array of schedulers at `at`, and its variables in ERTS_LOW_WRITE. */
static void put_schedulers(struct world *w, raddr variable, raddr at, enum sched_type type,
			   uint32_t nr)
{
	const struct beam_layout *l = w->l;

	for (uint32_t i = 0; i < nr; i++) {
		raddr sched = at + i * (raddr)l->sched_stride;
		int32_t number = type == SCHED_TYPE_NORMAL ? l->sched_no : l->sched_dirty_no;

		image_u64(w->im, sched + (raddr)l->sched_registers, sched + 0x1000);
		image_u64(w->im, sched + (raddr)l->sched_run_queue, RUN_QUEUE);
		image_u32(w->im, sched + (raddr)l->sched_type, type);
		image_u64(w->im, sched + (raddr)number, i + 1);
	}
	image_u64(w->im, variable, at);
	image_u64(w->im, variable + 8, nr);
}

/* Takes what the image holds now into the space. */
static void search(struct world *w)
{
	assert_int_equal(mem_read(w->mem, DATA, w->s.data, DATA_SIZE), 0);
}

static void make(struct world *w, int otp)
{
	raddr name;

	memset(w, 0, sizeof(*w));
	w->table = layout_table_find(otp, false);
	w->l = &w->table->layout;
	w->im = image_open();
	w->mem = image_mem(w->im);
	image_map(w->im, DATA, DATA_SIZE);
	image_map(w->im, HEAP, HEAP_SIZE);
	image_map(w->im, PROC_SLOTS, NR_SLOTS * 8);
	image_map(w->im, PORT_SLOTS, NR_SLOTS * 8);
	image_map(w->im, SCHED, SCHED_SIZE);
	w->maps.data = w->map_data;
	put_map(w, TEXT, TEXT_SIZE, false, true);
	put_map(w, DATA, DATA_SIZE, true, false);
	put_map(w, HEAP, HEAP_SIZE, true, false);
	put_map(w, PROC_SLOTS, NR_SLOTS * 8, true, false);
	put_map(w, PORT_SLOTS, NR_SLOTS * 8, true, false);
	put_map(w, SCHED, SCHED_SIZE, true, false);
	put_map(w, JIT_CODE, 0x1000, false, true);

	put_atoms(w);
	name = put_rodata(w, 0x101, NAME_ATOM); /* may be the tail of another string */
	image_u64(w->im, ATOM_NAME_DECOY, name);
	put_index_table(w, ATOM_TABLE, name, 1000);
	name = put_rodata(w, 0x200, NAME_MODULE);
	for (raddr i = 0; i < 3; i++)
		put_index_table(w, MODULE_TABLES + i * (raddr)w->l->index_table_size, name,
				i == 1 ? 40 : 0);
	put_ptab(w, PROC_TAB, PROC_SLOTS, TERM_TAG_PID);
	put_ptab(w, PORT_TAB, PORT_SLOTS, TERM_TAG_PORT);
	put_node(w, NODE);
	image_u64(w->im, THIS_NODE, NODE);
	put_bifs(w, BIFS);
	put_jit(w, JIT_DESCRIPTOR);
	put_schedulers(w, LOW_WRITE + 0x10, SCHED, SCHED_TYPE_NORMAL, NR_SCHED);
	put_schedulers(w, LOW_WRITE + 0x40, SCHED + 0x30000, SCHED_TYPE_DIRTY_CPU, NR_DIRTY);
	put_schedulers(w, LOW_WRITE + 0x80, SCHED + 0x50000, SCHED_TYPE_DIRTY_IO, NR_DIRTY);

	w->s = (struct anchor_space){
		.mem = w->mem,
		.maps = &w->maps,
		.layout = w->l,
		.data = xmalloc(DATA_SIZE),
		.data_size = DATA_SIZE,
		.data_addr = DATA,
		.rodata = w->rodata,
		.rodata_size = RODATA_SIZE,
		.rodata_addr = RODATA,
		.text = TEXT,
		.text_end = TEXT + TEXT_SIZE,
		.low_write = LOW_WRITE,
		.low_write_end = LOW_WRITE + LOW_WRITE_SIZE,
	};
	search(w);
}

static void unmake(struct world *w)
{
	free(w->s.data);
	image_close(w->im);
}

static struct beam_anchors find_all(struct world *w)
{
	struct beam_anchors a = {0};
	struct beam_atoms *atoms = NULL;
	struct anchor_schedulers sched;

	a.proc_tab = shape_find_ptab(&w->s, TERM_TAG_PID);
	a.port_tab = shape_find_ptab(&w->s, TERM_TAG_PORT);
	a.atom_table = shape_find_atom_table(&w->s);
	a.module_code = shape_find_code_tables(&w->s, NAME_MODULE);
	a.bif_table = shape_find_bif_table(&w->s, &a.nr_bifs);
	a.jit_descriptor = shape_find_jit_descriptor(&w->s);
	if (a.jit_descriptor)
		a.frame_layout = shape_find_frame_layout(&w->s, a.jit_descriptor);
	if (a.atom_table && beam_atoms_open(&atoms, w->s.mem, w->l, a.atom_table) == 0)
		a.this_node = shape_find_this_node(&w->s, atoms, &a.this_node_ptr);
	beam_atoms_close(atoms);
	sched = shape_find_schedulers(&w->s, SCHED_TYPE_NORMAL);
	a.sched = sched.array;
	a.nr_sched = sched.nr;
	sched = shape_find_schedulers(&w->s, SCHED_TYPE_DIRTY_CPU);
	a.dirty_cpu = sched.array;
	a.nr_dirty_cpu = sched.nr;
	sched = shape_find_schedulers(&w->s, SCHED_TYPE_DIRTY_IO);
	a.dirty_io = sched.array;
	a.nr_dirty_io = sched.nr;
	return a;
}

static const struct beam_anchors all = {
	.proc_tab = PROC_TAB,
	.port_tab = PORT_TAB,
	.atom_table = ATOM_TABLE,
	.this_node_ptr = THIS_NODE,
	.this_node = NODE,
	.jit_descriptor = JIT_DESCRIPTOR,
	.frame_layout = RECORDS + 64 + 8,
	.bif_table = BIFS,
	.nr_bifs = NR_BIFS,
	.module_code = MODULE_TABLES,
	.sched = SCHED,
	.dirty_cpu = SCHED + 0x30000,
	.dirty_io = SCHED + 0x50000,
	.nr_sched = NR_SCHED,
	.nr_dirty_cpu = NR_DIRTY,
	.nr_dirty_io = NR_DIRTY,
};

static void test_finds_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct beam_anchors found;
		uint32_t layout = 9;
		struct world w;

		make(&w, releases[i]);
		found = find_all(&w);
		assert_memory_equal(&found, &all, sizeof(all));
		assert_int_equal(mem_read_u32(w.mem, found.frame_layout, &layout), 0);
		assert_int_equal(layout, 1);
		unmake(&w);
	}
}

/* Two of a kind: neither is taken, and nothing else is affected. */
static void test_ambiguous(void **state)
{
	struct beam_anchors want = all, found;
	struct world w;

	(void)state;
	make(&w, 27);
	put_ptab(&w, PROC_TAB_2, PROC_SLOTS, TERM_TAG_PID);
	want.proc_tab = 0;
	put_index_table(&w, ATOM_TABLE_2, RODATA + 0x101, 1000);
	want.atom_table = want.this_node = want.this_node_ptr = 0;
	put_bifs(&w, BIFS_2);
	want.bif_table = want.nr_bifs = 0;
	put_jit(&w, JIT_DESCRIPTOR_2);
	want.jit_descriptor = want.frame_layout = 0;
	put_index_table(&w, MODULE_TABLES + 3 * 128, RODATA + 0x200, 40);
	want.module_code = 0;
	put_schedulers(&w, LOW_WRITE + 0xc0, SCHED + 0x70000, SCHED_TYPE_DIRTY_IO, 1);
	want.dirty_io = want.nr_dirty_io = 0;
	search(&w);
	found = find_all(&w);
	assert_memory_equal(&found, &want, sizeof(want));
	unmake(&w);
}

static void test_this_node(void **state)
{
	struct beam_anchors found;
	struct world w;

	(void)state;
	make(&w, 27);
	/* Two variables, one node: the node is known, its variable is not. */
	image_u64(w.im, THIS_NODE_2, NODE);
	search(&w);
	found = find_all(&w);
	assert_int_equal(found.this_node, NODE);
	assert_int_equal(found.this_node_ptr, 0);
	/* Two nodes that both could be this one. */
	put_node(&w, NODE_2);
	image_u64(w.im, THIS_NODE_2, NODE_2);
	search(&w);
	found = find_all(&w);
	assert_int_equal(found.this_node, 0);
	assert_int_equal(found.this_node_ptr, 0);
	/* A name without '@' is not a node's. */
	image_u64(w.im, NODE_2 + (raddr)w.l->node_sysname, atom_term(0));
	image_u64(w.im, NODE + (raddr)w.l->node_sysname, atom_term(0));
	image_u64(w.im, DIST + (raddr)w.l->dist_sysname, atom_term(0));
	search(&w);
	assert_int_equal(find_all(&w).this_node, 0);
	unmake(&w);
}

/* Bytes that differ from the thing in one fact that proves it. */
static void test_near_misses(void **state)
{
	const struct beam_layout *l = &layout_table_find(27, false)->layout;
	const struct {
		raddr at;
		uint32_t value;
		size_t anchor; /* that is then not found */
	} misses[] = {
		{PROC_TAB + (raddr)l->ptab_max, 1000, offsetof(struct beam_anchors, proc_tab)},
		{PROC_TAB + (raddr)l->ptab_max, 512, offsetof(struct beam_anchors, proc_tab)},
		{PROC_TAB + (raddr)l->ptab_pix_mask, 7, offsetof(struct beam_anchors, proc_tab)},
		{PROC_TAB + (raddr)l->ptab_tab, 0, offsetof(struct beam_anchors, proc_tab)},
		{PROC_TAB + (raddr)l->ptab_element_size, 8,
		 offsetof(struct beam_anchors, proc_tab)},
		{ATOM_TABLE + (raddr)l->index_table_entries, 3,
		 offsetof(struct beam_anchors, atom_table)},
		{ATOMS + 64 + (raddr)l->atom_index, 0, offsetof(struct beam_anchors, atom_table)},
		{MODULE_TABLES + 128 + (raddr)l->index_table_entries, 0,
		 offsetof(struct beam_anchors, module_code)},
		{MODULE_TABLES + 256 + (raddr)l->index_table_seg_table, 0,
		 offsetof(struct beam_anchors, module_code)},
		{BIFS + 60 * BEAM_BIF_SIZE + BEAM_BIF_FUNCTION, 0,
		 offsetof(struct beam_anchors, bif_table)},
		{JIT_DESCRIPTOR, 2, offsetof(struct beam_anchors, jit_descriptor)},
		{JIT_DESCRIPTOR + 4, 3, offsetof(struct beam_anchors, jit_descriptor)},
		{JIT_DESCRIPTOR + 16, 0, offsetof(struct beam_anchors, jit_descriptor)},
		{RECORDS, 7, offsetof(struct beam_anchors, jit_descriptor)},
		{RECORDS + 8, HEAP, offsetof(struct beam_anchors, jit_descriptor)},
		{RECORDS + 64 + 8, 2, offsetof(struct beam_anchors, frame_layout)},
		{RECORDS + 64 + 16, HEAP, offsetof(struct beam_anchors, frame_layout)},
		{ENTRIES + 64 + 16, 0, offsetof(struct beam_anchors, frame_layout)},
		{ENTRIES + 64, ENTRIES, offsetof(struct beam_anchors, frame_layout)}, /* loop */
		{SCHED + (raddr)l->sched_type, 1, offsetof(struct beam_anchors, sched)},
		{SCHED + (raddr)l->sched_no, 2, offsetof(struct beam_anchors, sched)},
		{SCHED + (raddr)l->sched_run_queue, 0, offsetof(struct beam_anchors, sched)},
		{LOW_WRITE + 0x18, 0, offsetof(struct beam_anchors, sched)}, /* the count */
		{DIST + (raddr)l->dist_sysname, (uint32_t)atom_term(1),
		 offsetof(struct beam_anchors, this_node)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(misses); i++) {
		struct beam_anchors found;
		struct world w;
		raddr anchor;

		make(&w, 27);
		image_u32(w.im, misses[i].at, misses[i].value);
		search(&w);
		found = find_all(&w);
		memcpy(&anchor, (char *)&found + misses[i].anchor, sizeof(anchor));
		if (anchor != 0)
			fail_msg("miss %zu was taken for the thing", i);
		unmake(&w);
	}
}

/* An element that died while we searched does not make a process table something else. */
static void test_ptab_in_motion(void **state)
{
	struct world w;

	(void)state;
	make(&w, 29);
	image_u64(w.im, ELEMENTS + TERM_TAG_PID * 0x100 + 16, 0xdeadbeef);
	search(&w);
	assert_int_equal(shape_find_ptab(&w.s, TERM_TAG_PID), PROC_TAB);
	image_u64(w.im, ELEMENTS + TERM_TAG_PID * 0x100, 0xdeadbeef);
	search(&w);
	assert_int_equal(shape_find_ptab(&w.s, TERM_TAG_PID), 0);
	unmake(&w);
}

/* Whatever cannot be read: an anchor is right or not found. */
static void test_faults(void **state)
{
	const raddr *want = (const raddr *)&all;
	struct world w;
	struct mem *good;

	(void)state;
	make(&w, 29);
	good = w.mem;
	for (uint64_t nth = 1; nth < 120; nth++) {
		struct beam_anchors found;
		const raddr *have = (const raddr *)&found;
		struct mem *faulty = NULL;

		faulty = mem_open_faulty(good, 0, 0, nth);
		w.s.mem = faulty;
		found = find_all(&w);
		for (size_t i = 0; i < offsetof(struct beam_anchors, nr_bifs) / 8; i++)
			assert_true(have[i] == 0 || have[i] == want[i]);
		assert_true(!found.module_code || found.module_code == MODULE_TABLES);
		assert_true(!found.sched || found.sched == SCHED);
		assert_true(found.nr_sched <= NR_SCHED);
		mem_close(faulty);
	}
	w.s.mem = good;
	unmake(&w);
}

/* Data that ends anywhere: nothing is read behind it (the sanitizer watches). */
static void test_truncated(void **state)
{
	struct world w;

	(void)state;
	make(&w, 25);
	for (size_t size = 0; size < DATA_SIZE; size += 8 + size / 64 * 8) {
		uint8_t *whole = w.s.data;

		w.s.data = xmalloc(size ? size : 1);
		memcpy(w.s.data, whole, size);
		w.s.data_size = size;
		w.s.low_write_end = MIN(LOW_WRITE + LOW_WRITE_SIZE, MAX(DATA + size, LOW_WRITE));
		find_all(&w);
		free(w.s.data);
		w.s.data = whole;
	}
	unmake(&w);
}

/* Words that are often pointers into what is there: no crash, no endless walk. */
static void test_garbage(void **state)
{
	static const uint64_t words[] = {
		0,     1,	  2,	HEAP,		NODE, ENTRIES, RECORDS,	      PROC_SLOTS,
		SCHED, JIT_CODE,  TEXT, RODATA + 0x101, 1024, 1023,    0x3ff00000400, SEG_TABLE,
		0x14b, UINT64_MAX};
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct world w;

		make(&w, releases[round % 3]);
		for (size_t at = 0; at < DATA_SIZE; at += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			if (random % 4 != 0)
				memcpy(w.s.data + at, &words[(random >> 8) % ARRAY_SIZE(words)], 8);
		}
		find_all(&w);
		unmake(&w);
	}
}

/* ---- __jit_debug_register_code --------------------------------------------------------------- */

#define CODE_SIZE 4096
#define DESC	  (TEXT + 0x8000)
#define EMPTY	  0x100 /* the function, in the code */
#define EMPTY_2	  0x140

/* mov dword [rip + descriptor.action], value, `gap` nops, call target. */
static void put_store(uint8_t *code, size_t at, uint32_t value, size_t gap, size_t target)
{
	int32_t disp = (int32_t)(DESC + 4 - (TEXT + at + 10));

	memcpy(code + at, "\xc7\x05", 2);
	memcpy(code + at + 2, &disp, 4);
	memcpy(code + at + 6, &value, 4);
	memset(code + at + 10, 0x90, gap);
	at += 10 + gap;
	disp = (int32_t)(target - (at + 5));
	code[at] = 0xe8;
	memcpy(code + at + 1, &disp, 4);
}

static raddr register_in(const uint8_t *code)
{
	return shape_find_jit_register(code, CODE_SIZE, TEXT, DESC);
}

static void test_jit_register(void **state)
{
	uint8_t *code = xmalloc(CODE_SIZE);

	(void)state;
	memset(code, 0xcc, CODE_SIZE);
	code[EMPTY] = code[EMPTY_2] = 0xc3;
	assert_int_equal(register_in(code), 0);
	put_store(code, 0x400, 1, 7, EMPTY);
	assert_int_equal(register_in(code), 0); /* one place proves nothing */
	put_store(code, 0x503, 2, 33, EMPTY);
	assert_int_equal(register_in(code), TEXT + EMPTY);
	memcpy(code + EMPTY, "\xf3\x0f\x1e\xfa\xc3", 5); /* endbr64; ret */
	assert_int_equal(register_in(code), TEXT + EMPTY);
	put_store(code, 0x603, 0, 7, EMPTY_2); /* stores of 0 and 3 are none of ours */
	put_store(code, 0x703, 3, 7, EMPTY_2);
	assert_int_equal(register_in(code), TEXT + EMPTY);
	put_store(code, 0x803, 1, 7, EMPTY_2); /* places that do not agree */
	assert_int_equal(register_in(code), 0);
	put_store(code, 0x803, 1, 7, EMPTY);
	assert_int_equal(register_in(code), TEXT + EMPTY);
	put_store(code, 0x803, 1, 80, EMPTY); /* no call near */
	assert_int_equal(register_in(code), 0);
	put_store(code, 0x803, 1, 7, EMPTY);
	code[EMPTY] = 0x55; /* a function that does something */
	assert_int_equal(register_in(code), 0);
	free(code);
}

/* A store at the very end, whatever is cut off. */
static void test_jit_register_truncated(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < 40; cut++) {
		size_t size = CODE_SIZE - cut;
		uint8_t *code = xmalloc(CODE_SIZE), *exact = xmalloc(size);

		memset(code, 0xcc, CODE_SIZE);
		code[EMPTY] = 0xc3;
		put_store(code, 0x400, 1, 0, EMPTY);
		put_store(code, CODE_SIZE - 15, 2, 0, EMPTY);
		memcpy(exact, code, size);
		/* Cut within the store: unknown; within the call: a store without one. */
		assert_int_equal(shape_find_jit_register(exact, size, TEXT, DESC),
				 cut == 0 ? TEXT + EMPTY : 0);
		free(code);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_all),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_this_node),
		cmocka_unit_test(test_near_misses),
		cmocka_unit_test(test_ptab_in_motion),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_jit_register),
		cmocka_unit_test(test_jit_register_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
