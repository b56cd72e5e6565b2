/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What OTP 24 writes for GDB's interface: records cut at every length and with every bit flipped,
 * normal_exit that has no record, and lines, which stand in the code's header.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/code/jit.h"
#include "lib/fakenode.h"

#define CODE	    0x7e0000000000ull
#define VM_CODE	    0x7e0000100000ull
#define NORMAL_EXIT (VM_CODE + 0x90)
#define ENTRY	    0x5000

struct record {
	VEC(uint8_t) bytes;
};

struct jit_test {
	struct fakenode *f;
	struct jit_code *j;
};

static void add(struct record *r, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		vec_push(&r->bytes, ((const uint8_t *)bytes)[i]);
}

static void begin(struct record *r, const char *name, uint64_t nr, raddr start, uint64_t size)
{
	uint64_t head[] = {nr, start, size};

	add(r, head, sizeof(head));
	add(r, name, strlen(name) + 1);
}

static void range(struct record *r, const char *name, raddr start, raddr end)
{
	uint64_t bounds[] = {start, end};

	add(r, bounds, sizeof(bounds));
	add(r, name, strlen(name) + 1);
}

/* 0x00 header, 0xc0 head of a/1, 0xf0 a/1, 0x140 head of b/2, 0x170 b/2, 0x1b0 footer. */
static void make_lists_at(struct record *r, raddr code)
{
	begin(r, "lists", 6, code, 0x200);
	range(r, "lists::codeHeader", code, code + 0xc0);
	range(r, "lists:a/1-CodeInfoPrologue", code + 0xc0, code + 0xf0);
	range(r, "lists:a/1", code + 0xf0, code + 0x140);
	range(r, "lists:b/2-CodeInfoPrologue", code + 0x140, code + 0x170);
	range(r, "lists:b/2", code + 0x170, code + 0x1b0);
	range(r, "lists::codeFooter", code + 0x1b0, code + 0x200);
}

static void make_lists(struct record *r)
{
	make_lists_at(r, CODE);
}

static bool load(struct jit_test *t, raddr entry, const struct record *r)
{
	return jit_loaded(t->j, entry, 0, r->bytes.len, r->bytes.data, (uint32_t)r->bytes.len);
}

static int open_test(void **state)
{
	static const uint64_t emulator[2];
	struct jit_test *t = calloc(1, sizeof(*t));

	t->f = fakenode_open(24);
	t->f->node.anchors.normal_exit = NORMAL_EXIT;
	jit_open_node(&t->j, &t->f->node);
	assert_true(jit_loaded(t->j, 1, 0, sizeof(emulator), emulator, sizeof(emulator)));
	*state = t;
	return 0;
}

static int close_test(void **state)
{
	struct jit_test *t = *state;

	jit_close(t->j);
	fakenode_close(t->f);
	free(t);
	return 0;
}

static void assert_found(struct jit_test *t, raddr addr, const char *name)
{
	struct jit_function f;

	assert_true(jit_find(t->j, addr, &f));
	assert_int_equal(f.name_len, strlen(name));
	assert_memory_equal(f.name, name, f.name_len);
}

static void test_names(void **state)
{
	struct jit_test *t = *state;
	struct jit_function f;
	struct record r = {0};

	make_lists(&r);
	assert_true(load(t, ENTRY, &r));
	assert_found(t, CODE, "lists::codeHeader");
	assert_found(t, CODE + 0xef, "lists:a/1-CodeInfoPrologue");
	assert_found(t, CODE + 0xf0, "lists:a/1");
	assert_found(t, CODE + 0x1af, "lists:b/2");
	assert_false(jit_find(t->j, CODE + 0x200, &f));
	assert_true(jit_find(t->j, CODE + 0x100, &f));
	assert_int_equal(f.module_len, 5);
	assert_memory_equal(f.module, "lists", 5);
	assert_null(f.file);
	assert_int_equal(jit_unreadable(t->j), 0);
	vec_free(&r.bytes);
}

static void test_fragments(void **state)
{
	struct jit_test *t = *state;
	struct address_range found;
	struct record r = {0};

	begin(&r, "global", 4, CODE, 0x40);
	range(&r, "global::bif_export_trap", CODE, CODE + 0x10);
	range(&r, "global::garbage_collect", CODE + 0x10, CODE + 0x20);
	range(&r, "global::call_light_bif_shared", CODE + 0x20, CODE + 0x30);
	range(&r, "global::process_main", CODE + 0x30, CODE + 0x40);
	assert_true(load(t, ENTRY, &r));
	assert_true(jit_fragment(t->j, "garbage_collect", &found));
	assert_int_equal(found.start, CODE + 0x10);
	assert_int_equal(jit_fragments(t->j).end, CODE + 0x40);
	vec_free(&r.bytes);
}

