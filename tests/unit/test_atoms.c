/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atoms: images recorded from nodes of OTP 25, 27 and 29 that had made the same atoms, and a
 * made-up table for growth, searches and faults.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/atoms.h"
#include "beam/layout.h"
#include "lib/memimage.h"

#define ATOM_TERM(index) (((uint64_t)(index) << 6) | 0x0b)

/* ---- recorded ------------------------------------------------------------------------------- */

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* The last two do not fit a heap bitstring of OTP 29. */
static const char *const texts[] = {
	"false",
	"true",
	"",
	"init",
	"gen_server",
	"Elixir.Enum",
	"\xc3\xa5\xc3\xa4\xc3\xb6",
	"\xe6\x97\xa5\xe6\x9c\xac",
	"with space",
	"12345678",
	X50 X50 X50 X50 X50 "xxxxx",
	"Elixir.My.App.Worker.With.A.Name.Of.More.Than.SixtyFour.Characters.In.It",
};

static const struct recorded {
	int otp;
	const char *image;
	raddr table;
	int64_t count;
	uint64_t terms[ARRAY_SIZE(texts)];
} recorded[] = {
	{25,
	 "atoms-otp25.img",
	 0x55f18a4330c0,
	 9053,
	 {0xb, 0x4b, 0x14b, 0x530b, 0x2f04b, 0x88b0b, 0x88a0b, 0x88a4b, 0x88a8b, 0x88acb, 0x889cb,
	  0x88b4b}},
	{27,
	 "atoms-otp27.img",
	 0x55d15524f200,
	 10065,
	 {0xb, 0x4b, 0x14b, 0x55cb, 0x2fd0b, 0x9940b, 0x9930b, 0x9934b, 0x9938b, 0x993cb, 0x992cb,
	  0x9944b}},
	{29,
	 "atoms-otp29.img",
	 0x55f6a444d980,
	 10630,
	 {0xb, 0x4b, 0x14b, 0x580b, 0x3348b, 0xa1acb, 0xa19cb, 0xa1a0b, 0xa1a4b, 0xa1a8b, 0xa198b,
	  0xa1b0b}},
};

static void test_recorded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct recorded *r = &recorded[i];
		struct mem *m = memimage_load(r->image);
		struct beam_atoms *a = NULL;

		assert_int_equal(
			beam_atoms_open(&a, m, &layout_table_find(r->otp, false)->layout, r->table),
			0);
		assert_int_equal(beam_atoms_count(a), r->count);
		for (size_t j = 0; j < ARRAY_SIZE(texts); j++) {
			size_t len = 0;
			const char *text = beam_atom_text(a, r->terms[j], &len);

			assert_non_null(text);
			assert_string_equal(text, texts[j]);
			assert_int_equal(len, strlen(texts[j]));
			assert_ptr_equal(beam_atom_text(a, r->terms[j], NULL), text); /* kept */
		}
		beam_atoms_close(a);
		mem_close(m);
	}
}

/* Every read may fail: then there is no text, and the next call tries again. */
static void test_recorded_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(recorded); i++) {
		const struct recorded *r = &recorded[i];
		const struct beam_layout *layout = &layout_table_find(r->otp, false)->layout;
		struct mem *m = memimage_load(r->image);
		bool failed = true;

		for (uint64_t nth = 1; failed; nth++) {
			struct beam_atoms *a = NULL;
			struct mem *faulty = NULL;

			failed = false;
			assert_int_equal(mem_open_faulty(&faulty, m, 0, 0, nth), 0);
			assert_int_equal(beam_atoms_open(&a, faulty, layout, r->table), 0);
			for (size_t j = 0; j < ARRAY_SIZE(texts); j++) {
				const char *text = beam_atom_text(a, r->terms[j], NULL);

				failed |= !text;
				if (!text)
					text = beam_atom_text(a, r->terms[j], NULL);
				assert_non_null(text);
				assert_string_equal(text, texts[j]);
			}
			beam_atoms_close(a);
			mem_close(faulty);
		}
		mem_close(m);
	}
}

/* ---- made up -------------------------------------------------------------------------------- */

