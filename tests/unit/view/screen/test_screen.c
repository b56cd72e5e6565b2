/* SPDX-License-Identifier: BSD-2-Clause */
/* The grid that views draw on: clipping, widths, hostile text, bars, sparklines, what it writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/screenfix.h"
#include "lib/zoo.h"
#include "names/utf8.h"
#include "view/screen/characters.h"
#include "view/screen/screen_style.h"

#define NIHON "\xe6\x97\xa5\xe6\x9c\xac" /* two characters, four columns */

static struct screen *open_screen(unsigned rows, unsigned columns)
{
	struct screen *s;

	assert_int_equal(screen_open(&s, rows, columns), 0);
	return s;
}

static unsigned text_at(struct screen *s, unsigned row, unsigned column, unsigned width,
			const char *text)
{
	return screen_text(s, row, column, width, SCREEN_PLAIN, text, strlen(text));
}

/* ---- characters ------------------------------------------------------------------------------ */

static size_t width_of(const char *text)
{
	return screen_text_width(text, strlen(text));
}

static void test_widths(void **state)
{
	UNUSED(state);
	assert_int_equal(width_of(""), 0);
	assert_int_equal(width_of("abc"), 3);
	assert_int_equal(width_of("\xce\xbb"), 1);
	assert_int_equal(width_of(NIHON), 4);
	assert_int_equal(width_of("e\xcc\x81"), 1);		   /* e and an acute accent */
	assert_int_equal(width_of("\xcc\x81"), 1);		   /* nothing that it could join */
	assert_int_equal(width_of("\xf0\x9f\x98\x80"), 2);	   /* a face */
	assert_int_equal(width_of("\xe2\x9d\xa4\xef\xb8\x8f"), 1); /* a heart, as an emoji */
	assert_int_equal(width_of("\xe0\xa4\xa8\xe0\xa4\xbf"), 2); /* a letter, a spacing mark */
	assert_int_equal(width_of("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), 2); /* han, in parts */
	assert_int_equal(width_of("\033[1m"), 4);
	assert_int_equal(width_of("\xff\xfe"), 2);
	assert_int_equal(width_of("a\xc0\x80"
				  "b"),
			 3); /* how a NUL is written */
}

static void test_cut(void **state)
{
	UNUSED(state);
	assert_int_equal(characters_cut("abc", 3, 0), 0);
	assert_int_equal(characters_cut("abc", 3, 2), 2);
	assert_int_equal(characters_cut("abc", 3, 4), 3);
	assert_int_equal(characters_cut(NIHON, 6, 3), 3);
	assert_int_equal(characters_cut("e\xcc\x81x", 4, 1), 3); /* with its accent */
	assert_int_equal(characters_cut("\033x", 2, 1), 1);
}

static void expect_clean(const char *text, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, text);
	characters_clean(&sb, true);
	assert_string_equal(sb.buf, want);
	assert_int_equal(sb.len, strlen(want));
	strbuf_free(&sb);
}

static void test_clean(void **state)
{
	UNUSED(state);
	expect_clean("", "");
	expect_clean("as it is\n", "as it is\n");
	expect_clean("\xce\xbb " NIHON, "\xce\xbb " NIHON);
	expect_clean("a\033[2Jb\r\x7f", "a?[2Jb??");
	expect_clean("a\xc2\x9b"
		     "2J",
		     "a?2J"); /* CSI in one character */
	expect_clean("a\xe2\x80\xae"
		     "b\xe2\x81\xa6",
		     "a?b?"); /* direction */
	expect_clean("a\xe2\x80\x8b"
		     "b\xef\xbb\xbf",
		     "a?b?"); /* nothing to be seen */
	expect_clean("a\xff"
		     "b\xe6\x97",
		     "a\xef\xbf\xbd"
		     "b\xef\xbf\xbd\xef\xbf\xbd");
	expect_clean("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
	expect_clean("a\n\xcc\x81", "a\n?"); /* accents join nothing on the line before */
	expect_clean("\xf4\x8f\xbf\xbf", "\xef\xbf\xbd"); /* U+10FFFF is no character */
}

/* All of Unicode: what is shown takes a column or two, or joins what has one; cleaning twice is
 * cleaning once, and changes no width. */
static void test_all_characters(void **state)
{
	size_t nr_shown = 0;

	UNUSED(state);
	for (uint32_t c = 0; c < 0x110000; c++) {
		struct strbuf text = STRBUF_INIT;
		size_t width, len;
		struct character shown;

		strbuf_addch(&text, 'a');
		utf8_add(&text, c);
		width = characters_width(text.buf, text.len);
		assert_in_range(width, 1, 4);
		character_next(text.buf + 1, text.len - 1, true, &shown);
		nr_shown += shown.c == c;
		characters_clean(&text, false);
		if (c < 0xd800 || c >= 0xe000) /* bytes of a surrogate are wrong one by one */
			assert_int_equal(characters_width(text.buf, text.len), width);
		len = text.len;
		characters_clean(&text, false);
		assert_int_equal(text.len, len);
		strbuf_free(&text);
	}
	assert_in_range(nr_shown, 140000, 300000);
}

static void test_ascii(void **state)
{
	UNUSED(state);
	assert_int_equal(character_ascii('a'), 'a');
	assert_int_equal(character_ascii(0x2500), '-');
	assert_int_equal(character_ascii(0x2502), '|');
	assert_int_equal(character_ascii(0x251c), '+');
	assert_int_equal(character_ascii(0x2191), '^');
	assert_int_equal(character_ascii(0x2588), '#');
	assert_int_equal(character_ascii(0x3bb), '?');
	assert_int_equal(character_ascii(0x7f), '?');
}

/* ---- text on the grid ------------------------------------------------------------------------ */

static void test_text(void **state)
{
	struct screen *s = open_screen(3, 10);

	UNUSED(state);
	assert_int_equal(text_at(s, 0, 2, 5, "abc"), 3);
	assert_int_equal(text_at(s, 1, 0, 4, "abcdef"), 4);
	assert_int_equal(screen_textf(s, 2, 1, 9, SCREEN_BAD, "%d%%", 42), 3);
	screenfix_expect(s, "  abc\nabcd\n 42%\n");
	assert_int_equal(screen_at(s, 2, 1)->style, SCREEN_BAD);
	assert_int_equal(screen_at(s, 2, 4)->style, SCREEN_PLAIN);
	assert_null(screen_at(s, 3, 0));
	assert_null(screen_at(s, 0, 10));
	screen_clear(s);
	screenfix_expect(s, "\n\n\n");
	screen_close(s);
	screen_close(NULL);
}

static void test_clipping(void **state)
{
	static const unsigned far[] = {0, 3, 4, 5, 100, INT_MAX, UINT_MAX - 3, UINT_MAX};
	const struct screen_part part = {0.9, SCREEN_GC};
	const float values[] = {1, 2, 3};
	struct screen *s = open_screen(2, 5);

	UNUSED(state);
	assert_int_equal(text_at(s, 0, 3, 20, "abcdef"), 6); /* of which two are in the grid */
	text_at(s, 2, 0, 5, "below");
	text_at(s, 1, 5, 5, "beside");
	text_at(s, UINT_MAX, UINT_MAX, UINT_MAX, "far");
	screenfix_expect(s, "   ab\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(far); j++) {
			text_at(s, 0, far[i], far[j], NIHON "abc");
			screen_text_right(s, 1, far[i], far[j], SCREEN_DIM, "ab" NIHON, 8);
			screen_bar(s, 1, far[i], far[j], &part, 1);
			screen_sparkline(s, 1, far[i], far[j], SCREEN_GOOD, values, 3, 0);
			screen_fill(s, 1, far[i], far[j], SCREEN_BOLD, '#');
			screen_restyle(s, 1, far[i], far[j], SCREEN_BAD);
			screen_fill(s, far[i], far[j], far[i], SCREEN_BOLD, '#');
			screenfix_check_cells(s);
		}
	}
	screen_close(s);
}

static void test_sizes(void **state)
{
	struct screen *s = open_screen(0, 0);

	UNUSED(state);
	text_at(s, 0, 0, 10, "nowhere");
	screenfix_expect(s, "");
	screen_resize(s, 0, 7);
	text_at(s, 0, 0, 10, "nowhere");
	screen_resize(s, 1, 3);
	text_at(s, 0, 0, 10, "nowhere");
	screenfix_expect(s, "now\n");
	screen_resize(s, 1, 3);
	screenfix_expect(s, "\n");
	screen_resize(s, 65535, 65535);
	assert_int_equal(screen_rows(s), SCREEN_MAX_ROWS);
	assert_int_equal(screen_columns(s), SCREEN_MAX_COLUMNS);
	screen_close(s);
}

static void test_wide(void **state)
{
	struct screen *s = open_screen(1, 6);

	UNUSED(state);
	assert_int_equal(text_at(s, 0, 0, 6, NIHON), 4);
	assert_int_equal(screen_at(s, 0, 0)->width, 2);
	assert_int_equal(screen_at(s, 0, 1)->width, 0);
	screenfix_expect(s, NIHON "\n");
	text_at(s, 0, 1, 1, "x"); /* on a right half */
	screenfix_expect(s, " x\xe6\x9c\xac\n");
	text_at(s, 0, 2, 1, "y"); /* on a left half */
	screenfix_expect(s, " xy\n");
	text_at(s, 0, 1, 4, NIHON); /* two on three */
	text_at(s, 0, 0, 2, "\xe6\x97\xa5");
	screenfix_expect(s, "\xe6\x97\xa5 \xe6\x9c\xac\n");
	screen_clear(s);
	assert_int_equal(text_at(s, 0, 0, 3, NIHON), 2); /* half of one is none */
	screenfix_expect(s, "\xe6\x97\xa5\n");
	text_at(s, 0, 5, 4, NIHON); /* nor is it at the edge of the grid */
	screenfix_expect(s, "\xe6\x97\xa5\n");
	screen_fill(s, 0, 0, 6, SCREEN_PLAIN, ' ');
	screen_text_right(s, 0, 0, 6, SCREEN_PLAIN, "a" NIHON, 7);
	screenfix_expect(s, " a" NIHON "\n");
	screen_close(s);
}

static void test_combining(void **state)
{
	struct screen *s = open_screen(1, 6);

	UNUSED(state);
	assert_int_equal(text_at(s, 0, 0, 6, "e\xcc\x81x"), 2);
	assert_int_equal(screen_at(s, 0, 0)->c[1], 0x301);
	screenfix_expect(s, "e\xcc\x81x\n");
	/* It does not join what another text has left beside it. */
	text_at(s, 0, 1, 6, "\xcc\x81");
	screenfix_expect(s, "e\xcc\x81?\n");
	/* A pile of accents is cut, and takes one column. */
	assert_int_equal(text_at(s, 0, 0, 6, "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85y"), 2);
	screenfix_expect(s, "e\xcc\x81\xcc\x82\xcc\x83y\n");
	/* It joins the last character, also if the text is cut there. */
	text_at(s, 0, 0, 1, "e\xcc\x81x");
	assert_int_equal(screen_at(s, 0, 0)->c[1], 0x301);
	/* What is drawn over it does not inherit it. */
	text_at(s, 0, 0, 2, "ab");
	screenfix_expect(s, "ab\n");
	screen_close(s);
}

static void test_hostile(void **state)
{
	struct screen *s = open_screen(1, 40);

	UNUSED(state);
	text_at(s, 0, 0, 40, "\033]0;x\a\r\n\t\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81 \xff");
	screenfix_expect(s, "?]0;x???????? \xef\xbf\xbd\n");
	screen_fill(s, 0, 0, 40, SCREEN_PLAIN, ' ');
	assert_int_equal(screen_text(s, 0, 0, 9, SCREEN_PLAIN, "a\0b", 3), 3);
	screenfix_expect(s, "a?b\n");
	screen_fill(s, 0, 0, 2, SCREEN_PLAIN, '\033');
	screen_fill(s, 0, 2, 2, SCREEN_PLAIN, 0x65e5);
	screenfix_expect(s, "????\n");
	screen_close(s);
}

static void test_restyle(void **state)
{
	struct screen *s = open_screen(1, 6);
	const struct screen_part parts[] = {{0.45, SCREEN_GC}, {0.2, SCREEN_BIF}};

	UNUSED(state);
	screen_bar(s, 0, 0, 6, parts, 2);
	assert_int_equal(screen_at(s, 0, 2)->ground, SCREEN_BIF);
	text_at(s, 0, 5, 1, "x");
	screen_restyle(s, 0, 1, 5, SCREEN_SELECTED);
	assert_int_equal(screen_at(s, 0, 0)->style, SCREEN_GC);
	for (unsigned i = 1; i < 6; i++) {
		assert_int_equal(screen_at(s, 0, i)->style, SCREEN_SELECTED);
		assert_int_equal(screen_at(s, 0, i)->ground, SCREEN_PLAIN);
	}
	assert_int_equal(screen_at(s, 0, 5)->c[0], 'x');
	screen_close(s);
}

/* ---- bars and sparklines --------------------------------------------------------------------- */

/* Eighths of each style that a bar shows. */
static void measure(const struct screen *s, unsigned *eighths)
{
	memset(eighths, 0, NR_SCREEN_STYLES * sizeof(*eighths));
	for (unsigned i = 0; i < screen_columns(s); i++) {
		const struct screen_cell *cell = screen_at(s, 0, i);
		unsigned left = 0;

		if (cell->c[0] != ' ') {
			assert_in_range(cell->c[0], 0x2588, 0x258f);
			left = 0x2590 - cell->c[0];
			eighths[cell->style] += left;
		}
		if (left < 8)
			eighths[cell->ground ? cell->ground : SCREEN_IDLE] += 8 - left;
	}
}

static void test_bar_measures(void **state)
{
	struct screen *s = open_screen(1, 20);
	unsigned seen[NR_SCREEN_STYLES];

	UNUSED(state);
	for (unsigned a = 0; a <= 100; a += 3) {
		for (unsigned b = 0; a + b <= 100; b += 7) {
			const struct screen_part parts[] = {{a / 100.0, SCREEN_ERLANG},
							    {b / 100.0, SCREEN_GC}};
			unsigned sum;

			screen_clear(s);
			screen_bar(s, 0, 0, 20, parts, 2);
			measure(s, seen);
			sum = seen[SCREEN_ERLANG] + seen[SCREEN_GC] + seen[SCREEN_IDLE];
			assert_int_equal(sum, 160);
			assert_true(fabs(seen[SCREEN_ERLANG] - a * 1.6) <= 0.51);
			/* All three in one column: what the shortest had, the others have. */
			assert_true(fabs(seen[SCREEN_GC] - b * 1.6) <= (a + b == 100 ? 1.01 : 4));
		}
	}
	screen_close(s);
}

static void test_bar_edges(void **state)
{
	const struct screen_part odd[] = {
		{NAN, SCREEN_GC}, {-0.5, SCREEN_BIF}, {0.5, SCREEN_ERLANG}, {INFINITY, SCREEN_NIF}};
	const struct screen_part gap[] = {
		{0.25, SCREEN_ERLANG}, {0.5, SCREEN_IDLE}, {0.25, SCREEN_GC}};
	struct screen_part many[100];
	struct screen *s = open_screen(1, 8);
	unsigned seen[NR_SCREEN_STYLES];

	UNUSED(state);
	screen_bar(s, 0, 0, 8, odd, ARRAY_SIZE(odd));
	measure(s, seen);
	assert_int_equal(seen[SCREEN_ERLANG], 32);
	assert_int_equal(seen[SCREEN_NIF], 32);
	screen_bar(s, 0, 0, 8, gap, ARRAY_SIZE(gap));
	measure(s, seen);
	assert_int_equal(seen[SCREEN_ERLANG], 16);
	assert_int_equal(seen[SCREEN_GC], 16);
	for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct screen_part){0.01, i % 2 ? SCREEN_GC : SCREEN_BIF};
	screen_bar(s, 0, 0, 8, many, ARRAY_SIZE(many));
	measure(s, seen);
	assert_int_equal(seen[SCREEN_GC] + seen[SCREEN_BIF], 64);
	screen_bar(s, 0, 0, 8, NULL, 0);
	screenfix_expect(s, "\n");
	screen_close(s);
}

