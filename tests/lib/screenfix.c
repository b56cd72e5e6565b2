/* SPDX-License-Identifier: BSD-2-Clause */
/* See screenfix.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/screenfix.h"

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
