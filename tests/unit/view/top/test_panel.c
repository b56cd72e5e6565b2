/* SPDX-License-Identifier: BSD-2-Clause */
/* A panel as people use it: keys, filter, order, the selected row from reading to reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "lib/screenfix.h"
#include "view/top/panel.h"

struct item {
	uint64_t id;
	const char *name;
	int weight;
};

static void text_name(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ((const struct item *)row)->name);
}

static void text_weight(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%d", ((const struct item *)row)->weight);
}

static void text_id(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "id-%d", (int)((const struct item *)row)->id);
}

static int by_weight(const void *a, const void *b)
{
	return ((const struct item *)b)->weight - ((const struct item *)a)->weight;
}

static uint64_t item_id(const void *row)
{
	return ((const struct item *)row)->id;
}

static const struct table_column columns[] = {
	{"name", "NAME", .text = text_name},
	{"weight", "WEIGHT", TABLE_RIGHT, .text = text_weight, .compare = by_weight},
	{"id", "ID", .hidden = true, .text = text_id},
	{0},
};

static const struct item fruits[] = {
	{1, "pear", 200}, {2, "apple", 180}, {3, "Fig", 50}, {4, "plum", 50}, {5, "", 7}};

struct fixture {
	struct panel *panel;
	struct panel_source source;
	struct screen *screen;
};

static int set_up(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	panel_open(&x->panel, NULL, "weight");
	x->source = (struct panel_source){
		.table = {columns, fruits, ARRAY_SIZE(fruits), sizeof(fruits[0]), NULL},
		.id = item_id,
		.reading = 1,
	};
	screen_open(&x->screen, 6, 20);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	panel_close(x->panel);
	screen_close(x->screen);
	free(x);
	return 0;
}

static void draw(struct fixture *x)
{
	screen_clear(x->screen);
	panel_draw(x->panel, x->screen, 0, 0, screen_rows(x->screen), screen_columns(x->screen),
		   &x->source);
	screenfix_check_cells(x->screen);
}

static void expect(struct fixture *x, const char *want)
{
	draw(x);
	screenfix_expect(x->screen, want);
}

static enum panel_result press(struct fixture *x, enum terminal_key_kind kind, uint32_t c)
{
	struct terminal_key key = {.kind = kind, .c = c};

	return panel_key(x->panel, &key, &x->source);
}

static void type(struct fixture *x, const char *text)
{
	for (; *text; text++)
		press(x, TERMINAL_KEY_CHAR, (unsigned char)*text);
}

static enum panel_result click(struct fixture *x, unsigned row, unsigned column)
{
	struct terminal_key key = {
		.kind = TERMINAL_KEY_MOUSE, .row = row, .column = column, .button = 1};

	draw(x);
	return panel_key(x->panel, &key, &x->source);
}

static void expect_columns(struct fixture *x, bool name, bool weight, bool id)
{
	unsigned rows = screen_rows(x->screen), wide = screen_columns(x->screen);
	char *all;

	screen_resize(x->screen, rows, 60);
	draw(x);
	all = screenfix_text(x->screen);
	*strchr(all, '\n') = '\0';
	assert_int_equal(strstr(all, "NAME") != NULL, name);
	assert_int_equal(strstr(all, "WEIGHT") != NULL, weight);
	assert_int_equal(strstr(all, "ID") != NULL, id);
	free(all);
	screen_resize(x->screen, rows, wide);
}

static const char *selected(struct fixture *x)
{
	const struct item *row = panel_selected(x->panel, &x->source);

	return row ? row->name : NULL;
}

/* Row of the screen that is shown as the selected one; it is one alone. */
static unsigned selected_row(struct fixture *x)
{
	unsigned found = 0;

	draw(x);
	for (unsigned row = 0; row < screen_rows(x->screen); row++) {
		if (screen_at(x->screen, row, 0)->style != SCREEN_SELECTED)
			continue;
		assert_int_equal(found, 0);
		found = row;
	}
	return found;
}

