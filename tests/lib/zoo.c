/* SPDX-License-Identifier: BSD-2-Clause */
/* See zoo.h. */
#include "lib/zoo.h"

#include <math.h>

#include "base/compiler.h"

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
	screen_bar(s, row, 2, columns - MIN(columns, 4u), parts, ARRAY_SIZE(parts));
	screen_bar(s, row + 1, 2, 30, one, 1);
	screen_sparkline(s, row + 1, 34, 40, SCREEN_GOOD, values, 60, 2);
}

void zoo_draw(struct screen *s)
{
	static const char hostile[] = "\033[31mred\a\xff \xe2\x80\xae"
				      "back <&>\"";
	static const char wide[] =
		"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e e\xcc\x81 \xf0\x9f\x98\x80";
	unsigned rows = screen_rows(s), columns = screen_columns(s);

	screen_clear(s);
	screen_fill(s, 0, 0, columns, SCREEN_HEADING, ' ');
	screen_text(s, 0, 1, 20, SCREEN_HEADING, "PID", 3);
	screen_text_right(s, 0, 10, 12, SCREEN_SORTED, "REDUCTIONS", 10);
	zoo_styles(s, 2);
	zoo_bars(s, 6, columns);
	screen_text(s, 9, 2, columns, SCREEN_PLAIN, hostile, sizeof(hostile) - 1);
	screen_text(s, 10, 2, columns, SCREEN_BOLD, wide, sizeof(wide) - 1);
	screen_fill(s, 11, 0, columns, SCREEN_DIM, 0x2500);
	screen_textf(s, rows - MIN(rows, 1u), columns - MIN(columns, 5u), 5, SCREEN_KEY, "%s",
		     "\xe2\x86\x91\xe2\x86\x93 end");
}

struct screen *zoo_screen(unsigned rows, unsigned columns)
{
	struct screen *s;

	screen_open(&s, rows, columns);
	zoo_draw(s);
	return s;
}