#define TABLE	  0x10000
#define SEG_TABLE 0x20000
#define SEGMENTS  0x30000
#define ATOMS	  0x100000
#define TEXTS	  0x200000
#define NR_ATOMS  2500 /* two segments and a half */

/* Atom i is called "atom<i>"; layout of OTP 25. */
static void make_table(struct memimage *im, uint32_t nr)
{
	const struct beam_layout *l = &layout_table_find(25, false)->layout;

	if (im->nr == 0) {
		memimage_region(im, TABLE, 128);
		memimage_region(im, SEG_TABLE, 8 * 8);
		memimage_region(im, SEGMENTS, 3 * 8192);
		memimage_region(im, ATOMS, NR_ATOMS * 40);
		memimage_region(im, TEXTS, NR_ATOMS * 16);
	}
	memimage_u32(im, TABLE + (raddr)l->index_table_entries, nr);
	memimage_u64(im, TABLE + (raddr)l->index_table_seg_table, SEG_TABLE);
	for (uint32_t i = 0; i < nr; i++) {
		raddr atom = ATOMS + 40 * (raddr)i, text_at = TEXTS + 16 * (raddr)i;
		char text[16];

		snprintf(text, sizeof(text), "atom%u", i);
		memimage_u64(im, SEG_TABLE + 8 * (raddr)(i / 1024), SEGMENTS + 8192 * (i / 1024));
		memimage_u64(im, SEGMENTS + 8 * (raddr)i, atom);
		memimage_u32(im, atom + (raddr)l->atom_index, i);
		memimage_u16(im, atom + (raddr)l->atom_len, (uint16_t)strlen(text));
		memimage_u64(im, atom + (raddr)l->atom_name, text_at);
		memimage_write(im, text_at, text, strlen(text));
	}
}

static struct beam_atoms *open_made(struct mem *m)
{
	struct beam_atoms *a = NULL;

	assert_int_equal(beam_atoms_open(&a, m, &layout_table_find(25, false)->layout, TABLE), 0);
	return a;
}

static void test_terms(void **state)
{
	struct memimage im = {0};
	struct beam_atoms *a;
	struct mem *m;

	(void)state;
	make_table(&im, NR_ATOMS);
	m = memimage_open(&im);
	a = open_made(m);
	assert_string_equal(beam_atom_text(a, ATOM_TERM(0), NULL), "atom0");
	assert_string_equal(beam_atom_text(a, ATOM_TERM(1024), NULL), "atom1024");
	assert_string_equal(beam_atom_text(a, ATOM_TERM(NR_ATOMS - 1), NULL), "atom2499");
	assert_null(beam_atom_text(a, ATOM_TERM(NR_ATOMS), NULL));
	assert_null(beam_atom_text(a, ATOM_TERM(1u << 30), NULL));
	assert_null(beam_atom_text(a, UINT64_MAX, NULL));
	assert_null(beam_atom_text(a, 0, NULL));
	assert_null(beam_atom_text(a, 0x3b, NULL)); /* [] */
	beam_atoms_close(a);
	mem_close(m);
	memimage_free(&im);
}

static void test_find(void **state)
{
	struct memimage im = {0};
	struct beam_atoms *a;
	struct mem *m;

	(void)state;
	make_table(&im, NR_ATOMS);
	m = memimage_open(&im);
	a = open_made(m);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(beam_atom_find(a, "atom0"), ATOM_TERM(0));
		assert_int_equal(beam_atom_find(a, "atom1023"), ATOM_TERM(1023));
		assert_int_equal(beam_atom_find(a, "atom1024"), ATOM_TERM(1024));
		assert_int_equal(beam_atom_find(a, "atom2499"), ATOM_TERM(2499));
		assert_int_equal(beam_atom_find(a, "atom2500"), 0);
		assert_int_equal(beam_atom_find(a, ""), 0);
	}
	/* More names than are remembered are found all the same. */
	for (uint32_t i = 0; i < 600; i++) {
		char text[16];

		snprintf(text, sizeof(text), "atom%u", i);
		assert_int_equal(beam_atom_find(a, text), ATOM_TERM(i));
	}
	beam_atoms_close(a);
	mem_close(m);
	memimage_free(&im);
}

/* A memory that can be exchanged under a reader. */
struct switch_mem {
	struct mem mem;
	struct mem *now;
};