static void rows_stand_in_order(void **state)
{
	struct fixture *x = *state;

	expect(x, "NAME   WEIGHT\xe2\x96\xbc\n"
		  "pear       200\n"
		  "apple      180\n"
		  "Fig         50\n"
		  "plum        50\n"
		  "-            7\n");
	type(x, "I");
	assert_string_equal(panel_sort(x->panel), "-weight");
	expect(x, "NAME   WEIGHT\xe2\x96\xb2\n"
		  "-            7\n"
		  "Fig         50\n"
		  "plum        50\n"
		  "apple      180\n"
		  "pear       200\n");
	type(x, "<");
	assert_string_equal(panel_sort(x->panel), "name");
	/* Columns do not become narrower while one looks at them. */
	expect(x, "NAME\xe2\x96\xb2   WEIGHT\n"
		  "-            7\n"
		  "Fig         50\n"
		  "apple      180\n"
		  "pear       200\n"
		  "plum        50\n");
	type(x, ">>");
	assert_string_equal(panel_sort(x->panel), "name");
	panel_set_sort(x->panel, NULL);
	assert_string_equal(selected(x), "pear");
}

static void arrows_walk(void **state)
{
	struct fixture *x = *state;

	assert_string_equal(selected(x), "pear");
	press(x, TERMINAL_KEY_UP, 0);
	assert_string_equal(selected(x), "pear");
	press(x, TERMINAL_KEY_DOWN, 0);
	type(x, "j");
	assert_string_equal(selected(x), "Fig");
	assert_int_equal(selected_row(x), 3);
	type(x, "G");
	assert_string_equal(selected(x), "");
	press(x, TERMINAL_KEY_DOWN, 0);
	assert_string_equal(selected(x), "");
	press(x, TERMINAL_KEY_PAGE_UP, 0);
	assert_string_equal(selected(x), "pear");
	assert_int_equal(press(x, TERMINAL_KEY_ENTER, 0), PANEL_OPEN);
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, 'q'), PANEL_IGNORED);
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, '3'), PANEL_IGNORED);
}

/* The screen is smaller than the rows. */
static void what_is_selected_is_seen(void **state)
{
	struct fixture *x = *state;
	struct strbuf where = STRBUF_INIT;

	screen_resize(x->screen, 3, 20);
	draw(x);
	for (unsigned int i = 0; i < 5; i++) {
		assert_true(selected_row(x) > 0);
		press(x, TERMINAL_KEY_DOWN, 0);
	}
	expect(x, "NAME   WEIGHT\xe2\x96\xbc\n"
		  "plum        50\n"
		  "-            7\n");
	panel_describe(x->panel, &where);
	assert_string_equal(where.buf, "4-5 of 5");
	strbuf_free(&where);
}

/* Another reading: rows elsewhere, others, fewer. */
static void the_selected_row_is_followed(void **state)
{
	static const struct item later[] = {
		{9, "kiwi", 900}, {4, "plum", 60}, {8, "lime", 800}, {2, "apple", 500}};
	static const struct item last[] = {{8, "lime", 800}};
	struct fixture *x = *state;

	press(x, TERMINAL_KEY_DOWN, 0);
	assert_string_equal(selected(x), "apple");
	x->source.table.rows = later;
	x->source.table.nr_rows = ARRAY_SIZE(later);
	x->source.reading++;
	assert_string_equal(selected(x), "apple");
	assert_int_equal(selected_row(x), 3);
	x->source.table.rows = last;
	x->source.table.nr_rows = 1;
	x->source.reading++;
	assert_string_equal(selected(x), "lime"); /* gone: what is there now */
	x->source.table.nr_rows = 0;
	assert_null(selected(x));
	assert_int_equal(press(x, TERMINAL_KEY_ENTER, 0), PANEL_HANDLED);
	press(x, TERMINAL_KEY_DOWN, 0);
	expect(x, "NAME   WEIGHT\xe2\x96\xbc\nnothing\n\n\n\n\n");
}