static void test_bar_letters(void **state)
{
	const struct screen_part parts[] = {{0.25, SCREEN_ERLANG}, {0.125, SCREEN_GC},
					    {0.125, SCREEN_BIF},   {0.125, SCREEN_NIF},
					    {0.125, SCREEN_PORT},  {0.06, SCREEN_OTHER},
					    {0.065, SCREEN_IDLE},  {0.125, SCREEN_BAD}};
	struct screen *s = open_screen(1, 16);

	UNUSED(state);
	screen_set_color(s, false);
	screen_bar(s, 0, 0, 16, parts, ARRAY_SIZE(parts));
	screenfix_expect(s, "eeeeggbbnnppo ||\n");
	screen_set_color(s, true);
	screen_set_utf8(s, false);
	screen_bar(s, 0, 0, 16, parts, ARRAY_SIZE(parts));
	screenfix_expect(s, "eeeeggbbnnppo ||\n");
	screen_close(s);
}

static void test_sparkline(void **state)
{
	const float values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, NAN, -1, 100};
	const float still[] = {1000, 1000, 1030, 1000};
	struct screen *s = open_screen(1, 14);

	UNUSED(state);
	screen_sparkline(s, 0, 0, 14, SCREEN_GOOD, values, ARRAY_SIZE(values), 8);
	screenfix_expect(s, "  \xe2\x96\x81\xe2\x96\x82\xe2\x96\x83\xe2\x96\x84\xe2\x96\x85"
			    "\xe2\x96\x86\xe2\x96\x87\xe2\x96\x88\xe2\x96\x88 \xe2\x96\x81"
			    "\xe2\x96\x88\n");
	screen_set_utf8(s, false);
	screen_sparkline(s, 0, 0, 14, SCREEN_GOOD, values, ARRAY_SIZE(values), 8);
	screenfix_expect(s, "  _.-:=+*## _#\n");
	/* The newest are shown, from their least to their greatest. */
	screen_clear(s);
	screen_sparkline(s, 0, 1, 3, SCREEN_GOOD, values, 9, 0);
	screenfix_expect(s, " _=#\n");
	screen_sparkline(s, 0, 1, 3, SCREEN_GOOD, values, 1, 0);
	screenfix_expect(s, "   _\n");
	/* What is always the same is a low line, and what hardly changes nearly so. */
	screen_sparkline(s, 0, 1, 4, SCREEN_GOOD, still, 4, 0);
	screenfix_expect(s, " __-_\n");
	screen_clear(s);
	screen_sparkline(s, 0, 1, 3, SCREEN_GOOD, still, 2, 0);
	screenfix_expect(s, "  __\n");
	screen_clear(s);
	screen_sparkline(s, 0, 1, 3, SCREEN_GOOD, NULL, 0, 0);
	screenfix_expect(s, "\n");
	screen_close(s);
}