static int switch_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	return mem_read(CONTAINER_OF(m, struct switch_mem, mem)->now, addr, buf, size);
}

/* What was not found is looked for again among the atoms that came since. */
static void test_find_in_growing_table(void **state)
{
	struct switch_mem sw = {.mem = {.read = switch_read}};
	struct memimage im = {0};
	struct mem *before, *after;
	struct beam_atoms *a;

	(void)state;
	make_table(&im, NR_ATOMS);
	after = memimage_open(&im);
	make_table(&im, 1500);
	before = memimage_open(&im);
	sw.now = before;
	a = open_made(&sw.mem);
	assert_int_equal(beam_atoms_count(a), 1500);
	assert_int_equal(beam_atom_find(a, "atom2000"), 0);
	sw.now = after;
	assert_int_equal(beam_atoms_count(a), NR_ATOMS);
	assert_int_equal(beam_atom_find(a, "atom2000"), ATOM_TERM(2000));
	beam_atoms_close(a);
	mem_close(before);
	mem_close(after);
	memimage_free(&im);
}

/* A failed read cuts a search short; the next one goes on where it was. */
static void test_find_faults(void **state)
{
	struct memimage im = {0};
	struct mem *m;

	(void)state;
	make_table(&im, NR_ATOMS);
	m = memimage_open(&im);
	for (uint64_t nth = 1; nth < 40; nth++) {
		struct mem *faulty = NULL;
		struct beam_atoms *a;
		uint64_t found;

		assert_int_equal(mem_open_faulty(&faulty, m, 0, 0, nth), 0);
		a = open_made(faulty);
		found = beam_atom_find(a, "atom1100");
		assert_true(found == 0 || found == ATOM_TERM(1100));
		assert_int_equal(beam_atom_find(a, "atom1100"), ATOM_TERM(1100));
		beam_atoms_close(a);
		mem_close(faulty);
	}
	mem_close(m);
	memimage_free(&im);
}

/* Atoms whose fields cannot be: wrong number, impossible length, text nowhere. */
static void test_damaged(void **state)
{
	const struct beam_layout *l = &layout_table_find(25, false)->layout;
	struct memimage im = {0};
	struct beam_atoms *a;
	struct mem *m;

	(void)state;
	make_table(&im, NR_ATOMS);
	memimage_u32(&im, ATOMS + 40 * 1 + (raddr)l->atom_index, 2);
	memimage_u16(&im, ATOMS + 40 * 2 + (raddr)l->atom_len, 0xffff);
	memimage_u16(&im, ATOMS + 40 * 3 + (raddr)l->atom_len, 1021);
	memimage_u64(&im, ATOMS + 40 * 4 + (raddr)l->atom_name, 0);
	memimage_u64(&im, SEGMENTS + 8 * 5, 0);
	memimage_u64(&im, SEG_TABLE + 8, 0);
	m = memimage_open(&im);
	a = open_made(m);
	for (uint32_t i = 1; i <= 5; i++)
		assert_null(beam_atom_text(a, ATOM_TERM(i), NULL));
	assert_null(beam_atom_text(a, ATOM_TERM(1500), NULL));
	assert_string_equal(beam_atom_text(a, ATOM_TERM(6), NULL), "atom6");
	beam_atoms_close(a);
	mem_close(m);
	memimage_free(&im);
}

static void test_open_refuses(void **state)
{
	struct beam_layout l = layout_table_find(25, false)->layout;
	struct memimage im = {0};
	struct beam_atoms *a = NULL;
	struct mem *m;

	(void)state;
	make_table(&im, 10);
	m = memimage_open(&im);
	assert_int_equal(beam_atoms_open(&a, m, &l, 0), -EINVAL);
	l.atom_name = LAYOUT_ABSENT;
	assert_int_equal(beam_atoms_open(&a, m, &l, TABLE), -EINVAL);
	l.atom_name = 4096;
	assert_int_equal(beam_atoms_open(&a, m, &l, TABLE), -EINVAL);
	assert_null(a);
	beam_atoms_close(NULL);
	mem_close(m);
	memimage_free(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_recorded_faults),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_in_growing_table),
		cmocka_unit_test(test_find_faults),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_open_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