/* Who did not choose a row stays on the first one, whichever it is. */
static void the_first_row_is_not_followed(void **state)
{
	static const struct item later[] = {{9, "kiwi", 900}, {1, "pear", 200}};
	struct fixture *x = *state;

	assert_string_equal(selected(x), "pear");
	x->source.table.rows = later;
	x->source.table.nr_rows = 2;
	x->source.reading++;
	assert_string_equal(selected(x), "kiwi");
	press(x, TERMINAL_KEY_DOWN, 0);
	assert_string_equal(selected(x), "pear");
	press(x, TERMINAL_KEY_HOME, 0);
	x->source.table.rows = fruits;
	x->source.reading++;
	assert_string_equal(selected(x), "pear");
	assert_int_equal(selected_row(x), 1);
}

static const char *chosen(struct fixture *x)
{
	const struct item *row = panel_chosen(x->panel, &x->source);

	return row ? row->name : "nothing";
}

/* Below the rows, where there is room. */
static void a_note_has_a_line(void **state)
{
	struct fixture *x = *state;
	char *all;

	x->source.note = "and more";
	draw(x);
	all = screenfix_text(x->screen);
	assert_non_null(strstr(all, "\nand more"));
	free(all);
	press(x, TERMINAL_KEY_END, 0);
	draw(x);
	assert_true(selected_row(x) > 0); /* above it */
	assert_int_equal(click(x, screen_rows(x->screen) - 1, 1), PANEL_IGNORED);
	x->source.note = NULL;
}

/* It is there to be opened, but nobody asked for it. */
static void the_first_row_is_not_chosen(void **state)
{
	struct fixture *x = *state;

	assert_string_equal(chosen(x), "nothing");
	assert_string_equal(selected(x), "pear");
	press(x, TERMINAL_KEY_DOWN, 0);
	assert_string_equal(chosen(x), "apple");
	press(x, TERMINAL_KEY_ESCAPE, 0);
	assert_string_equal(chosen(x), "nothing");
	press(x, TERMINAL_KEY_UP, 0);
	assert_string_equal(chosen(x), "pear");
	press(x, TERMINAL_KEY_HOME, 0);
	assert_string_equal(chosen(x), "nothing");
	assert_int_equal(press(x, TERMINAL_KEY_ENTER, 0), PANEL_OPEN);
	assert_string_equal(chosen(x), "pear"); /* what was opened */
	press(x, TERMINAL_KEY_ESCAPE, 0);
	type(x, "/pl");
	assert_string_equal(chosen(x), "apple");
	press(x, TERMINAL_KEY_ESCAPE, 0);
	assert_string_equal(chosen(x), "nothing");
}

static void a_filter_is_typed(void **state)
{
	struct fixture *x = *state;
	struct strbuf where = STRBUF_INIT;

	type(x, "/P");
	assert_true(panel_is_typing(x->panel));
	expect(x, "NAME   WEIGHT\xe2\x96\xbc\n"
		  "pear       200\n"
		  "apple      180\n"
		  "plum        50\n\n\n");
	type(x, "l");
	draw(x);
	panel_describe(x->panel, &where);
	assert_string_equal(where.buf, "1-2 of 2 of 5");
	strbuf_free(&where);
	type(x, "q"); /* text, no key */
	assert_null(selected(x));
	assert_string_equal(panel_filter(x->panel), "Plq");
	press(x, TERMINAL_KEY_BACKSPACE, 0);
	press(x, TERMINAL_KEY_DOWN, 0); /* arrows go on */
	assert_string_equal(selected(x), "plum");
	press(x, TERMINAL_KEY_ENTER, 0);
	assert_false(panel_is_typing(x->panel));
	assert_string_equal(selected(x), "plum");
	press(x, TERMINAL_KEY_ESCAPE, 0);
	assert_string_equal(panel_filter(x->panel), "");
	assert_string_equal(selected(x), "plum"); /* and still chosen */
	press(x, TERMINAL_KEY_ESCAPE, 0);
	assert_string_equal(selected(x), "pear");
	assert_int_equal(press(x, TERMINAL_KEY_ESCAPE, 0), PANEL_IGNORED);
}