/* ---- written --------------------------------------------------------------------------------- */

static void test_ascii_screen(void **state)
{
	struct screen *s = open_screen(2, 20);

	UNUSED(state);
	screen_set_utf8(s, false);
	text_at(s, 0, 0, 20, "\xce\xbb " NIHON " e\xcc\x81 \xe2\x94\x9c\xe2\x94\x80 \xe2\x80\xa6");
	screen_fill(s, 1, 0, 3, SCREEN_PLAIN, 0x2500);
	screenfix_expect(s, "? ? ?  e +- .\n---\n");
	screen_close(s);
}

static void test_written(void **state)
{
	struct screen *s = zoo_screen(14, 80);

	UNUSED(state);
	screenfix_check_golden(s, "zoo");
	screenfix_check_picture(s, "zoo");
	screen_close(s);
	for (unsigned columns = 0; columns < 90; columns += 11) {
		s = zoo_screen(12, columns);
		screenfix_check_cells(s);
		screen_close(s);
	}
}

static void test_ansi(void **state)
{
	struct screen *s = open_screen(2, 4);
	const struct screen_part parts[] = {{0.4, SCREEN_GC}, {0.6, SCREEN_PORT}};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	UNUSED(state);
	screen_text(s, 0, 1, 2, SCREEN_TAB_ON, "ab", 2);
	screen_bar(s, 1, 0, 3, parts, 2);
	screen_write_ansi(s, f);
	screen_set_color(s, false);
	screen_write_ansi(s, f);
	fclose(f);
	assert_string_equal(text, " \033[0;1;38;5;231;48;5;31mab\033[0m \n"
				  "\033[0;38;5;167m\xe2\x96\x88\033[0;38;5;167;48;5;73m\xe2\x96\x8e"
				  "\033[0;38;5;73m\xe2\x96\x88\033[0m \n"
				  " \033[0;1;7mab\033[0m \n"
				  "\xe2\x96\x88\xe2\x96\x8e\xe2\x96\x88 \n");
	free(text);
	screen_close(s);
}

