/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of a node on a screen, and cleaned: no cell and no text may hold what a terminal must not
 * see, halves of wide characters stay together, and widths are what was promised.
 */
#include <stdlib.h>
#include <string.h>

#include "names/utf8.h"
#include "view/screen/characters.h"
#include "view/screen/screen.h"

#define ROWS	4
#define COLUMNS 30

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool acts(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xe0000 && c < 0xe0100);
}

static void check_cells(const struct screen *s)
{
	for (unsigned row = 0; row < ROWS; row++) {
		for (unsigned column = 0; column < COLUMNS; column++) {
			const struct screen_cell *cell = screen_at(s, row, column);

			require(cell->width <= 2 && cell->c[0]);
			if (cell->width == 2)
				require(column + 1 < COLUMNS && cell[1].width == 0);
			if (cell->width == 0)
				require(column > 0 && cell[-1].width == 2);
			for (int i = 0; i < SCREEN_CELL_CHARS && cell->c[i]; i++)
				require(!acts(cell->c[i]));
		}
	}
}

static void try_clean(const char *text, size_t size)
{
	size_t width = characters_width(text, size), cut = characters_cut(text, size, COLUMNS);
	struct strbuf clean = STRBUF_INIT;

	require(cut <= size && characters_width(text, cut) <= COLUMNS);
	require(cut == size || width > COLUMNS);
	strbuf_add(&clean, text, size);
	characters_clean(&clean, false);
	require(characters_width(clean.buf, clean.len) == width);
	for (size_t i = 0; i < clean.len;) {
		uint32_t c;

		i += utf8_decode(clean.buf + i, clean.len - i, &c);
		require(!acts(c));
	}
	strbuf_free(&clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char *written = NULL;
	struct screen *s;
	size_t len;
	FILE *f;

	try_clean(text, size);
	screen_open(&s, ROWS, COLUMNS);
	/* Pieces over each other, here and there, as the bytes say. */
	for (size_t at = 0; at + 4 <= size; at += 3) {
		unsigned row = data[at] % (ROWS + 1), column = data[at + 1] % (COLUMNS + 3);
		unsigned width = data[at + 2] % (COLUMNS + 3), used;
		size_t part = size - at < 40 ? size - at : 40;

		screen_set_utf8(s, data[at + 3] & 1);
		if (data[at + 3] & 2)
			screen_text_right(s, row, column, width, SCREEN_BOLD, text + at, part);
		used = screen_text(s, row, column, width, SCREEN_PLAIN, text + at, part);
		require(used <= width);
	}
	check_cells(s);
	f = open_memstream(&written, &len);
	screen_write_text(s, f);
	screen_write_ansi(s, f);
	screen_write_svg(s, f);
	fclose(f);
	free(written);
	screen_close(s);
	return 0;
}
