/* SPDX-License-Identifier: BSD-2-Clause */
/* See screenfix.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/screenfix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "lib/golden.h"

char *screenfix_text(const struct screen *s)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	screen_write_text(s, f);
	fclose(f);
	return text;
}

void screenfix_expect(const struct screen *s, const char *want)
{
	char *text = screenfix_text(s);

	assert_string_equal(text, want);
	free(text);
	screenfix_check_cells(s);
}

static void check_golden(const struct screen *s, const char *name, const char *suffix,
			 void (*write)(const struct screen *s, FILE *f))
{
	char *path = xasprintf("screen/%s.%s", name, suffix), *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	write(s, f);
	fclose(f);
	golden_check(path, text, len);
	free(text);
	free(path);
	screenfix_check_cells(s);
}

void screenfix_check_golden(const struct screen *s, const char *name)
{
	check_golden(s, name, "exp", screen_write_text);
}

void screenfix_check_picture(const struct screen *s, const char *name)
{
	check_golden(s, name, "svg", screen_write_svg);
}

static bool may_be_seen(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0x200b && c <= 0x200f) &&
	       !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff &&
	       c != 0x061c && !(c >= 0xd800 && c < 0xe000) && c <= 0x10ffff;
}

void screenfix_check_cells(const struct screen *s)
{
	for (unsigned row = 0; row < screen_rows(s); row++) {
		for (unsigned column = 0; column < screen_columns(s); column++) {
			const struct screen_cell *cell = screen_at(s, row, column);

			assert_true(cell->width <= 2);
			if (cell->width == 2) {
				assert_true(column + 1 < screen_columns(s));
				assert_int_equal(cell[1].width, 0);
			}
			if (cell->width == 0)
				assert_true(column > 0 && cell[-1].width == 2);
			assert_true(cell->style < NR_SCREEN_STYLES);
			assert_true(cell->ground < NR_SCREEN_STYLES);
			assert_true(may_be_seen(cell->c[0]));
			for (int i = 1; i < SCREEN_CELL_CHARS && cell->c[i]; i++)
				assert_true(may_be_seen(cell->c[i]));
		}
	}
}

static void zoo_styles(struct screen *s, unsigned row)
{
	static const char *const names[NR_SCREEN_STYLES] = {
		"plain", "dim",	   "bold", "title", "heading", "sorted", "selected",
		"tab",	 "tab on", "key",  "good",  "warn",    "bad",	 "Erlang",
		"GC",	 "BIF",	   "NIF",  "port",  "other",   "idle"};

	for (unsigned i = 0; i < NR_SCREEN_STYLES; i++)
		screen_textf(s, row + i / 7, i % 7 * 10, 9, (enum screen_style)i, "%s", names[i]);
}

static void zoo_bars(struct screen *s, unsigned row, unsigned columns)
{
	const struct screen_part parts[] = {
		{0.31, SCREEN_ERLANG}, {0.07, SCREEN_GC},    {0.12, SCREEN_BIF}, {0.05, SCREEN_NIF},
		{0.11, SCREEN_PORT},   {0.09, SCREEN_OTHER}, {0.25, SCREEN_IDLE}};
	const struct screen_part one[] = {{0.4242, SCREEN_WARN}};
	float values[60];

	for (int i = 0; i < 60; i++)
		values[i] = i == 30 ? NAN : (float)(1 + sin(i / 5.0));
	screen_bar(s, row, 2, columns - 4, parts, ARRAY_SIZE(parts));
	screen_bar(s, row + 1, 2, 30, one, 1);
	screen_sparkline(s, row + 1, 34, 40, SCREEN_GOOD, values, 60, 2);
}

struct screen *screenfix_zoo(unsigned rows, unsigned columns)
{
	static const char hostile[] = "\033[31mred\a\xff \xe2\x80\xae"
				      "back <&>\"";
	static const char wide[] =
		"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e e\xcc\x81 \xf0\x9f\x98\x80";
	struct screen *s;

	screen_open(&s, rows, columns);
	screen_fill(s, 0, 0, columns, SCREEN_HEADING, ' ');
	screen_text(s, 0, 1, 20, SCREEN_HEADING, "PID", 3);
	screen_text_right(s, 0, 10, 12, SCREEN_SORTED, "REDUCTIONS", 10);
	zoo_styles(s, 2);
	zoo_bars(s, 6, columns);
	screen_text(s, 9, 2, columns, SCREEN_PLAIN, hostile, sizeof(hostile) - 1);
	screen_text(s, 10, 2, columns, SCREEN_BOLD, wide, sizeof(wide) - 1);
	screen_fill(s, 11, 0, columns, SCREEN_DIM, 0x2500);
	screen_textf(s, rows - 1, columns - 5, 5, SCREEN_KEY, "%s", "\xe2\x86\x91\xe2\x86\x93 end");
	return s;
}