static void test_samples(void **state)
{
	UNUSED(state);
	assert_int_equal(style_rgb(16), 0x000000);
	assert_int_equal(style_rgb(231), 0xffffff);
	assert_int_equal(style_rgb(167), 0xd75f5f);
	assert_int_equal(style_rgb(232), 0x080808);
	assert_int_equal(style_rgb(255), 0xeeeeee);
	for (int i = 0; i < NR_SCREEN_STYLES; i++) {
		const struct cell_style *l = screen_style_of((enum screen_style)i);

		/* A background without its own ink could not be read on every terminal. */
		assert_true(l->of_256.ground < 0 || l->of_256.ink >= 0);
		assert_true(l->of_8.ground < 0 || l->of_8.ink >= 0);
		assert_in_range(l->of_8.ink + 1, 0, 8);
		assert_in_range(l->of_8.ground + 1, 0, 8);
	}
	assert_ptr_equal(screen_style_of(NR_SCREEN_STYLES), screen_style_of(SCREEN_PLAIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),	     cmocka_unit_test(test_cut),
		cmocka_unit_test(test_clean),	     cmocka_unit_test(test_all_characters),
		cmocka_unit_test(test_ascii),	     cmocka_unit_test(test_text),
		cmocka_unit_test(test_clipping),     cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_wide),	     cmocka_unit_test(test_combining),
		cmocka_unit_test(test_hostile),	     cmocka_unit_test(test_restyle),
		cmocka_unit_test(test_bar_measures), cmocka_unit_test(test_bar_edges),
		cmocka_unit_test(test_bar_letters),  cmocka_unit_test(test_sparkline),
		cmocka_unit_test(test_ascii_screen), cmocka_unit_test(test_written),
		cmocka_unit_test(test_ansi),	     cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