static void test_normal_exit(void **state)
{
	struct jit_test *t = *state;
	struct record r = {0};

	begin(&r, "erts_beamasm", 6, VM_CODE, 0x100);
	range(&r, "erts_beamasm::codeHeader", VM_CODE, VM_CODE + 0x10);
	range(&r, "erts_internal:return_trace/0-CodeInfoPrologue", VM_CODE + 0x10, VM_CODE + 0x20);
	range(&r, "erts_internal:return_trace/0", VM_CODE + 0x20, VM_CODE + 0x40);
	range(&r, "erts_internal:apply/3-CodeInfoPrologue", VM_CODE + 0x40, VM_CODE + 0x50);
	range(&r, "erts_internal:apply/3", VM_CODE + 0x50, VM_CODE + 0xf0);
	range(&r, "erts_beamasm::codeFooter", VM_CODE + 0xf0, VM_CODE + 0x100);
	assert_true(load(t, ENTRY, &r));
	assert_int_equal(jit_normal_exit(t->j), NORMAL_EXIT);
	assert_false(jit_frame_pointers(t->j));
	/* The prologue that is not there belongs to the code. */
	assert_found(t, VM_CODE + 0x17, "erts_beamasm:return_trace/0-CodeInfoPrologue");
	assert_found(t, VM_CODE + 0x18, "erts_beamasm:return_trace/0");
	assert_found(t, VM_CODE + 0x48, "erts_beamasm:apply/3");
	assert_found(t, NORMAL_EXIT - 2, "erts_beamasm:apply/3");
	assert_found(t, NORMAL_EXIT - 1, "erts_beamasm:normal_exit/0-CodeInfoPrologue");
	assert_found(t, NORMAL_EXIT, "erts_beamasm:normal_exit/0");
	assert_found(t, VM_CODE + 0xef, "erts_beamasm:normal_exit/0");
	assert_found(t, VM_CODE + 0xf0, "erts_beamasm::codeFooter");
	vec_free(&r.bytes);
}

/* One range has normal_exit: of others that say so, too, it is not cut out. */
static void test_normal_exit_of_all(void **state)
{
	struct jit_test *t = *state;
	struct record r = {0};

	begin(&r, "erts_beamasm", 40, VM_CODE, 0x100);
	for (int i = 0; i < 40; i++)
		range(&r, "", VM_CODE, VM_CODE + 0x100);
	load(t, ENTRY, &r); /* nothing is written beyond what it takes */
	vec_free(&r.bytes);
}

