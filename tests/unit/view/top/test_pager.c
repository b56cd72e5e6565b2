/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts on a screen: scrolled, broken, searched, changed while they are read. */
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
#include "view/top/pager.h"

static const char poem[] = "Title\n  one\n  two is a longer line\n\n  three\n  FOUR\n  five";

struct fixture {
	struct pager *pager;
	struct screen *screen;
};

static int set_up(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	pager_open(&x->pager, true);
	pager_set_text(x->pager, poem, strlen(poem));
	screen_open(&x->screen, 3, 12);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	pager_close(x->pager);
	screen_close(x->screen);
	free(x);
	return 0;
}

static void draw(struct fixture *x)
{
	screen_clear(x->screen);
	pager_draw(x->pager, x->screen, 0, 0, screen_rows(x->screen), screen_columns(x->screen));
}

static void expect(struct fixture *x, const char *want, const char *where)
{
	struct strbuf described = STRBUF_INIT;

	draw(x);
	screenfix_expect(x->screen, want);
	pager_describe(x->pager, &described);
	assert_string_equal(described.buf, where);
	strbuf_free(&described);
}

static enum pager_result press(struct fixture *x, enum terminal_key_kind kind, uint32_t c)
{
	struct terminal_key key = {.kind = kind, .c = c};

	draw(x);
	return pager_key(x->pager, &key);
}

static void type(struct fixture *x, const char *text)
{
	for (; *text; text++)
		press(x, TERMINAL_KEY_CHAR, (unsigned char)*text);
}

static void it_scrolls(void **state)
{
	struct fixture *x = *state;

	expect(x, "Title\n  one\n  two is a l\n", "1-3 of 7 lines");
	assert_int_equal(screen_at(x->screen, 0, 0)->style, SCREEN_BOLD);
	assert_int_equal(screen_at(x->screen, 1, 2)->style, SCREEN_PLAIN);
	press(x, TERMINAL_KEY_DOWN, 0);
	press(x, TERMINAL_KEY_RIGHT, 0);
	expect(x, "\n a longer li\n\n", "2-4 of 7 lines");
	press(x, TERMINAL_KEY_END, 0);
	press(x, TERMINAL_KEY_LEFT, 0);
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
	press(x, TERMINAL_KEY_PAGE_UP, 0);
	expect(x, "  one\n  two is a l\n\n", "2-4 of 7 lines");
	type(x, "g  ");
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, 'z'), PAGER_IGNORED);
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, 'q'), PAGER_CLOSE);
	assert_int_equal(press(x, TERMINAL_KEY_ESCAPE, 0), PAGER_CLOSE);
}

static void long_lines_are_broken(void **state)
{
	struct fixture *x = *state;

	screen_resize(x->screen, 3, 20);
	type(x, "jjw");
	expect(x, "  two is a longer li\nne\n\n", "3-4 of 7 lines");
	type(x, "j");
	expect(x, "ne\n\n  three\n", "3-5 of 7 lines");
	type(x, "w");
	expect(x, "  two is a longer li\n\n  three\n", "3-5 of 7 lines");
}

static void it_is_searched(void **state)
{
	struct fixture *x = *state;

	type(x, "/O");
	assert_true(pager_is_typing(x->pager));
	expect(x, "Title\n  one\n  two is a l\n", "1-3 of 7 lines");
	assert_int_equal(screen_at(x->screen, 1, 2)->style, SCREEN_TAB_ON);
	assert_int_equal(screen_at(x->screen, 1, 3)->style, SCREEN_PLAIN);
	type(x, "u");
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
	press(x, TERMINAL_KEY_ENTER, 0);
	assert_false(pager_is_typing(x->pager));
	assert_string_equal(pager_searched(x->pager), "Ou");
	type(x, "/e");
	press(x, TERMINAL_KEY_ENTER, 0);
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
	type(x, "nn"); /* round the end: Title, one */
	expect(x, "Title\n  one\n  two is a l\n", "1-3 of 7 lines");
	type(x, "NN");
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
	type(x, "/zebra");
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines, no 'zebra'");
	press(x, TERMINAL_KEY_ESCAPE, 0);
	assert_string_equal(pager_searched(x->pager), "");
	expect(x, "  three\n  FOUR\n  five\n", "5-7 of 7 lines");
}

static void the_text_changes(void **state)
{
	struct fixture *x = *state;

	type(x, "jj");
	pager_set_text(x->pager, "a\nb\nc\nd\ne\n", 10);
	expect(x, "c\nd\ne\n", "3-5 of 5 lines");
	pager_set_text(x->pager, "a\n", 2);
	expect(x, "a\n\n\n", "1-1 of 1 lines");
	pager_set_text(x->pager, "", 0);
	expect(x, "\n\n\n", "empty");
	type(x, "jG/xn");
	expect(x, "\n\n\n", "empty");
}

static void strange_text(void **state)
{
	static const char text[] = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe5\x90\x8d"
				   "\xe5\x89\x8d\nesc \033[31m\r\ncut \xe6\x97\n\xcc\x81joins";
	struct fixture *x = *state;

	pager_set_text(x->pager, text, strlen(text));
	screen_resize(x->screen, 4, 13);
	expect(x,
	       "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe5\x90\x8d\xe5\x89\x8d\n"
	       "esc ?[31m?\ncut \xef\xbf\xbd\xef\xbf\xbd\n?joins\n",
	       "1-4 of 4 lines");
	press(x, TERMINAL_KEY_RIGHT, 0);
	draw(x);
	screenfix_check_cells(x->screen);
}

/* More than is kept. */
static void a_huge_text(void **state)
{
	struct fixture *x = *state;
	size_t size = PAGER_MAX_TEXT + 100;
	char *text = xmalloc(size);

	memset(text, 'x', size);
	pager_set_text(x->pager, text, size);
	press(x, TERMINAL_KEY_END, 0);
	expect(x, "xxxxxxxxxxxx\n... 100 more\n\n", "1-2 of 2 lines");
	free(text);
}

static void any_keys(void **state)
{
	static const char chars[] = "/jkgGnNw bxeo\x15";
	struct fixture *x = *state;
	unsigned int random = 1;

	for (unsigned int i = 0; i < 20000; i++) {
		struct terminal_key key = {0};

		random = random * 1103515245 + 12345;
		key.kind = random >> 16 & 1 ? TERMINAL_KEY_CHAR
					    : (enum terminal_key_kind)((random >> 17) %
								       (TERMINAL_KEY_GONE + 1));
		key.c = (unsigned char)chars[(random >> 20) % (sizeof(chars) - 1)];
		key.row = random >> 18 & 7;
		key.wheel = (int)(random >> 27 & 1) - (int)(random >> 28 & 1);
		pager_key(x->pager, &key);
		if (i % 7 == 0)
			pager_set_text(x->pager, poem + i % sizeof(poem),
				       strlen(poem + i % sizeof(poem)));
		if (i % 13 == 0)
			screen_resize(x->screen, 1 + random % 9, 1 + (random >> 8) % 30);
		draw(x);
		screenfix_check_cells(x->screen);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_scrolls),	TEST(long_lines_are_broken), TEST(it_is_searched),
		TEST(the_text_changes), TEST(strange_text),	     TEST(a_huge_text),
		TEST(any_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