static void characters_are_taken_back_whole(void **state)
{
	struct fixture *x = *state;

	type(x, "/");
	press(x, TERMINAL_KEY_CHAR, 0xe4);
	press(x, TERMINAL_KEY_CHAR, 0x65e5);
	assert_string_equal(panel_filter(x->panel), "\xc3\xa4\xe6\x97\xa5");
	press(x, TERMINAL_KEY_BACKSPACE, 0);
	assert_string_equal(panel_filter(x->panel), "\xc3\xa4");
	press(x, TERMINAL_KEY_BACKSPACE, 0);
	assert_string_equal(panel_filter(x->panel), "");
	press(x, TERMINAL_KEY_BACKSPACE, 0);
	assert_false(panel_is_typing(x->panel));
	type(x, "/");
	for (unsigned int i = 0; i < 1000; i++)
		type(x, "x");
	assert_true(strlen(panel_filter(x->panel)) < 300);
	press(x, TERMINAL_KEY_CHAR, 'U' - '@');
	assert_string_equal(panel_filter(x->panel), "");
}

static bool is_light(const void *row, const void *ctx, const char *text, size_t len)
{
	UNUSED(ctx);
	if (!row)
		return false;
	return len == 5 && memcmp(text, "light", 5) == 0 &&
	       ((const struct item *)row)->weight < 100;
}

static void a_source_can_match_itself(void **state)
{
	struct fixture *x = *state;

	x->source.matches = is_light;
	panel_set_filter(x->panel, "light");
	expect(x, "NAME  WEIGHT\xe2\x96\xbc\n"
		  "Fig        50\n"
		  "plum       50\n"
		  "-           7\n\n\n");
}

static void columns_are_chosen(void **state)
{
	struct fixture *x = *state;
	press(x, TERMINAL_KEY_FUNCTION, 2);
	assert_true(panel_in_menu(x->panel));
	expect(x, " Columns, Space\n"
		  " [x] name\n"
		  " [x] weight\n"
		  " [ ] id\n"
		  "plum        50\n"
		  "-            7\n");
	type(x, "  jj  q");
	expect_columns(x, true, true, false);
	type(x, "ojj ");
	type(x, "q");
	assert_false(panel_in_menu(x->panel));
	expect_columns(x, true, true, true);
	type(x, "o k k ");
	press(x, TERMINAL_KEY_ESCAPE, 0);
	/* The last one stays. */
	for (unsigned int i = 0; i < 4; i++) {
		type(x, "o j j j ");
		press(x, TERMINAL_KEY_ENTER, 0);
	}
	expect_columns(x, false, true, true);
	press(x, TERMINAL_KEY_FUNCTION, 6);
	type(x, "g");
	press(x, TERMINAL_KEY_ENTER, 0);
	assert_string_equal(panel_sort(x->panel), "name");
}

static void the_mouse_works(void **state)
{
	struct fixture *x = *state;
	struct terminal_key wheel = {.kind = TERMINAL_KEY_MOUSE, .row = 2, .wheel = 1};

	assert_int_equal(click(x, 2, 1), PANEL_HANDLED);
	assert_string_equal(selected(x), "apple");
	assert_int_equal(click(x, 2, 1), PANEL_OPEN);
	click(x, 0, 9);
	assert_string_equal(panel_sort(x->panel), "-weight");
	click(x, 0, 1);
	assert_string_equal(panel_sort(x->panel), "name");
	assert_int_equal(click(x, 30, 1), PANEL_IGNORED);
	screen_resize(x->screen, 3, 20);
	press(x, TERMINAL_KEY_HOME, 0);
	draw(x);
	panel_key(x->panel, &wheel, &x->source);
	assert_true(selected_row(x) > 0);
	assert_string_equal(selected(x), "pear"); /* by name: "", Fig, apple, pear, plum */
}