static void test_damage(void **state)
{
	struct jit_test *t = *state;
	struct record r = {0};

	make_lists(&r);
	for (size_t size = 4; size < r.bytes.len; size++)
		assert_false(jit_loaded(t->j, ENTRY, 0, size, r.bytes.data, (uint32_t)size));
	for (size_t bit = 0; bit < 8 * r.bytes.len; bit++) {
		r.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		load(t, ENTRY, &r); /* whatever it is: nothing is read beyond it */
		r.bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(load(t, ENTRY, &r));
	assert_found(t, CODE + 0xf0, "lists:a/1");
	vec_free(&r.bytes);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static const struct {
	uint32_t start, location;
} lines[] = {
	{0xc0, 10},	       /* of a/1 itself */
	{0x108, 11},	       /* in its body */
	{0x110, 1 << 24 | 7},  /* of another file */
	{0x120, 0},	       /* none */
	{0x180, 2 << 24 | 21}, /* of b/2, whose own line is not known; no such file */
	{0x190, 22},
};
#define NR_LINES   (sizeof(lines) / sizeof(lines[0]))
#define FIRST_OF_B 4

/* Fills in the header, as the loader does after the record is there. */
static void put_lines(struct jit_test *t, raddr code, uint32_t location_size)
{
	const struct beam_layout *l = &t->f->node.layout;
	struct image *im = t->f->im;
	raddr table = image_alloc(im, 0x80), files = image_alloc(im, 16);
	raddr addresses = image_alloc(im, 8 * NR_LINES + 8), locations = image_alloc(im, 64);

	image_u64(im, code + (raddr)l->code_header_num_functions, 2);
	image_u64(im, code + (raddr)l->code_header_line_table, table);
	image_u64(im, files, fakenode_atom(t->f, "lists.hrl"));
	image_u64(im, table + (raddr)l->line_table_fname_ptr, files);
	image_u32(im, table + (raddr)l->line_table_loc_size, location_size);
	image_u64(im, table + (raddr)l->line_table_loc_tab, locations);
	image_u64(im, table + (raddr)l->line_table_func_tab, addresses);
	image_u64(im, table + (raddr)l->line_table_func_tab + 8, addresses + 8 * FIRST_OF_B);
	image_u64(im, table + (raddr)l->line_table_func_tab + 16, addresses + 8 * NR_LINES);
	for (size_t i = 0; i < NR_LINES; i++) {
		image_u64(im, addresses + 8 * i, code + lines[i].start);
		if (location_size == 2)
			image_u16(im, locations + 2 * i, (uint16_t)lines[i].location);
		else
			image_u32(im, locations + 4 * i, lines[i].location);
	}
}

static void assert_line(struct jit_test *t, uint32_t offset, uint32_t line, const char *file)
{
	struct jit_function f;

	assert_true(jit_find(t->j, CODE + offset, &f));
	assert_int_equal(f.line, line);
	if (line) {
		assert_int_equal(f.file_len, strlen(file));
		assert_memory_equal(f.file, file, f.file_len);
	} else {
		assert_null(f.file);
	}
}

static void test_lines(void **state)
{
	struct jit_test *t = *state;
	struct record r = {0};

	image_map(t->f->im, CODE, 0x200);
	make_lists(&r);
	assert_true(load(t, ENTRY, &r));
	assert_line(t, 0xf0, 0, NULL); /* the header is empty yet */
	put_lines(t, CODE, 4);
	assert_line(t, 0xc0, 10, "lists.erl");
	assert_line(t, 0xf0, 10, "lists.erl");
	assert_line(t, 0x107, 10, "lists.erl");
	assert_line(t, 0x108, 11, "lists.erl");
	assert_line(t, 0x110, 7, "lists.hrl");
	assert_line(t, 0x11f, 7, "lists.hrl");
	assert_line(t, 0x120, 0, NULL);
	assert_line(t, 0x13f, 0, NULL);
	assert_line(t, 0x170, 0, NULL); /* what is known is of the function before */
	assert_line(t, 0x180, 0, NULL);
	assert_line(t, 0x190, 22, "lists.erl");
	assert_line(t, 0x1af, 22, "lists.erl");
	vec_free(&r.bytes);
}

static void test_short_lines(void **state)
{
	struct jit_test *t = *state;
	struct record r = {0};

	image_map(t->f->im, CODE, 0x200);
	put_lines(t, CODE, 2);
	make_lists(&r);
	assert_true(load(t, ENTRY, &r));
	assert_line(t, 0x108, 11, "lists.erl");
	assert_line(t, 0x110, 7, "lists.erl");
	vec_free(&r.bytes);
}

static void keep_line(void *arg, const char *line)
{
	struct strbuf *said = arg;

	strbuf_addf(said, "%s\n", line);
}

/* The line of a/1 in the i-th copy of the module. */
static uint32_t line_of(struct jit_test *t, raddr i)
{
	struct jit_function f;

	assert_true(jit_find(t->j, CODE + i * 0x1000 + 0xf0, &f));
	return f.line;
}

/* Those of all modules together have a limit; what is unloaded makes room. */
static void test_too_many_lines(void **state)
{
	struct strbuf said = STRBUF_INIT;
	struct jit_test *t = *state;

	for (raddr i = 0; i < 5; i++) {
		struct record r = {0};

		image_map(t->f->im, CODE + i * 0x1000, 0x200);
		put_lines(t, CODE + i * 0x1000, 4);
		make_lists_at(&r, CODE + i * 0x1000);
		assert_true(load(t, ENTRY + i, &r));
		vec_free(&r.bytes);
	}
	jit_limit_lines(t->j, 2 * NR_LINES);
	log_set_thread_taker(keep_line, &said);
	assert_int_equal(line_of(t, 0), 10);
	assert_int_equal(line_of(t, 1), 10);
	assert_string_equal(said.buf, "");
	assert_int_equal(line_of(t, 2), 0);
	assert_string_equal(said.buf,
			    "ebeam: functions of module lists, and maybe of others, are shown "
			    "without line numbers: ebeam keeps at most 12 lines of all modules\n");
	jit_unloaded(t->j, ENTRY);
	assert_int_equal(line_of(t, 3), 10);
	/* It is said once. */
	strbuf_reset(&said);
	assert_int_equal(line_of(t, 4), 0);
	assert_string_equal(said.buf, "");
	log_set_thread_taker(NULL, NULL);
	strbuf_free(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_fragments, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_normal_exit, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_normal_exit_of_all, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_damage, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_lines, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_short_lines, open_test, close_test),
		cmocka_unit_test_setup_teardown(test_too_many_lines, open_test, close_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
