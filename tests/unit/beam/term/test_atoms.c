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
#include "beam/otp/layout.h"
#include "beam/term/atoms.h"
#include "lib/image.h"
#include "lib/mem_faulty.h"

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
		struct mem *m = image_load(r->image);
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
		struct mem *m = image_load(r->image);
		bool failed = true;

		for (uint64_t nth = 1; failed; nth++) {
			struct beam_atoms *a = NULL;
			struct mem *faulty = NULL;

			failed = false;
			faulty = mem_open_faulty(m, 0, 0, nth);
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
static void put_table(struct image *im, uint32_t nr)
{
	const struct beam_layout *l = &layout_table_find(25, false)->layout;

	image_u32(im, TABLE + (raddr)l->index_table_entries, nr);
	image_u64(im, TABLE + (raddr)l->index_table_seg_table, SEG_TABLE);
	for (uint32_t i = 0; i < nr; i++) {
		raddr atom = ATOMS + 40 * (raddr)i, text_at = TEXTS + 16 * (raddr)i;
		char text[16];

		snprintf(text, sizeof(text), "atom%u", i);
		image_u64(im, SEG_TABLE + 8 * (raddr)(i / 1024), SEGMENTS + 8192 * (i / 1024));
		image_u64(im, SEGMENTS + 8 * (raddr)i, atom);
		image_u32(im, atom + (raddr)l->atom_index, i);
		image_u16(im, atom + (raddr)l->atom_len, (uint16_t)strlen(text));
		image_u64(im, atom + (raddr)l->atom_name, text_at);
		image_put(im, text_at, text, strlen(text));
	}
}

static struct image *make_table(uint32_t nr)
{
	struct image *im = image_open();

	image_map(im, TABLE, 128);
	image_map(im, SEG_TABLE, 8 * 8);
	image_map(im, SEGMENTS, 3 * 8192);
	image_map(im, ATOMS, NR_ATOMS * 40);
	image_map(im, TEXTS, NR_ATOMS * 16);
	put_table(im, nr);
	return im;
}

static struct beam_atoms *open_made(struct mem *m)
{
	struct beam_atoms *a = NULL;

	assert_int_equal(beam_atoms_open(&a, m, &layout_table_find(25, false)->layout, TABLE), 0);
	return a;
}

static void test_terms(void **state)
{
	struct image *im = make_table(NR_ATOMS);
	struct mem *m = image_mem(im);
	struct beam_atoms *a;

	(void)state;
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
	image_close(im);
}

static void test_find(void **state)
{
	struct image *im = make_table(NR_ATOMS);
	struct mem *m = image_mem(im);
	struct beam_atoms *a;

	(void)state;
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
	image_close(im);
}

/* What was not found is looked for again among the atoms that came since. */
static void test_find_in_growing_table(void **state)
{
	struct image *im = make_table(1500);
	struct beam_atoms *a = open_made(image_mem(im));

	(void)state;
	assert_int_equal(beam_atoms_count(a), 1500);
	assert_int_equal(beam_atom_find(a, "atom2000"), 0);
	put_table(im, NR_ATOMS);
	assert_int_equal(beam_atoms_count(a), NR_ATOMS);
	assert_int_equal(beam_atom_find(a, "atom2000"), ATOM_TERM(2000));
	beam_atoms_close(a);
	image_close(im);
}

/* A failed read cuts a search short; the next one goes on where it was. */
static void test_find_faults(void **state)
{
	struct image *im = make_table(NR_ATOMS);
	struct mem *m = image_mem(im);

	(void)state;
	for (uint64_t nth = 1; nth < 40; nth++) {
		struct mem *faulty = NULL;
		struct beam_atoms *a;
		uint64_t found;

		faulty = mem_open_faulty(m, 0, 0, nth);
		a = open_made(faulty);
		found = beam_atom_find(a, "atom1100");
		assert_true(found == 0 || found == ATOM_TERM(1100));
		assert_int_equal(beam_atom_find(a, "atom1100"), ATOM_TERM(1100));
		beam_atoms_close(a);
		mem_close(faulty);
	}
	image_close(im);
}

/* Atoms whose fields cannot be: wrong number, impossible length, text nowhere. */
static void test_damaged(void **state)
{
	const struct beam_layout *l = &layout_table_find(25, false)->layout;
	struct image *im = make_table(NR_ATOMS);
	struct mem *m = image_mem(im);
	struct beam_atoms *a;

	(void)state;
	image_u32(im, ATOMS + 40 * 1 + (raddr)l->atom_index, 2);
	image_u16(im, ATOMS + 40 * 2 + (raddr)l->atom_len, 0xffff);
	image_u16(im, ATOMS + 40 * 3 + (raddr)l->atom_len, 1021);
	image_u64(im, ATOMS + 40 * 4 + (raddr)l->atom_name, 0);
	image_u64(im, SEGMENTS + 8 * 5, 0);
	image_u64(im, SEG_TABLE + 8, 0);
	a = open_made(m);
	for (uint32_t i = 1; i <= 5; i++)
		assert_null(beam_atom_text(a, ATOM_TERM(i), NULL));
	assert_null(beam_atom_text(a, ATOM_TERM(1500), NULL));
	assert_string_equal(beam_atom_text(a, ATOM_TERM(6), NULL), "atom6");
	beam_atoms_close(a);
	image_close(im);
}

static void test_open_refuses(void **state)
{
	struct beam_layout l = layout_table_find(25, false)->layout;
	struct image *im = make_table(10);
	struct mem *m = image_mem(im);
	struct beam_atoms *a = NULL;

	(void)state;
	assert_int_equal(beam_atoms_open(&a, m, &l, 0), -EINVAL);
	l.atom_name = LAYOUT_ABSENT;
	assert_int_equal(beam_atoms_open(&a, m, &l, TABLE), -EINVAL);
	l.atom_name = 4096;
	assert_int_equal(beam_atoms_open(&a, m, &l, TABLE), -EINVAL);
	assert_null(a);
	beam_atoms_close(NULL);
	image_close(im);
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