/* Ten columns on a screen for three. */
static void columns_that_do_not_fit(void **state)
{
	static const struct item wide[] = {{1, "a name that is long", 1234567}, {2, "b", 7}};
	struct fixture *x = *state;

	panel_close(x->panel);
	panel_open(&x->panel, "name,nonsense,weight,id", "nonsense");
	x->source.table.rows = wide;
	x->source.table.nr_rows = 2;
	screen_resize(x->screen, 3, 25);
	expect(x, "NAME          WEIGHT ID\n"
		  "a name that\xe2\x80\xa6 1234567 id-1\n"
		  "b                  7 id-2\n");
	press(x, TERMINAL_KEY_RIGHT, 0);
	expect(x, "NAME                ID\n"
		  "a name that is long id-1\n"
		  "b                   id-2\n");
	press(x, TERMINAL_KEY_LEFT, 0);
	screen_resize(x->screen, 3, 12); /* no part of a number */
	expect(x, "NAME\n"
		  "a name that\xe2\x80\xa6\n"
		  "b\n");
}

/* A million rows would take longer; that many are enough to be put in order in parts. */
static void many_rows(void **state)
{
	enum { NR = 50000 };
	struct fixture *x = *state;
	struct item *items = xcalloc(NR, sizeof(*items));
	const struct item *row;
	struct strbuf where = STRBUF_INIT;

	for (int i = 0; i < NR; i++)
		items[i] = (struct item){(uint64_t)i, i % 1000 ? "some" : "rare", i * 7919 % NR};
	x->source.table.rows = items;
	x->source.table.nr_rows = NR;
	for (int i = 0; i < 1000; i++) {
		row = panel_selected(x->panel, &x->source);
		assert_int_equal(row->weight, NR - 1 - i);
		press(x, TERMINAL_KEY_DOWN, 0);
	}
	press(x, TERMINAL_KEY_END, 0);
	row = panel_selected(x->panel, &x->source);
	assert_int_equal(row->weight, 0);
	draw(x);
	panel_describe(x->panel, &where);
	assert_string_equal(where.buf, "49,996-50,000 of 50,000");
	strbuf_free(&where);
	/* It goes far away, and is followed. */
	for (int i = 0; i < NR; i++)
		items[i].weight = NR - items[i].weight;
	x->source.reading++;
	assert_ptr_equal(panel_selected(x->panel, &x->source), row);
	assert_int_equal(selected_row(x), 1);
	type(x, "/rare");
	press(x, TERMINAL_KEY_HOME, 0);
	draw(x);
	panel_describe(x->panel, &where);
	assert_string_equal(where.buf, "1-5 of 50 of 50,000");
	strbuf_free(&where);
	free(items);
}

/* Anything may be typed in any order, on any size. */
static void any_keys(void **state)
{
	static const char chars[] = "/ojkgGI<>rmlcN x\x15";
	struct fixture *x = *state;
	unsigned int random = 1;

	for (unsigned int i = 0; i < 20000; i++) {
		struct terminal_key key = {0};

		random = random * 1103515245 + 12345;
		key.kind = random >> 16 & 1 ? TERMINAL_KEY_CHAR
					    : (enum terminal_key_kind)((random >> 17) %
								       (TERMINAL_KEY_GONE + 1));
		key.c = key.kind == TERMINAL_KEY_FUNCTION
				? random >> 24 & 7
				: (unsigned char)chars[(random >> 20) % 17];
		key.row = random >> 18 & 7;
		key.column = random >> 21 & 31;
		key.button = random >> 26 & 1;
		key.wheel = (int)(random >> 27 & 1) - (int)(random >> 28 & 1);
		panel_key(x->panel, &key, &x->source);
		if (i % 7 == 0)
			x->source.reading++;
		if (i % 11 == 0)
			x->source.table.nr_rows = random % 6;
		if (i % 13 == 0)
			screen_resize(x->screen, 1 + random % 9, 1 + (random >> 8) % 30);
		if (i % 3 == 0)
			draw(x);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_stand_in_order),
		TEST(arrows_walk),
		TEST(what_is_selected_is_seen),
		TEST(the_selected_row_is_followed),
		TEST(the_first_row_is_not_followed),
		TEST(a_note_has_a_line),
		TEST(the_first_row_is_not_chosen),
		TEST(a_filter_is_typed),
		TEST(characters_are_taken_back_whole),
		TEST(a_source_can_match_itself),
		TEST(columns_are_chosen),
		TEST(the_mouse_works),
		TEST(columns_that_do_not_fit),
		TEST(many_rows),
		TEST(any_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
